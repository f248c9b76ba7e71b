"""The files of a run: its event log, its scratch directory, the output that it appends to."""

import fcntl
import os
from pathlib import Path

import pytest


def test_a_job_whose_event_log_cannot_be_written_is_held_before_it_starts(pool):
    pool.slots(1)
    pool.submit("touch ran", "--attribute", 'UserLog="/nonexistent/log"')
    pool.done("run", "--until-idle")
    ad = pool.queue()["1.0"]
    assert (ad["JobStatus"], ad["HoldReasonCode"], ad["HoldReasonSubCode"]) == (5, 22, 2)
    assert ad["HoldReason"] == "its event log /nonexistent/log cannot be written: No such file or directory"
    assert not (pool.work / "ran").exists()


def test_whoever_submits_a_job_hears_that_its_event_log_cannot_be_written(pool):
    pool.slots(1)
    ended = pool("submit", "--attribute", 'UserLog="/nonexistent/log"', "--", "/bin/true")
    assert ended.code == 0
    assert "/nonexistent/log cannot be written: No such file or directory; the jobs that name it" in ended.err


def test_an_event_log_that_somebody_keeps_locked_does_not_stop_a_turn(pool):
    pool.slots(1)
    log = pool.work / "log"
    pool.submit("exit 0", "--attribute", f'UserLog="{log}"')
    descriptor = os.open(log, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        ended = pool("negotiate")
        assert (ended.code, "another process has it locked" in ended.err) == (0, True)
    finally:
        os.close(descriptor)
    pool.settled("1.0")
    pool.turn()
    assert "Job terminated." in log.read_text()


def test_a_run_has_a_scratch_directory_that_is_gone_when_it_has_ended(pool, any_cgroup):
    pool.slots(1)
    pool.submit(
        'cd "$_CONDOR_SCRATCH_DIR" && echo "$PWD $TMPDIR" > "$_CONDOR_JOB_IWD/told" && mkdir -p a/b && '
        "ln -s / a/link && touch a/b/c && chmod 0 a/b && mkdir -p $(printf 'd/%.0s' $(seq 1500))"
    )
    pool.done("run", "--until-idle")
    scratch, temporary = (pool.work / "told").read_text().split()
    assert (scratch, Path(scratch).exists(), Path("/bin").exists()) == (temporary, False, True)


def test_what_the_submit_description_says_of_the_environment_wins_over_the_scratch_directory(pool):
    pool.slots(1)
    pool.submit('echo "$TMPDIR" > told', "--attribute", 'Environment="TMPDIR=/var/tmp"')
    pool.done("run", "--until-idle")
    assert (pool.work / "told").read_text() == "/var/tmp\n"


def test_a_run_that_was_lost_leaves_no_scratch_directory(pool, monkeypatch):
    pool.slots(1)
    pool.submit('touch "$_CONDOR_SCRATCH_DIR/big"; echo $$ > pid; exec sleep 600', "--attribute", "JobMaxRetries=0")
    pool.turn()
    pool.pid_in("pid")
    os.kill(pool.supervisor("1.0"), 9)
    pool.settled("1.0")
    assert not list(pool.runs.rglob("scratch"))


@pytest.mark.parametrize(("appended", "lines"), [("out", ["old", "new"]), ("other", ["new"])])
def test_output_is_appended_to_if_append_files_names_it(pool, appended, lines):
    pool.slots(1)
    (pool.work / "out").write_text("old\n")
    description = pool.work / "job.sub"
    description.write_text(
        f"executable = /bin/echo\narguments = new\ninitialdir = {pool.work}\noutput = out\n"
        f"append_files = {appended}\nqueue\n"
    )
    pool.done("submit", description)
    pool.done("run", "--until-idle")
    assert (pool.work / "out").read_text().splitlines() == lines


def test_a_job_stays_in_the_queue_as_long_as_leave_in_queue_is_true(pool):
    pool.slots(1)
    pool.submit("exit 3", "--attribute", "LeaveJobInQueue=ExitCode == 3 && time() - CompletionDate < 3600")
    pool.done("run", "--until-idle")
    ad = pool.queue()["1.0"]
    assert (ad["JobStatus"], ad["ExitCode"], ad["ExitBySignal"]) == (4, 3, False)
    assert pool("wait", "1.0").code == 3
    assert pool("hold", "1.0").code != 0
    assert pool.export()["claims"] == []
    pool.turn("--now", ad["CompletionDate"] + 3599)
    assert list(pool.queue()) == ["1.0"]
    pool.turn("--now", ad["CompletionDate"] + 3600)
    assert pool.queue() == {}


def test_a_job_that_stays_in_the_queue_can_be_removed(pool):
    pool.slots(1)
    pool.submit("exit 0", "--attribute", "LeaveJobInQueue=true")
    pool.done("run", "--until-idle")
    pool.turn()
    assert pool.queue()["1.0"]["JobStatus"] == 4
    pool.done("remove", "1.0")
    assert pool.queue() == {}
