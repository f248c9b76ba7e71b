"""The inputs whose decisions are kept: each family yields names, with what fairq prints of the decision."""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import broker, pools, task_queues
from benchmarks.check_cases import dumps
from tests.engines.mixed_pools import drawn
from tests.golden.cases import HTCONDOR, LIVE, Case, cases_in
from tests.golden.command_line import CommandFailedError, CommandLine, scratch
from tests.properties.broker_states import NOW as NOW_OF_FILLED
from tests.properties.broker_states import fill

from fairq.state.connection import writing

GOLDEN = Path(__file__).parent.parent / "golden" / "data"
BENCHMARKS = ("a1000-1000-10", "a5000-5000-50", "b5000-5000-50", "c5000-20000-10", "b2000-20000-100", "c300-6000-20x")
RULES = ("documented", "htcondor")
DOMAIN = "example.org"

Decided = Iterator[tuple[str, str]]
"""Name of a case, and the text of what was decided."""


def _decide(decide: Callable[[CommandLine, Path], Iterator[str]]) -> str:
    """What *decide* yields with a state and a folder of its own; an error's message is a decision, too."""
    with tempfile.TemporaryDirectory(prefix="fairq-frozen-") as name, scratch() as fairq:
        texts = []
        try:
            texts += decide(fairq, Path(name))
        except CommandFailedError as failure:
            texts.append(str(failure).replace(name, ""))
    return "\n".join(texts)


def _write(folder: Path, files: Mapping[str, Any]) -> list[object]:
    """Write each file's records, and return the options that import them."""
    words: list[object] = []
    for name, records in files.items():
        (folder / f"{name}.json").write_text(json.dumps(records), encoding="utf-8")
        words += [f"--{name}", folder / f"{name}.json"]
    return words


def _cycles(fairq: CommandLine, now: int) -> Iterator[str]:
    """A cycle under both sets of rules without storing it, one that is stored, and one after it."""
    for rules in RULES:
        fairq.run("config", "set", "negotiator.rules", rules)
        yield fairq.run("negotiate", "--dry-run", "--explain", "--now", now, "--json")
    yield fairq.run("negotiate", "--now", now, "--json")
    yield fairq.run("negotiate", "--now", now + 300, "--json")
    yield fairq.run("userprio", "--allusers", "--now", now + 300, "--json")
    # What is borrowed was not told when the decisions were recorded.
    yield re.sub(r'"borrowed": [^,]+, ', "", fairq.run("quotas", "--json"))


def golden(_: range) -> Decided:
    """The recorded cases of the negotiator, its cycles under both sets of rules."""
    for path in sorted(GOLDEN.iterdir()):
        for case in cases_in(path):
            if case.kind in (HTCONDOR, LIVE):
                yield f"golden {case.name}", _decide(lambda fairq, _, case=case: _golden(case, fairq))


def _golden(case: Case, fairq: CommandLine) -> Iterator[str]:
    yield from _cycles(fairq, golden_pool(case, fairq))


def golden_pool(case: Case, fairq: CommandLine) -> int:
    """Import the pool of a recorded case; return its time."""
    expected = json.loads((case.path / "expected.json").read_text(encoding="utf-8"))
    accounting = case.path / ("acct.long" if case.kind == LIVE else "accounting.json")
    now = int(expected["time" if case.kind == LIVE else "now"])
    fairq.run("config", "import", case.path / "pool.conf")
    fairq.run("import", "--slots", case.path / "slots.json", "--jobs", case.path / "jobs.json",
              "--accounting", accounting, "--now", now)  # fmt: skip
    return now


def benchmarks(_: range) -> Decided:
    """The pools of benchmarks/pools.py, those of a moderate size."""
    for name in BENCHMARKS:
        yield f"pool {name}", _decide(lambda fairq, folder, name=name: _benchmark(name, fairq, folder))


def _benchmark(name: str, fairq: CommandLine, folder: Path) -> Iterator[str]:
    pools.make(name).write(folder)
    fairq.run("config", "import", folder / "pool.conf")
    fairq.run("import", *dumps(folder), "--now", pools.NOW)
    yield from _cycles(fairq, int(pools.NOW))


def random_pools(seeds: range) -> Decided:
    """Random pools with groups, preemption, divided slots, limits and ranks."""
    for seed in seeds:
        yield f"random {seed}", _decide(lambda fairq, folder, seed=seed: _random(seed, fairq, folder))


def _random(seed: int, fairq: CommandLine, folder: Path) -> Iterator[str]:
    yield from _cycles(fairq, random_pool(seed, fairq, folder))


def random_pool(seed: int, fairq: CommandLine, folder: Path) -> int:
    """Make a random pool with its queue; return its time."""
    made, now = drawn(seed), int(pools.NOW)
    macros = {"UID_DOMAIN": DOMAIN, "DEFAULT_PRIO_FACTOR": 1, **made.macros}
    (folder / "pool.conf").write_text("".join(f"{name} = {value}\n" for name, value in macros.items()))
    fairq.run("config", "import", folder / "pool.conf")
    accounts = [{"Name": name, **record} for name, record in made.accounts.items()]
    fairq.run("import", *_write(folder, {"slots": made.slots, "accounting": accounts}), "--now", now)
    for submitter, submits in made.submits.items():
        group, _, user = submitter.rpartition(".")
        who = {"accounting_group_user": user, **({"accounting_group": group} if group else {})}
        for number, (queued, words) in enumerate(submits):
            file = folder / f"{submitter}.{number}.sub"
            lines = {"executable": "/bin/true", **who, **words}
            file.write_text("".join(f"{key} = {value}\n" for key, value in lines.items()) + f"queue {queued}\n")
            fairq.run("submit", file, "--now", now)
    return now


def grids(seeds: range) -> Decided:
    """Random grids of PanDA, a broker run under each set of rules."""
    for seed in seeds:
        yield f"grid {seed}", _decide(lambda fairq, folder, seed=seed: _grid(seed, fairq, folder))


def _grid(seed: int, fairq: CommandLine, folder: Path) -> Iterator[str]:
    draw = random.Random(seed)
    if seed % 2:
        with writing(fairq.state) as opened:
            fill(opened, draw)
    else:
        queues, tasks = draw.randint(5, 40), draw.randint(5, 40)
        work = broker.work(draw, tasks, (queues + 4) // 5)
        for task in draw.sample(work["tasks"], tasks // 2):
            task["prodSourceLabel"] = "user"  # goes to the brokerage for analysis
        for kind, records in (broker.pool(draw, queues) | work).items():
            _write(folder, {kind: records})
            fairq.run("broker", kind, "import", folder / f"{kind}.json")
    for rules in ("documented", "panda"):
        words = ("--rules", rules, "--now", broker.NOW if seed % 2 == 0 else NOW_OF_FILLED, "--json")
        yield fairq.run("broker", "run", "--all", "--dry-run", *words)


def task_queue_pools(_: range) -> Decided:
    """DIRAC's task queues: shares, and what pilots of three sites get."""
    for number in (200, 2_000):
        yield f"task queues {number}", _decide(lambda fairq, folder, number=number: _pilots(number, fairq, folder))


def _pilots(number: int, fairq: CommandLine, folder: Path) -> Iterator[str]:
    _write(folder, {"dump": task_queues.dump(task_queues.queues(number))})
    now = ("--now", pools.NOW)
    fairq.run("taskqueues", "import", folder / "dump.json", *now)
    for rules in ("documented", "dirac"):
        fairq.run("config", "set", "shares.rules", rules)
        yield fairq.run("taskqueues", "shares", *now, "--json")
        yield fairq.run("taskqueues", "list", *now, "--json")
        for site in ("LCG.Site000.org", "LCG.Site007.org", "LCG.Elsewhere.org"):
            for seed in range(20):
                words = ("--site", site, "--cputime", 1_000_000, "--tag", "GPU", "--seed", seed)
                yield fairq.run("taskqueues", "match", *words, *now, "--json")


FAMILIES: Mapping[str, tuple[Callable[[range], Decided], int]] = {
    "golden": (golden, 1),
    "benchmarks": (benchmarks, 1),
    "random": (random_pools, 2_000),
    "grids": (grids, 500),
    "taskqueues": (task_queue_pools, 1),
}
"""What decides the cases of each family, given some of its seeds, and how many seeds it has."""
