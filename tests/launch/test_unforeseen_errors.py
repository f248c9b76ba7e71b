"""An error that nobody foresaw, in one job's part of a cycle, holds this job; with a third job, the cycle stops."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairq.steps.launch import values


@pytest.fixture(autouse=True)
def fails_at_boom(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the reader of commands fail at one of them, as a fault of fairq would."""
    usual = values.KINDS["Cmd"]

    def read(value: Any) -> Any:
        if value == "/bin/boom":
            raise RuntimeError("boom\nboom")
        return usual(value)

    monkeypatch.setattr(values, "KINDS", {**values.KINDS, "Cmd": read})


def queue(pool: Any, booms: int) -> None:
    plain = {"ProcId": 0, "Owner": "mallory", "JobStatus": 1, "Iwd": "/", "Requirements": True}
    ads = [{**plain, "ClusterId": n, "Cmd": "/bin/boom" if n <= booms else "/bin/true"} for n in range(1, 6)]
    dump = pool.work / "jobs.json"
    dump.write_text(json.dumps(ads))
    pool.done("import", "--jobs", dump)


def test_two_jobs_are_held_counted_and_named_and_the_others_run(pool: Any) -> None:
    pool.slots(8)
    queue(pool, 2)
    turn = pool("negotiate")
    assert turn.code == 0
    assert turn.err.count("internal error in its part of a cycle: RuntimeError: boom boom") == 2
    held = pool.queue()
    assert {name: held[name]["HoldReasonCode"] for name in ("1.0", "2.0")} == {"1.0": 91, "2.0": 91}
    pool.done("run", "--until-idle")
    assert sorted(ad["ClusterId"] for ad in json.loads(pool.done("history", "--json"))) == [3, 4, 5]
    again = pool("negotiate")
    assert (again.code, "internal error" in again.err) == (0, False)
    assert "fairq_job_errors_total 2" in pool.done("metrics")
    assert "holds 1.0, 2.0" in pool("pool", "check").out


def test_a_third_job_stops_the_cycle_and_no_more_are_held(pool: Any) -> None:
    pool.slots(8)
    queue(pool, 3)
    assert pool("negotiate").code != 0
    assert len([ad for ad in pool.queue().values() if ad["JobStatus"] == 5]) <= 2
