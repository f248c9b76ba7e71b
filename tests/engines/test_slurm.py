"""Jobs through a real Slurm with two nodes; about a minute, where FAIRQ_TEST_ENGINES is set.

What takes longer, and is left to chance, is in `tests.engines.experiment`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests.engines.slurm_cluster import Cluster, missing

_REASON = "" if os.environ.get("FAIRQ_TEST_ENGINES") else "needs FAIRQ_TEST_ENGINES to be set: it starts a Slurm"
_REASON = _REASON or missing()
pytestmark = pytest.mark.skipif(bool(_REASON), reason=_REASON or "-")

_PATIENCE = 240


@pytest.fixture(scope="module")
def cluster():
    with tempfile.TemporaryDirectory(prefix="fairq-slurm") as scratch:
        Path(scratch).chmod(0o755)
        made = Cluster(Path(scratch, "cluster"), node_timeout=6)
        try:
            made.start()
            yield made
        finally:
            made.stop()


class Pool:
    """A pool whose slots are the nodes of the cluster."""

    def __init__(self, run, work, cluster):
        self._run = run
        self.work = work
        self.cluster = cluster

    def call(self, *words, **variables):
        """Run fairq in this process, with further *variables*."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            return self._run(*words)

    def __call__(self, *words, **variables):
        ended = self.call(*words, **variables)
        assert ended.code == 0, ended.err
        return str(ended.out)

    def submit(self, script, *words):
        self("submit", "--initialdir", self.work, *words, "--", "/bin/sh", "-c", script)

    def jobs(self):
        return {f"{ad['ClusterId']}.{ad['ProcId']}": ad for ad in json.loads(self("queue", "--json"))}

    def export(self):
        return dict(json.loads(self("export")))

    def until(self, is_so, what="it"):
        """Negotiate until *is_so*."""
        end = time.monotonic() + _PATIENCE
        while not (found := is_so()):
            assert time.monotonic() < end, f"{what} did not come about: {self('queue', '--long')}"
            time.sleep(0.5)
            self("-q", "negotiate")
        return found

    def until_empty(self):
        """Negotiate until no job is left; the charges are then what Slurm recorded."""
        self.until(lambda: not self.jobs(), "an empty queue")
        document = self.export()
        records = self.cluster.records()
        for one in document["launches"]:
            record = records.get(one["engine_id"])
            held = 0 if record is None else record.end - record.start
            charged = one["end_time"] - (one["charged_from"] or one["intended"])
            assert abs(charged - held) <= 1, (one, record)
        assert self("state", "check") == ""
        return document


@pytest.fixture
def pool(run, tmp_path, cluster, monkeypatch):
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, cluster.environment[name])
    monkeypatch.setenv("FAIRQ_STATE", str(tmp_path / "pool.db"))
    made = Pool(run, tmp_path, cluster)
    made("slots", "sync", "slurm")
    yield made
    # No job of a test that failed disturbs the next one.
    cluster("scancel", "--user=root")
    cluster.until(lambda: not cluster("squeue", "--noheader"), "jobs are left")


def test_slots_follow_the_nodes(pool, cluster):
    assert json.loads(pool("slots", "sync", "slurm", "--json"))["added"] == []
    cluster("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=new disk")
    assert "slot1@n1" in pool("slots", "sync", "slurm")
    one, other = json.loads(pool("slots", "--json"))
    assert (one["Name"], one["State"], one["Cpus"]) == ("slot1@n1", "Drained", 7)
    assert one["EngineProblem"].startswith("DRAIN in Slurm: new disk")
    assert (other["State"], other["EnginePartition"], other["Launch"]) == ("Unclaimed", "main", "slurm")
    cluster("scontrol", "update", "NodeName=n1", "State=RESUME")
    cluster.until(lambda: cluster.states()["n1"] == "idle", "the node does not come back")
    assert "takes jobs again" in pool("slots", "sync", "slurm")
    assert pool("slots", "sync", "slurm") == ""
    assert pool.call("slots", "sync", "local").code == 120


def test_a_job_has_its_environment_its_files_and_its_exit_code(pool):
    script = 'read word; echo "$word $GREETING $FAIRQ_JOB $PWD $SLURM_CPUS_PER_TASK"; echo e >&2; exit 7'
    (pool.work / "in").write_text("hello\n")
    files = ("--input", "in", "--output", "out", "--error", "err")
    pool.submit(script, *files, "--environment", "GREETING=two words", "--request-cpus", 3)
    pool.until_empty()
    assert (pool.work / "out").read_text() == f"hello two words 1.0 {pool.work} 3\n"
    assert (pool.work / "err").read_text() == "e\n"
    assert json.loads(pool("history", "--json"))[0]["ExitCode"] == 7
    begun, ended = (event["EventTime"] for event in json.loads(pool("log", "1.0", "--json"))[1:])
    assert begun <= ended


def test_what_slurm_holds_up_says_why_and_is_not_charged(pool, cluster):
    cluster("sbatch", "--exclusive", "--nodes=2", "--output=/dev/null", "--wrap=sleep 6")
    cluster.until(lambda: "sleep" not in cluster("squeue", "--noheader", "--states=PENDING"), "the other job waits")
    pool.submit("sleep 2")
    pool("negotiate")
    job = pool.until(lambda: pool.jobs()["1.0"].get("EngineReason") and pool.jobs()["1.0"], "a reason")
    assert job["EngineReason"] in ("Resources", "Priority", "None")
    assert "WAITS_FOR" in pool("queue")
    assert "waits in the queue of slurm" in pool("why", "1.0")
    document = pool.until_empty()
    (run,) = document["runs"]
    assert 2 <= run["end_time"] - run["start_time"] <= 4
    (user,) = (one for one in document["submitters"] if not one["is_group"])
    assert user["accumulated_usage"] == run["end_time"] - run["start_time"]


@pytest.mark.parametrize("instant", ["before", "after"])
def test_a_submission_cut_short_is_found_again(pool, instant):
    """fairq is killed just before or just after Slurm has made the job."""
    shims = pool.work / "shims"
    shims.mkdir()
    real = next(Path(place, "sbatch") for place in os.environ["PATH"].split(":") if Path(place, "sbatch").exists())
    before, after = ("kill -9 $PPID; sleep 1", ":") if instant == "before" else (":", "kill -9 $PPID")
    (shims / "sbatch").write_text(
        f"#!/bin/sh\ncat > {pool.work}/script\n{before}\n"
        f'{real} "$@" < {pool.work}/script > {pool.work}/answer\n{after}\n'
    )
    (shims / "sbatch").chmod(0o755)
    pool.submit("echo $FAIRQ_RUN >> began; sleep 1", "--count", 3)
    line = [sys.executable, "-m", "fairq", "negotiate"]
    path = f"{shims}:{os.environ['PATH']}"
    assert subprocess.run(line, env={**os.environ, "PATH": path}, check=False, capture_output=True).returncode == -9
    pool.cluster.until(lambda: (pool.work / "answer").exists() and (pool.work / "answer").read_text(), "an answer")
    document = pool.until_empty()
    assert [one["how"] for one in document["runs"]] == ["finished"] * 3
    assert len((pool.work / "began").read_text().split()) == 3


def test_jobs_that_are_removed_end_in_slurm(pool, cluster):
    pool.submit("trap 'echo term > ended; exit 0' TERM; : > began; sleep 60 & wait")
    pool("negotiate")
    pool.until((pool.work / "began").exists, "a begin")
    pool("remove", "1")
    pool.until(lambda: not pool.jobs(), "an empty queue")
    assert (pool.work / "ended").read_text() == "term\n"
    cluster.until(lambda: not cluster("squeue", "--noheader"), "the job is still in Slurm")
    assert [one["how"] for one in pool.export()["runs"]] == ["removed"]


def test_a_job_that_an_administrator_requeues_is_taken_back(pool, cluster):
    """Slurm would start the run a second time; fairq starts a new run of the job."""
    pool.submit("echo $FAIRQ_RUN >> began; test $(wc -l < began) = 2 || sleep 60; echo $FAIRQ_RUN >> ended")
    pool("negotiate")
    pool.until((pool.work / "began").exists, "a begin")
    (run,) = pool.export()["launches"]
    cluster("scontrol", "update", f"JobId={run['engine_id']}", "Requeue=1")
    cluster("scontrol", "requeue", run["engine_id"])
    pool.until(lambda: not pool.jobs(), "an empty queue")
    assert len((pool.work / "ended").read_text().split()) == 1
    assert [one["how"] for one in pool.export()["runs"]] == ["lost", "finished"]


def test_jobs_of_a_pool_that_runs_them_as_their_owners_do_not_go_out(pool, cluster):
    pool.submit(":")
    done = pool.call("negotiate", FAIRQ_LAUNCH_RUN_AS="owner")
    assert "which slurm cannot do" in done.err
    assert cluster("squeue", "--noheader") == ""


def test_a_refused_job_waits_with_the_reason_and_is_told_once(pool):
    pool.submit(":", "--count", 2)
    wrong = {"FAIRQ_LAUNCH_SLURM_OPTIONS": "--reservation=none"}
    first, second = (pool.call("negotiate", **wrong).err for _ in range(2))
    assert "Slurm refuses it" in first
    assert "Slurm refuses it" not in second
    assert "Slurm refuses it" in pool.jobs()["1.0"]["EngineReason"]
    pool.until_empty()


def test_a_controller_that_is_down_is_told_once_and_loses_nothing(pool, cluster):
    pool.submit("sleep 1; echo $FAIRQ_RUN >> ended", "--count", 2)
    pool("negotiate")
    cluster.stop_controller()
    pool.submit("echo $FAIRQ_RUN >> ended")
    notes = [pool.call("negotiate").err for _ in range(2)]
    cluster.start_controller()
    assert sum("Slurm does not answer" in note for note in notes) == 1, notes
    pool.until_empty()
    assert len((pool.work / "ended").read_text().split()) == 3


@pytest.mark.skipif(os.environ.get("FAIRQ_TEST_ENGINES") != "full", reason="needs FAIRQ_TEST_ENGINES=full: it is slow")
def test_jobs_of_a_node_that_is_gone_run_elsewhere(pool, cluster):
    script = "echo $FAIRQ_RUN >> began; sleep 4; echo $FAIRQ_RUN >> ended"
    pool.submit(script, "--count", 2, "--request-cpus", 7)
    pool("negotiate")
    pool.until(lambda: (pool.work / "began").exists() and len((pool.work / "began").read_text().split()) == 2, "begins")
    cluster.kill_node("n2")
    cluster.until(lambda: "down" in cluster.states()["n2"], "Slurm does not notice")
    pool("slots", "sync", "slurm")
    pool.until_empty()
    cluster.start_node("n2")
    cluster.until(lambda: "idle" in cluster.states()["n2"], "the node does not come back")
    assert len((pool.work / "ended").read_text().split()) == 2
    assert sorted(one["how"] for one in pool.export()["runs"]) == ["finished", "finished", "lost"]
