"""``python -m tests.frozen.answers [--record] [WORD...]``: hold the answers of `why` against those recorded, as text.

Prints the differences, and exits with 1 if there are any; with WORDs, only of the situations whose names contain one.
In each situation, `why` is asked about all idle jobs, about the example of each reason that it names, about the
submitters of these, and in the words that the situation adds.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from benchmarks import against, pools
from benchmarks.check_cases import dumps
from tests.frozen.families import GOLDEN, golden_pool, random_pool
from tests.golden.cases import HTCONDOR, LIVE, cases_in
from tests.golden.command_line import CommandFailedError, CommandLine, scratch

RECORDED = Path(__file__).parent / "answers.json.gz"
NOW = 1_790_000_000

EXAMPLES = 4
"""Number of reasons whose examples are asked about."""

EVERY = 12
"""Of the recorded cases of the negotiator, one of so many is a situation."""

SEEDS = range(5)
"""The random pools in which `why` is asked after their first cycle."""

WRITTEN = {
    "empty pool": "submit --count 3",
    "matched": "slots add a --count 2\nsubmit --count 2\nwhy 1.0\nwhy 1.0 --slot slot1@a",
    "full of own jobs": "slots add a --count 2\nsubmit --user bob --count 5\nnegotiate\nwhy 1",
    "full of others": """
        slots add a --count 2\nsubmit --user ann --count 9\nnegotiate
        submit --user bob --count 2\nwhy 2.0 --slot slot1@a\nwhy bob""",
    "share": """
        slots add a --count 6\nuserprio --setfactor ann@x 10\nuserprio --setfactor bob@x 100
        submit --user ann --count 9\nsubmit --user bob --count 9\nsubmit --user eve --count 9""",
    "preemption by priority": """
        config set negotiator.preemption_requirements "RemoteUserPrio > 1.2 * SubmitterUserPrio"
        slots add a --count 4\nuserprio --setprio ann@x 50\nsubmit --user ann --count 9\nnegotiate
        submit --user bob --count 3\nsubmit --user eve --count 3\nuserprio --setprio eve@x 49""",
    "preemption limit": """
        config set negotiator.preemption_requirements true\nconfig set negotiator.max_preemptions_per_cycle 1
        slots add a --count 4\nuserprio --setprio ann@x 50\nsubmit --user ann --count 9\nnegotiate
        submit --user bob --count 3""",
    "no preemption": """
        config set negotiator.negotiator_consider_preemption false
        slots add a --count 2\nsubmit --user ann --count 3\nnegotiate\nsubmit --user bob""",
    "too large": "slots add a --cpus 8 --memory 16G\nsubmit --cpus 12 --mem 64G\nsubmit --mem 40G --count 4",
    "divided machine": """
        slots add a --count 4 --cpus 2 --memory 4G\nsubmit --cpus 4\nsubmit --gpus 1""",
    "partitionable, in use": """
        slots add a --partitionable --cpus 8 --memory 16G\nsubmit --user ann --count 6 --mem 2G\nnegotiate
        submit --user bob --cpus 4 --mem 1G\nsubmit --user bob --mem 12G\nsubmit --user bob --cpus 9""",
    "partitionable, several": """
        slots add a --partitionable --cpus 4 --memory 8G\nslots add b --partitionable --cpus 2 --memory 2G
        submit --user ann --count 20 --mem 100\nnegotiate\nsubmit --user bob --count 3 --cpus 2 --mem 3G""",
    "gpus": """
        slots add a --partitionable --cpus 8 --memory 16G --gpus 2\nsubmit --user ann --count 2 --gpus 1\nnegotiate
        submit --user bob --gpus 1\nsubmit --user bob --gpus 3""",
    "dominant weights": """
        config set negotiator.slot_weight dominant\nslots add a --partitionable --cpus 8 --memory 16G
        submit --user ann --count 4 --mem 4G\nsubmit --user bob --count 8\nnegotiate
        submit --user bob --count 2 --mem 2G""",
    "requirements": """
        slots add a --memory 2G\nslots add b --memory 4G --attribute HasDocker=true
        submit --user ann --requirements "HasDocker && TARGET.Memory > 5000" --mem 100
        submit --user ann --requirements "HasDoker" --mem 100
        submit --user bob --requirements "TARGET.Arch == \\"ARM64\\"" --mem 100
        submit --user bob --requirements "HasDocker && TARGET.Memory < 3000" --mem 100
        why 1.0 --slot b\nwhy 4.0 --slot a""",
    "refused": """
        slots add a --memory 2G --attribute 'Start=TARGET.Owner == "ann"' --attribute 'Requirements=MY.Start'
        submit --mem 100\nwhy 1.0 --slot a""",
    "ceiling": """
        slots add a --count 6\nuserprio --setceiling ann@x 2\nsubmit --user ann --count 5\nsubmit --user bob
        negotiate""",
    "floor": """
        slots add a --count 4\nuserprio --setfloor ann@x 3\nuserprio --setfactor ann@x 1e6
        submit --user bob --count 9\nsubmit --user ann --count 9""",
    "limits": """
        config set limits.db 1\nslots add a --count 4\nsubmit --user ann --count 3 --concurrency-limits db
        submit --user ann --concurrency-limits db:2\nnegotiate
        submit --user bob --concurrency-limits db,lic""",
    "quota": """
        config set groups.physics.quota 2\nconfig set groups.chem.quota 2\nconfig set groups.chem.accept_surplus true
        slots add a --count 8\nsubmit --group physics --user cy --count 9
        submit --group chem --user di --count 9
        negotiate\nwhy physics\nwhy chem""",
    "quota of a parent": """
        config set groups.a.quota 3\nconfig set groups."a.b".quota 2\nconfig set groups."a.c".quota 2
        slots add n --count 8\nsubmit --group a.b --user cy --count 9\nnegotiate
        submit --group a.c --user di --count 3\nwhy a\nwhy a.b\nwhy a.c""",
    "quota below a slot": """
        config set groups.a.quota 0.5\nslots add n --count 2\nsubmit --group a --user cy --count 2\nwhy a""",
    "quota caps preemption": """
        config set negotiator.preemption_requirements true\nconfig set groups.a.quota 2\nslots add n --count 4
        submit --user ann --count 9\nnegotiate\nsubmit --group a --user cy --count 4\nwhy a""",
    "unknown group": "config set groups.a.quota 1\nslots add n\nsubmit --group b --user cy --count 2\nwhy b",
    "drained": """
        slots add a --count 2\nslots drain slot1@a slot2@a\nsubmit --count 2""",
    "partly drained": """
        slots add a --count 3\nslots drain slot1@a\nsubmit --user ann --count 4\nnegotiate
        submit --user bob --count 2""",
    "offline": """
        slots add a --count 2 --attribute Offline=true\nslots add b\nsubmit --user ann --count 2\nnegotiate
        submit --user bob --count 3""",
    "reserved": """
        slots add a --count 2\nslots reserve slot1@a slot2@a --for bob --until 2026-10-01T00:00Z
        submit --user ann --count 2\nsubmit --user bob --count 3\nwhy ann""",
    "reserved soon": """
        slots add a --count 2\nslots reserve slot1@a slot2@a --from 2026-09-21T15:13Z --until 2026-09-21T16:13Z
        submit --user ann --time 2h
        submit --user ann --time 10m\nsubmit --user ann""",
    "constraints": """
        config set negotiator.negotiator_submitter_constraint 'Name != "bob@x"'
        config set negotiator.negotiator_job_constraint 'RequestMemory < 3000'
        config set negotiator.negotiator_slot_constraint 'Memory > 1000'
        slots add a --count 2 --memory 8G\nslots add b --memory 500\nsubmit --user bob --mem 100
        submit --user ann --mem 4000\nsubmit --user ann --requirements "Memory < 600" --mem 300""",
    "no time": """
        config set negotiator.negotiator_max_time_per_submitter 0\nslots add a\nsubmit --user bob --count 2""",
    "order of jobs": """
        slots add a --count 2\nsubmit --user ann --count 2 --priority 5\nsubmit --user ann --count 2""",
    "cluster skipping": """
        config set negotiator.skip_by cluster\nslots add a --count 2 --memory 4G
        submit --user ann --mem 8G\nsubmit --user ann --count 2 --mem 1G""",
    "machine ranks": """
        slots add a --count 2 --attribute 'Rank=10 * (TARGET.AcctGroupUser =?= "ann")'\nsubmit --user ann --count 3
        negotiate\nsubmit --user bob --count 2""",
    "job ranks": """
        slots add a --memory 2G\nslots add b --memory 8G\nsubmit --user ann --rank Memory
        submit --user bob --rank Memory --count 2\nwhy 2.0 --slot slot1@b""",
    "waits for others": """
        slots add a\nsubmit --name first\nsubmit --after-ok 1\nsubmit --after-failed 1
        submit --begin '2100-01-01 20:00'\nsubmit --count 3 --max-running 1
        negotiate\nwhy 1\nwhy 2\nwhy 3\nwhy 4\nwhy 5""",
    "held, running, ended": """
        slots add a --count 2\nsubmit --count 4\nnegotiate\nfinish 1.0 --exit-code 3\nhold 1.2\nremove 1.3
        why 1.0\nwhy 1.1\nwhy 1.2\nwhy 1.3\nwhy 9\nwhy nobody""",
    "several obstacles": """
        config set groups.a.quota 1\nconfig set limits.db 1\nslots add n --count 3 --memory 2G
        userprio --setceiling a.cy@x 1\nsubmit --group a --user cy --count 2 --concurrency-limits db --mem 500
        negotiate
        submit --group a --user cy --concurrency-limits db --mem 3G\nsubmit --user bob --count 9 --mem 500""",
    "both rules": """
        slots add a --count 3\nsubmit --user ann --count 5\nsubmit --user bob --count 5
        why 1 --compare\nwhy ann --compare""",
    "htcondor's rules": """
        config set negotiator.rules htcondor\nconfig set groups.a.quota 2\nslots add n --count 5
        submit --user ann --count 9\nsubmit --group a --user cy --count 9\nnegotiate""",
    "paused": "slots add a\npool pause --reason repair\nsubmit --user ann --count 2\nwhy 1.1",
    "nice user": "slots add a\nsubmit --user ann --nice-user --count 2\nsubmit --user bob --count 2",
}
"""Situations of commands, a line each; the lines that begin with ``why`` are further questions."""

_WHO = {"--user": "--accounting-group-user", "--group": "--accounting-group"}

Make = Callable[[CommandLine, Path], int]
"""Makes the pool of a situation; returns the time when it is asked about."""


def _written(text: str) -> tuple[Make, list[str]]:
    lines = [line.strip() for line in text.strip().splitlines()]

    def make(fairq: CommandLine, _: Path) -> int:
        fairq.run("config", "set", "accounting.uid_domain", "x")
        for line in lines:
            words = [_WHO.get(word, word) for word in shlex.split(line)]
            if words[0] == "why":
                continue
            now = () if words[0] == "config" else ("--now", NOW)
            fairq.run(*words, *now, *(("--", "/bin/true") if words[0] == "submit" else ()))
        return NOW + 60

    return make, [line.removeprefix("why").strip() for line in lines if line.startswith("why ")]


def _benchmark(fill: Callable[[Path], Path], *, in_use: bool) -> Make:
    def make(fairq: CommandLine, folder: Path) -> int:
        fairq.run("import", *dumps(fill(folder)), "--now", pools.NOW)
        if in_use:
            fairq.run("negotiate", "--now", pools.NOW)
        return int(pools.NOW) + 60

    return make


def _pool(name: str) -> Callable[[Path], Path]:
    def fill(folder: Path) -> Path:
        pools.make(name).write(folder)
        return folder

    return fill


def _random(seed: int) -> Make:
    def make(fairq: CommandLine, folder: Path) -> int:
        now = random_pool(seed, fairq, folder)
        fairq.run("negotiate", "--now", now)
        return now + 60

    return make


def situations() -> Iterator[tuple[str, Make, list[str]]]:
    """Yield each situation's name, what makes its pool, and its further questions."""
    for name, text in WRITTEN.items():
        yield name, *_written(text)
    for name in ("a1000-1000-10", "b2000-20000-100", "c300-6000-20x"):
        yield f"pool {name}", _benchmark(_pool(name), in_use=True), []
    yield "lab", _benchmark(against._lab, in_use=False), []
    yield "lab in use", _benchmark(against._lab, in_use=True), []
    for seed in SEEDS:
        yield f"random {seed}", _random(seed), []
    cases = (case for path in sorted(GOLDEN.iterdir()) for case in cases_in(path) if case.kind in (HTCONDOR, LIVE))
    for number, case in enumerate(cases):
        if number % EVERY == 0:
            yield f"golden {case.name}", lambda fairq, _, case=case: golden_pool(case, fairq), []


def answers(make: Make, questions: list[str]) -> dict[str, str]:
    """Return each question of a situation, with its answer; an error's message is an answer, too."""
    with tempfile.TemporaryDirectory(prefix="fairq-answers-") as name, scratch() as fairq:
        now = make(fairq, Path(name))

        def ask(*words: object) -> str:
            try:
                return fairq.run("why", *words, "--now", now)
            except CommandFailedError as failure:
                return str(failure)

        reasons = json.loads(ask("--json"))["reasons"][:EXAMPLES]
        subjects = [reason["example"] for reason in reasons]
        subjects += dict.fromkeys(name for reason in reasons for name in list(reason["submitters"])[:1])
        return {"": ask(), **{words: ask(*shlex.split(words)) for words in [*subjects, *questions]}}


def _recorded() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(gzip.decompress(RECORDED.read_bytes())) if RECORDED.exists() else {}
    return found


def _record(found: dict[str, dict[str, str]]) -> None:
    RECORDED.write_bytes(gzip.compress(json.dumps(found, indent=0).encode(), mtime=0))


def main(words: list[str]) -> int:
    """Compare or record; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen.answers", description=__doc__)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("words", nargs="*", metavar="WORD")
    chosen = parser.parse_args(words)
    os.environ["TZ"] = "UTC"
    time.tzset()
    found = {}
    for name, make, questions in situations():
        if chosen.words and not any(word in name for word in chosen.words):
            continue
        start = time.process_time()
        found[name] = answers(make, questions)
        sys.stderr.write(f"{name}: {time.process_time() - start:.1f} s\n")
        if chosen.record:
            _record({**_recorded(), name: found[name]})
    known = _recorded()
    differing = 0
    for name, now in found.items():
        before = known.get(name, {})
        for question in chain(before, (more for more in now if more not in before)):
            then, told = before.get(question, ""), now.get(question, "")
            if then != told:
                differing += 1
                head = f"{name}: why {question}"
                sys.stdout.writelines(
                    f"{line}\n"
                    for line in difflib.unified_diff(then.splitlines(), told.splitlines(), head, n=0, lineterm="")
                )
    asked = sum(map(len, found.values()))
    sys.stdout.write(f"{len(found)} situations, {asked} answers, {differing} differ\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
