"""The condition of a run, by what its supervisor wrote and what Slurm recorded."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from fairq.launch.interface import Condition, Queued
from fairq.launch.slurm.attempt import Attempt
from fairq.launch.slurm.queue import Record
from fairq.launch.slurm.verdict import Files, of_job, without_job

PLACE = Path("/nowhere/1.0-a")
END: dict[str, Any] = {"reason": "exit", "exit_code": 3, "signal": None, "started": 1001.5, "ended": 1009.5}
BEGUN = {"pid": 1}


def record(state, start=1000, end=1010, reason="None"):
    return Record("17", "fairq-1.0-x", None, state, start, end, "n1", reason)


def verdict(job, files, status=None):
    return of_job(job, files, lambda _: status, PLACE)


def test_a_job_in_slurms_queue_waits_for_slurms_reason():
    look = verdict(record("PENDING", None, None, "Resources"), Files(None, None))
    assert (look.condition, look.detail, look.begun) == (Condition.QUEUED, "Resources", Queued("17"))


def test_a_job_that_slurm_requeued_is_not_started_again():
    assert verdict(record("PENDING", None, None, "BeginTime"), Files(BEGUN, None)).condition is Condition.STRAY


def test_a_job_runs_as_long_as_slurm_says():
    look = verdict(record("RUNNING", 1000, None), Files(BEGUN, END))
    assert (look.condition, look.since) == (Condition.RUNNING, 1000)


def test_the_end_is_the_supervisors_and_the_charge_slurms():
    look = verdict(record("FAILED"), Files(BEGUN, END))
    assert (look.condition, look.end, look.since, look.until) == (Condition.ENDED, END, 1000, 1010)


def test_a_requeued_job_is_charged_for_its_first_time():
    look = verdict(record("COMPLETED", 2000, 2001), Files(BEGUN, END))
    assert (look.since, look.until) == (1001.5, 1009.5)


@pytest.mark.parametrize(("state", "code"), [("TIMEOUT", 47), ("DEADLINE", 47), ("OUT_OF_MEMORY", 34)])
def test_limits_of_slurm_hold_a_job(state, code):
    for files in (Files(BEGUN, {**END, "reason": "terminated"}), Files(BEGUN, None)):
        look = verdict(record(state), files)
        assert look.end is not None
        assert (look.condition, look.end["reason"], look.end["code"]) == (Condition.ENDED, "engine", code)


def test_a_job_that_slurm_ended_is_lost_with_slurms_state():
    look = verdict(record("NODE_FAIL"), Files(BEGUN, None))
    assert (look.condition, look.since, look.until) == (Condition.LOST, 1000, 1010)
    assert "NODE_FAIL" in look.detail
    ended = verdict(record("CANCELLED"), Files(BEGUN, {**END, "reason": "terminated"}))
    assert ended.end is not None
    assert "CANCELLED" in ended.end["detail"]


def test_a_job_on_a_node_that_is_cut_off_is_not_started_again():
    now = int(time.time())
    job = record("NODE_FAIL", now - 200, now - 100)
    assert verdict(job, Files(BEGUN, None, True)).condition is Condition.RUNNING
    assert verdict(job, Files(BEGUN, None)).condition is Condition.LOST


def test_an_end_may_become_visible_late():
    now = int(time.time())
    assert verdict(record("COMPLETED", now - 5, now), Files(BEGUN, None)).condition is Condition.RUNNING


def test_a_job_cancelled_in_the_queue_is_charged_nothing():
    look = verdict(record("CANCELLED", 1000, 1000), Files({"cancelled": True}, None))
    assert (look.condition, look.since) == (Condition.LOST, None)


def test_a_batch_job_that_could_not_begin_says_why():
    look = verdict(record("FAILED"), Files(None, None), (2, 0))
    assert look.end is not None
    assert (look.end["reason"], look.since) == ("start", 1000)
    assert "exit code 2" in look.end["detail"]
    assert "the same directory" in look.end["detail"]


def test_without_a_record_the_directory_decides():
    queued, attempt = Queued("17"), Attempt("fairq-1.0-x", None, 1000.0, "17")
    ended = without_job(queued, attempt, Files(BEGUN, END))
    assert (ended.condition, ended.since, ended.until) == (Condition.ENDED, 1001.5, 1009.5)
    assert without_job(queued, attempt, Files(BEGUN, None, True, 1001.0)).condition is Condition.RUNNING
    assert without_job(queued, attempt, Files(BEGUN, None)).condition is Condition.LOST
    assert without_job(queued, attempt, Files(None, None)).condition is Condition.LOST
    assert without_job(None, None, Files({"cancelled": True}, None)).condition is Condition.LOST
    assert without_job(None, None, Files(None, None)).condition is Condition.WAITING


def test_a_call_of_sbatch_may_be_under_way_for_a_while():
    young, old = Attempt("fairq-1.0-x", None, time.time()), Attempt("fairq-1.0-x", None, time.time() - 1000)
    assert without_job(None, young, Files(None, None)).condition is Condition.UNKNOWN
    assert without_job(None, old, Files(None, None)).condition is Condition.WAITING


def test_the_files_of_a_run_are_read(tmp_path):
    from fairq.launch.slurm import attempt
    from fairq.launch.supervisor import record as files

    assert Files.of(tmp_path / "none") == Files(None, None)
    last_attempt = Attempt("fairq-1.0-x", 3, 1000.0)
    attempt.note(tmp_path, last_attempt)
    attempt.note_id(tmp_path, last_attempt, "17_3")
    assert attempt.read(tmp_path) == Attempt("fairq-1.0-x", 3, 1000.0, "17_3")
    directory = os.open(tmp_path, os.O_RDONLY)
    lock = files.lock(directory)
    files.begin(directory, {"pid": 1})
    assert Files.of(tmp_path).watched
    assert lock is not None
    os.close(lock)
    os.close(directory)
    assert not Files.of(tmp_path).watched
    attempt.cancel(tmp_path / "new", "remove")
    assert Files.of(tmp_path / "new").is_cancelled
