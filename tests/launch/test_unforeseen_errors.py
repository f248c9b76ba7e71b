"""An error that nobody foresaw, in one job's part of a cycle, holds this job; with a third job, the cycle stops."""

import json

import pytest
from tests.launch.conftest import is_alive, until

from fairq.state.job_changes import Procs
from fairq.steps.launch import values
from fairq.steps.launch.faults import Faults

STEPS = ["Cmd", "UserLog", "PeriodicHold", "OnExitHold", "JobSuccessExitCode", "LeaveJobInQueue", "NotifyUser"]
"""Attributes, each of them read in another step: start, event log, policy, end, retries, and mail."""


BOOM = {"PeriodicHold": '/Expr(strcat("/boom"))/'}
"""Policies are asked only if they are expressions."""


@pytest.fixture(autouse=True)
def fails_at_boom(monkeypatch):
    """Let the readers of attributes fail at one value, as a fault of fairq would."""

    def failing(usual):
        def read(value):
            if value == "/boom":
                raise RuntimeError("boom\nboom")
            return usual(value)

        return read

    monkeypatch.setattr(values, "KINDS", {name: failing(usual) for name, usual in values.KINDS.items()})


def queue(pool, booms, attribute="Cmd", jobs=5):
    plain = {"ProcId": 0, "Owner": "mallory", "JobStatus": 1, "Iwd": "/", "Cmd": "/bin/true", "Requirements": True,
             "JobNotification": 1}  # fmt: skip
    ads = [
        {**plain, "ClusterId": n, **({attribute: BOOM.get(attribute, "/boom")} if n <= booms else {})}
        for n in range(1, jobs + 1)
    ]
    dump = pool.work / "jobs.json"
    dump.write_text(json.dumps(ads))
    pool.done("import", "--jobs", dump)


def held(pool):
    return [name for name, ad in pool.queue().items() if ad["JobStatus"] == 5 and ad["HoldReasonCode"] == 91]


def ended(pool):
    return sorted(ad["ClusterId"] for ad in json.loads(pool.done("history", "--json")))


@pytest.mark.parametrize("attribute", STEPS)
def test_two_jobs_are_held_counted_and_named_and_the_others_run(pool, monkeypatch, attribute):
    monkeypatch.setenv("FAIRQ_MAIL_COMMAND", '["true"]')
    pool.slots(8)
    queue(pool, 2, attribute)
    messages = ""

    def is_done():
        nonlocal messages
        turn = pool("negotiate", "-q")
        assert turn.code == 0, turn.err
        messages += turn.err
        return len(held(pool)) == 2 and {3, 4, 5} <= set(ended(pool))

    until(is_done, "the end of all others")
    messages += pool("negotiate").err + pool("negotiate").err
    for job in ("1.0", "2.0"):
        reason = f"job {job} is held: internal error in its part of a cycle: RuntimeError: boom boom"
        assert messages.count(reason) == 1
    assert "fairq_job_errors_total 2" in pool.done("metrics")
    assert "holds 1.0, 2.0" in pool("pool", "check").out
    assert sorted(held(pool)) == ["1.0", "2.0"]


@pytest.mark.parametrize("attribute", STEPS)
def test_at_a_third_job_the_cycle_stops_and_no_more_are_held(pool, monkeypatch, attribute):
    monkeypatch.setenv("FAIRQ_MAIL_COMMAND", '["true"]')
    pool.slots(8)
    queue(pool, 5, attribute)
    turns = [pool("negotiate", "--no-launch")]
    if not turns[0].err.count("internal error"):
        turns = [pool("negotiate")]
    if not turns[0].err.count("internal error"):
        supervisors = [launch["pid"] for launch in pool.export()["launches"]]
        until(lambda: not any(map(is_alive, supervisors)), "the end of all runs")
        turns = [pool("negotiate", "-q")]
    (turn,) = turns
    assert turn.code == 95
    assert turn.err.count(" is held: internal error in its part of a cycle") == 2
    assert turn.err.count("in the part of a third job of this cycle") == 1
    assert sorted(held(pool)) == ["1.0", "2.0"]
    assert "fairq_job_errors_total 2" in pool.done("metrics")
    assert "holds 1.0, 2.0" in pool("pool", "check").out
    again = pool("negotiate", "-q")
    assert again.err.count(" is held: internal error in its part of a cycle") == 2
    assert sorted(held(pool)) == ["1.0", "2.0", "3.0", "4.0"]
    last = pool("negotiate", "-q")
    assert last.err.count(" is held: internal error in its part of a cycle") == 1
    assert sorted(held(pool)) == ["1.0", "2.0", "3.0", "4.0", "5.0"]
    assert "fairq_job_errors_total 5" in pool.done("metrics")


def test_a_job_that_takes_long_to_end_is_reported_once(pool, monkeypatch):
    monkeypatch.setenv("FAIRQ_LAUNCH_GRACE", "1")
    pool.slots(1)
    script = pool.script("#!/bin/sh\ntrap '' TERM\necho $$ > pid\nwhile :; do sleep 0.1; done\n")
    stubborn = {"ClusterId": 1, "ProcId": 0, "Owner": "mallory", "JobStatus": 1, "Iwd": str(pool.work),
                "Cmd": str(script), "Requirements": True,
                "PeriodicHold": '/Expr(ifThenElse(JobStatus == 2, "/boom", false))/'}  # fmt: skip
    (pool.work / "jobs.json").write_text(json.dumps([stubborn]))
    pool.done("import", "--jobs", pool.work / "jobs.json")
    pool.done("negotiate")
    pool.pid_in("pid")
    messages = ""

    def is_held():
        nonlocal messages
        messages += pool("negotiate", "-q").err
        return held(pool) == ["1.0"]

    until(is_held, "the hold")
    assert messages.count("is held: internal error in its part of a cycle") == 1
    assert "fairq_job_errors_total 1" in pool.done("metrics")


def test_a_job_is_held_for_its_own_fault_only():
    faults = Faults()
    mine, other = Procs("", 1, 0, 0), Procs("", 2, 0, 0)
    for procs in (other, mine):
        with faults.apart(procs):
            raise RuntimeError(f"of {procs.cluster}")
    assert [fault.procs for fault in faults.take(mine)] == [mine]
    assert [fault.procs for fault in faults.take()] == [other]
    assert faults.take() == []
