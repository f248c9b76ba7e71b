"""Jobs through a real HTCondor with two machines; about two minutes, where FAIRQ_TEST_ENGINES is set.

What takes longer, and is left to chance, is in `tests.engines.experiment`.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.engines.experiment import Experiment
from tests.engines.htcondor_pool import ACCOUNT, ACCOUNT_ID, CORES, GPUS, MACHINES, Pool, missing, unusable

PATIENCE = 600.0

_MAIN = "import sys; from fairq.__main__ import main; sys.exit(main())"


_REASON = "" if os.environ.get("FAIRQ_TEST_ENGINES") else "needs FAIRQ_TEST_ENGINES to be set: it starts an HTCondor"
_REASON = _REASON or missing() or unusable()
pytestmark = pytest.mark.skipif(bool(_REASON), reason=_REASON or "-")


class Fairq:
    """The commands of fairq, over one state, as the account of the pool."""

    def __init__(self, pool, place):
        self.pool = pool
        self.place = place
        self.notes: list[str] = []
        self.environment = {
            **pool.environment,
            "FAIRQ_STATE": str(place / "pool.db"),
            "FAIRQ_ACCOUNTING_UID_DOMAIN": "example.org",
        }

    def begin(self, *words, code=_MAIN, **settings):
        return subprocess.Popen(
            [self.pool.python, "-c", code, *map(str, words)],
            user=ACCOUNT_ID,
            group=ACCOUNT_ID,
            extra_groups=[],
            cwd=self.place,
            env={**self.environment, **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words, **settings):
        """Run a command that succeeds; return what it printed."""
        process = self.begin(*words, **settings)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, f"{words}: {err}"
        self.notes += err.splitlines()
        return out

    def json(self, *words, **settings):
        return json.loads(self(*words, "--json", **settings))

    def submit(self, script, *words):
        self("submit", "--initialdir", self.place, *words, "--", "/bin/sh", "-c", script)

    def queue(self):
        return {f"{ad['ClusterId']}.{ad['ProcId']}": ad for ad in self.json("queue")}

    def until(self, is_so, *turn):
        """Take turns until *is_so*, and return what it says."""
        end = time.monotonic() + PATIENCE
        while not (found := is_so()):
            assert time.monotonic() < end, self("queue")
            self("negotiate", *turn)
            time.sleep(0.5)
        return found

    def launches(self):
        return list(self.json("export")["launches"])


@pytest.fixture(scope="module")
def pool():
    with tempfile.TemporaryDirectory(prefix="fairq-htcondor-", dir="/tmp", ignore_cleanup_errors=True) as name:
        place = Path(name)
        place.chmod(0o755)
        made = Pool(place, lease=20)
        try:
            made.start()
            yield made
        finally:
            made.stop()


@pytest.fixture
def run(pool):
    place = Path(tempfile.mkdtemp(prefix="state-", dir=pool.directory))
    os.chown(place, ACCOUNT_ID, ACCOUNT_ID)
    found = Fairq(pool, place)
    found("slots", "sync", "htcondor")
    return found


def test_shares_hold_and_every_job_ends_once_whatever_is_killed(pool, run):
    experiment = Experiment(run.place, pool, 35, seconds=3)
    experiment.submit()
    experiment.disturb(kills=4, outage=4)
    assert experiment.report() == []
    shares = Counter(cores for _, cores in experiment.samples if sum(cores) == CORES * len(MACHINES))
    assert set(shares) == {(8, 4, 2)}


def test_a_job_sees_its_own_gpu_and_a_job_without_sees_none(run):
    """Each waits until all have begun, so that no two of them have a GPU of one machine one after the other."""
    script = 'echo "$CUDA_VISIBLE_DEVICES"; touch begun.$FAIRQ_CLUSTER; until [ -e go ]; do sleep 0.2; done'
    environment = "CUDA_VISIBLE_DEVICES=0,1;NVIDIA_VISIBLE_DEVICES=all"
    with_gpus = len(GPUS) * len(MACHINES)
    for job in range(with_gpus + 2):
        run.submit(script, "--request-gpus", int(job < with_gpus), "--environment", environment)
    run.until(lambda: len(list(run.place.glob("begun.*"))) == with_gpus + 2)
    (run.place / "go").touch()
    run.until(lambda: not run.queue())
    seen = [run("tail", f"{job + 1}.0").strip() for job in range(with_gpus + 2)]
    assert sorted(seen[:with_gpus]) == sorted(GPUS * len(MACHINES))
    assert seen[with_gpus:] == ["10000", "10000"]


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


def test_a_death_between_submit_and_record_starts_nothing_twice(run):
    run.submit("echo $FAIRQ_RUN >> $FAIRQ_JOB; sleep 2", "--count", 5)
    process = run.begin("negotiate", code=DIES_AFTER_SUBMITTING)
    process.communicate()
    assert process.returncode == 9
    assert {one["phase"] for one in run.launches()} == {"intended"}
    run.until(lambda: not run.queue())
    assert [len((run.place / f"1.{proc}").read_text().split()) for proc in range(5)] == [1] * 5


def test_all_starts_are_one_transaction(run):
    run.submit("true", "--count", CORES * len(MACHINES))
    run("negotiate")
    clusters = {one["engine_id"].partition(".")[0] for one in run.launches()}
    assert len(clusters) == 1
    run.until(lambda: not run.queue())


def test_a_job_that_is_not_matched_shows_why_is_not_charged_and_is_withdrawn(run):
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
        (record,) = [one for one in run.json("export")["submitters"] if one["name"].startswith(ACCOUNT)]
        assert record["accumulated_usage"] == 0
        run("slots", "sync", "htcondor")
        assert {ad["Name"] for ad in run.json("slots") if ad["State"] == "Drained"} == {"slot1@n2"}
    finally:
        run.pool.tool("condor_drain", "-cancel", "slot1@n2")


def test_a_job_gets_its_words_and_variables_whatever_is_in_them(run):
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


def test_spooled_files_go_with_the_job_and_its_output_comes_back(run):
    run.environment["FAIRQ_LAUNCH_HTCONDOR_SPOOL"] = "true"
    (run.place / "word").write_text("hello")
    (run.place / "program").write_text("#!/bin/sh\nread word < word; echo $word; echo $PWD > where; exit 4\n")
    (run.place / "program").chmod(0o755)
    (run.place / "description").write_text(
        "executable = program\noutput = out\ntransfer_input_files = word\nlog = log\nqueue 2\n"
    )
    run("submit", "description")
    run.until(lambda: not run.queue())
    assert (run.place / "out").read_text() == "hello\n"
    where = Path((run.place / "where").read_text().strip())
    assert where != run.place
    assert [one["ended"]["exit_code"] for one in run.launches()] == [4, 4]


def test_a_program_that_htcondor_cannot_start_holds_the_job(run):
    program = run.place / "program"
    program.write_text("#!/nowhere\n")
    program.chmod(0o755)
    run("submit", "--initialdir", run.place, "--", program)
    run.until(lambda: run.queue()["1.0"]["JobStatus"] == 5)
    assert run.queue()["1.0"]["HoldReasonCode"] == 6
    assert str(program) in run.queue()["1.0"]["HoldReason"]


def test_jobs_are_removed_and_held_while_they_wait_and_while_they_run(run):
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


def test_a_schedd_that_is_away_is_told_once_and_loses_nothing(run):
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
    run.pool.until_up()
    run.until(lambda: not run.queue())
    assert all(one["ended"]["reason"] in ("exit", "lost") for one in run.launches())


def test_a_user_whom_the_schedd_does_not_know_gets_the_cure(run):
    process = run.begin("slots", "sync", "htcondor", CONDOR_CONFIG=str(run.pool.configuration))
    _, told = process.communicate()
    assert process.returncode == 121
    assert "SEC_FS_ENFORCE_CHANNEL_BINDING = False" in told
