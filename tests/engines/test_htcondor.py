"""Jobs through a real HTCondor: each ends once, whatever is killed, and is charged for what HTCondor held.

The short version takes about a minute. FAIRQ_TEST_ENGINES=full makes it 200 jobs, 30 kills of fairq, and a schedd that
is away for a minute.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engines import htcondor

import fairq

IS_FULL = os.environ.get("FAIRQ_TEST_ENGINES") == "full"
PYTHON = "/usr/bin/python3"
SHARES = {"ann": 1, "bob": 2, "eve": 4}
CORES = htcondor.CORES * len(htcondor.MACHINES)
PATIENCE = 600.0

_MAIN = "import sys; from fairq.__main__ import main; sys.exit(main())"


def _missing() -> str:
    if reason := htcondor.missing():
        return reason
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    code = f"import sys; print('{version}' == f'{{sys.version_info.major}}.{{sys.version_info.minor}}')"
    found = subprocess.run([PYTHON, "-c", code], check=False, capture_output=True, text=True)
    # The jobs' account can use only the system's Python, with the libraries of this one.
    return "" if found.stdout.strip() == "True" else f"needs {PYTHON} {version}"


pytestmark = pytest.mark.skipif(bool(_missing()), reason=_missing() or "-")


class Fairq:
    """The commands of fairq, over one state, as the account of the pool."""

    def __init__(self, pool: htcondor.Pool, place: Path) -> None:
        self.pool = pool
        self.place = place
        self.notes: list[str] = []
        libraries = [str(Path(fairq.__file__).parent.parent), sysconfig.get_path("purelib")]
        self._environment = {
            "PATH": os.defpath,
            "PYTHONPATH": os.pathsep.join(libraries),
            "PYTHONPYCACHEPREFIX": str(pool.directory / "bytecode"),
            "TZ": "UTC",
            "FAIRQ_STATE": str(place / "pool.db"),
            "FAIRQ_LAUNCH_KIND": "htcondor",
            "FAIRQ_ACCOUNTING_PRIORITY_HALFLIFE": "1e12",
            "FAIRQ_ACCOUNTING_UID_DOMAIN": "example.org",
            "CONDOR_CONFIG": str(pool.of_clients),
        }

    def begin(self, *words: object, code: str = _MAIN, **settings: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [PYTHON, "-c", code, *map(str, words)],
            user=htcondor.ACCOUNT_ID,
            group=htcondor.ACCOUNT_ID,
            extra_groups=[],
            cwd=self.place,
            env={**self._environment, **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words: object, **settings: str) -> str:
        """Run a command that succeeds; return what it printed."""
        process = self.begin(*words, **settings)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, f"{words}: {err}"
        self.notes += err.splitlines()
        return out

    def json(self, *words: object, **settings: str) -> Any:
        return json.loads(self(*words, "--json", **settings))

    def submit(self, script: str, *words: object) -> None:
        self("submit", "--initialdir", self.place, *words, "--", "/bin/sh", "-c", script)

    def queue(self) -> dict[str, dict[str, Any]]:
        return {f"{ad['ClusterId']}.{ad['ProcId']}": ad for ad in self.json("queue")}

    def until(self, is_so: Callable[[], Any], *turn: object) -> Any:
        """Take turns until *is_so*, and return what it says."""
        end = time.monotonic() + PATIENCE
        while not (found := is_so()):
            assert time.monotonic() < end, self("queue")
            self("negotiate", *turn)
            time.sleep(0.5)
        return found

    def killed_after(self, seconds: float) -> None:
        """Begin a turn, and kill it if it takes longer."""
        process = self.begin("negotiate")
        try:
            process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def in_use(self) -> tuple[int, ...] | None:
        """Return the cores of each user of SHARES; None if one of them has no idle jobs."""
        ads = [(ad["AccountingGroup"], ad["JobStatus"]) for ad in self.queue().values()]
        counts = Counter(ads)
        return tuple(counts[user, 2] for user in SHARES) if all(counts[user, 1] for user in SHARES) else None

    def launches(self) -> list[dict[str, Any]]:
        return list(self.json("export")["launches"])


@pytest.fixture(scope="module")
def pool() -> Iterator[htcondor.Pool]:
    with tempfile.TemporaryDirectory(prefix="fairq-htcondor-", dir="/tmp", ignore_cleanup_errors=True) as name:
        place = Path(name)
        place.chmod(0o755)
        # With a shorter lease than the schedd is away, HTCondor gives up the jobs that end meanwhile.
        made = htcondor.Pool(place, lease=120 if IS_FULL else 20)
        (place / "bytecode").mkdir(mode=0o1777)
        (place / "bytecode").chmod(0o1777)
        try:
            made.start()
            yield made
        finally:
            made.end()


@pytest.fixture
def run(pool: htcondor.Pool) -> Fairq:
    place = Path(tempfile.mkdtemp(prefix="state-", dir=pool.directory))
    os.chown(place, htcondor.ACCOUNT_ID, htcondor.ACCOUNT_ID)
    found = Fairq(pool, place)
    found("slots", "sync", "htcondor")
    return found


def _held_by_htcondor(pool: htcondor.Pool) -> dict[str, float]:
    """Return what HTCondor recorded of every job of fairq: the seconds that it held a machine, by run."""
    attributes = ("FairqRun", "RemoteWallClockTime")
    lines = [
        line.split()
        for tool in ("condor_history", "condor_q")
        for line in pool.tool(tool, *(["-allusers"] if tool == "condor_q" else []), "-af", *attributes).splitlines()
    ]
    return {run: float(seconds) for run, seconds in lines if run != "undefined"}


def test_shares_hold_and_every_job_ends_once_whatever_is_killed(pool: htcondor.Pool, run: Fairq) -> None:
    count, seconds, kills, outage = (200, 15, 30, 60) if IS_FULL else (35, 4, 4, 5)
    for user, share in SHARES.items():
        run("userprio", "--setfactor", f"{user}@example.org", 4000 // share)
    parts = {user: count * share // sum(SHARES.values()) for user, share in SHARES.items()}
    parts["eve"] += count - sum(parts.values())
    script = f'echo "$FAIRQ_RUN" >> began.$FAIRQ_JOB; sleep {seconds}; echo "$FAIRQ_RUN" >> ended.$FAIRQ_JOB'
    for user, jobs in parts.items():
        run.submit(script, "--count", jobs, "--accounting-group-user", user)

    shares: Counter[tuple[int, ...] | None] = Counter()
    chance = random.Random(16)
    for number in range(kills):
        run.killed_after(chance.uniform(0.2, 2.5))
        shares[run.in_use()] += 1
        if number == kills // 3:
            pool.kill("schedd")
            for _ in range(3):
                run("negotiate")
            time.sleep(outage)
            pool.start_daemon("schedd")
            pool.until_ready()
        if number == 2 * kills // 3:
            pool.kill("n2")
    run("negotiate")
    shares[run.in_use()] += 1
    pool.start_daemon("n2")
    pool.until_ready()
    run.until(lambda: not run.queue())

    launches = {one["name"]: one for one in run.launches()}
    lost = [one for one in launches.values() if one["ended"]["reason"] != "exit"]
    finished = Counter((one["cluster"], one["proc"]) for one in launches.values() if one["ended"]["reason"] == "exit")
    assert len(finished) == count
    assert set(finished.values()) == {1}
    began = [name for path in run.place.glob("began.*") for name in path.read_text().split()]
    assert len(set(began)) == len(began), "a run began twice"
    assert set(began) <= set(launches)
    ended = {name for path in run.place.glob("ended.*") for name in path.read_text().split()}
    assert {name for name in ended if launches[name]["ended"]["reason"] != "exit"} <= {one["name"] for one in lost}

    held = _held_by_htcondor(pool)
    differences = Counter(
        one["end_time"] - (one["charged_from"] or one["intended"]) - held.get(name, 0) for name, one in launches.items()
    )
    assert set(differences) <= {-1, 0, 1}
    usage = {one["name"]: one["accumulated_usage"] for one in run.json("export")["submitters"]}
    for user in SHARES:
        mine = [one for one in run.json("export")["runs"] if one["submitter"] == f"{user}@example.org"]
        assert usage[f"{user}@example.org"] == pytest.approx(sum(one["end_time"] - one["start_time"] for one in mine))
    assert shares.most_common(1)[0][0] == (2, 4, 8)
    if IS_FULL:
        print(  # noqa: T201 - the figures for the note of a release
            f"{count} jobs ended once, in {len(launches)} runs, {len(lost)} of them lost; fairq killed {kills} times",
            f"cores of {', '.join(SHARES)} while all had idle jobs: {dict(shares)}",
            f"seconds charged more than RemoteWallClockTime: {dict(differences)}",
            f"seconds charged: {usage}",
            "notes:", *(f"  {times} x {note}" for note, times in Counter(run.notes).items()),
            sep="\n",
        )  # fmt: skip


DIES_AFTER_SUBMITTING = """
import os, htcondor2
submit = htcondor2.Schedd.submit
def dies(*words, **options):
    submit(*words, **options)
    os._exit(9)
htcondor2.Schedd.submit = dies
from fairq.__main__ import main
main()
"""


def test_a_death_between_submit_and_record_starts_nothing_twice(run: Fairq) -> None:
    run.submit("echo $FAIRQ_RUN >> $FAIRQ_JOB; sleep 2", "--count", 5)
    process = run.begin("negotiate", code=DIES_AFTER_SUBMITTING)
    process.communicate()
    assert process.returncode == 9
    assert {one["phase"] for one in run.launches()} == {"intended"}
    run.until(lambda: not run.queue())
    assert [len((run.place / f"1.{proc}").read_text().split()) for proc in range(5)] == [1] * 5


def test_all_starts_are_one_transaction(run: Fairq) -> None:
    run.submit("true", "--count", CORES)
    run("negotiate")
    clusters = {one["engine_id"].partition(".")[0] for one in run.launches()}
    assert len(clusters) == 1
    run.until(lambda: not run.queue())


def test_a_job_that_is_not_matched_shows_why_is_not_charged_and_is_withdrawn(run: Fairq) -> None:
    run.pool.tool("condor_drain", "slot1@n2")
    try:
        run.submit("true", "--requirements", 'Machine == "n2"')
        run("negotiate")
        run.until(lambda: "no match found" in run("why", "1.0"), "--collect-only")
        assert "no match found" in run("queue")
        run("negotiate", FAIRQ_LAUNCH_HTCONDOR_PATIENCE="1")
        run.until(lambda: run.queue()["1.0"]["JobStatus"] == 1, "--collect-only")
        assert "withdrawn from htcondor after" in run("why", "1.0")
        assert "withdrawn from htcondor after" in run("queue")
        (record,) = [one for one in run.json("export")["submitters"] if one["name"].startswith(htcondor.ACCOUNT)]
        assert record["accumulated_usage"] == 0
        run("slots", "sync", "htcondor")
        assert {ad["Name"] for ad in run.json("slots") if ad["State"] == "Drained"} == {"slot1@n2"}
    finally:
        run.pool.tool("condor_drain", "-cancel", "slot1@n2")


def test_a_job_gets_its_words_and_variables_whatever_is_in_them(run: Fairq) -> None:
    value = "two\nlines, a \\ and $$(Cpus) $(X) 'quotes' \"double\" ä"
    script = run.place / "words.sh"
    script.write_text('printf "%s|" "$@" "$WORD" > words\n')
    run(
        "submit",
        "--initialdir",
        run.place,
        "--environment",
        "\"WORD='a $$(Arch) b\\'\"",
        "--",
        "/bin/sh",
        script,
        value,
    )
    run.until(lambda: not run.queue())
    assert (run.place / "words").read_text() == f"{value}|a $$(Arch) b\\|"


def test_a_program_that_htcondor_cannot_start_holds_the_job(run: Fairq) -> None:
    program = run.place / "program"
    program.write_text("#!/nowhere\n")
    program.chmod(0o755)
    run("submit", "--initialdir", run.place, "--", program)
    run.until(lambda: run.queue()["1.0"]["JobStatus"] == 5)
    assert run.queue()["1.0"]["HoldReasonCode"] == 6
    assert str(program) in run.queue()["1.0"]["HoldReason"]


def test_jobs_are_removed_and_held_while_they_wait_and_while_they_run(run: Fairq) -> None:
    run.submit("sleep 600", "--count", 2)
    run("negotiate")
    run.until(lambda: {one["phase"] for one in run.launches()} == {"started"}, "--collect-only")
    run.submit("sleep 600", "--count", 2)
    run("negotiate")
    run("remove", "1.0", "2.0")
    run("hold", "1.1", "2.1")
    run.until(lambda: set(run.queue()) == {"1.1", "2.1"}, "--collect-only")
    run.until(lambda: {ad["JobStatus"] for ad in run.queue().values()} == {5}, "--collect-only")
    assert all(one["phase"] == "ended" for one in run.launches())


def test_a_schedd_that_is_away_is_told_once_and_loses_nothing(run: Fairq) -> None:
    run.submit("echo $FAIRQ_RUN >> $FAIRQ_JOB; sleep 5", "--count", 2)
    run("negotiate")
    run.until(lambda: {one["phase"] for one in run.launches()} == {"started"}, "--collect-only")
    run.pool.kill("schedd")
    run.notes.clear()
    for _ in range(3):
        run("negotiate")
    assert len([note for note in run.notes if "HTCondor does not answer" in note]) == 1
    assert "HTCondor does not answer" in run("queue")
    run.pool.start_daemon("schedd")
    run.pool.until_ready()
    run.until(lambda: not run.queue())
    assert all(one["ended"]["reason"] in ("exit", "lost") for one in run.launches())


def test_a_user_whom_the_schedd_does_not_know_gets_the_cure(run: Fairq) -> None:
    process = run.begin("slots", "sync", "htcondor", CONDOR_CONFIG=str(run.pool.configuration))
    _, told = process.communicate()
    assert process.returncode == 121
    assert "SEC_FS_ENFORCE_CHANNEL_BINDING = False" in told
