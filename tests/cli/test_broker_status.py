"""``fairq broker status``: the grid at a glance."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.broker_sample import NOW, TASK, fill

Run = Callable[..., Any]

HUGE = 900_000
JOBS = [{"PandaID": n, "jobStatus": state, "computingSite": "U8", "gshare": "MC"}
        for n, state in enumerate(("running", "running", "activated"), 1)]  # fmt: skip


@pytest.fixture
def broker(run, state, tmp_path):
    """Run a broker command on the sample pool with a task that finds queues and two that do not."""
    tasks = [TASK | {"jediTaskID": 1}, *(TASK | {"jediTaskID": n, "ramCount": HUGE} for n in (2, 3))]
    fill(run, state, tmp_path, tasks=tasks, jobs=JOBS)

    def broker(*words, now=NOW):
        ended = run("--state", state, "broker", *words, "--now", now)
        assert ended.code == 0, ended.err
        return ended

    return broker


def told(broker, now=NOW):
    return json.loads(broker("status", "--json", now=now).out)


def test_a_new_grid_has_queues_and_tasks_and_no_run(broker):
    found = told(broker)
    assert found["queues"] == {"online": 4, "offline": 1}
    assert (found["tasks"], found["due"], found["run"]) == ({"ready": 3}, 3, None)
    assert found["jobs"] == {"running": 2, "activated": 1}
    assert "Last run   none; 'fairq broker run' starts one" in broker("status").out


def test_after_a_run_it_says_who_is_pending_and_why(broker):
    broker("run")
    found = told(broker, NOW + 60)
    assert found["tasks"] == {"pending": 2, "assigned": 1}
    assert (found["due"], found["next_retry_time"], found["used_queues"]) == (0, NOW + 3600, 2)
    assert found["reasons"] == [{"tasks": 2, "reason": "none left after the memory check", "example": 2}]
    assert found["run"] == {
        "number": 1, "time": NOW, "rules": "documented", "counts": {"assigned": 1, "pending": 2},
    }  # fmt: skip


def test_a_retry_that_has_come_is_due(broker):
    broker("run")
    assert told(broker, NOW + 3600)["due"] == 2


def test_a_screenful_says_all_of_it(broker):
    broker("run")
    lines = broker("status", now=NOW + 600).out.splitlines()
    assert lines[1:3] == [
        "Queues     5 queues: 4 online, 1 offline; 2 with assigned tasks",
        "Tasks      3 tasks: 2 pending, 1 assigned",
    ]
    assert lines[3].startswith("Due        0 tasks; the next retry is in 50m (")
    assert lines[5].startswith("Last run   1, 10m ago (")
    assert lines[-1].split(maxsplit=1)[0] == "2"


def test_it_is_watched_on_a_terminal_only(run, broker, state):
    ended = run("--state", state, "broker", "status", "--watch")
    assert ended.code == 2
    assert "--watch needs a terminal" in ended.err


def test_the_grid_is_in_the_metrics(broker, run, state):
    assert "fairq_broker_due_tasks 3\n" in run("--state", state, "metrics", "--now", NOW).out
    broker("run")
    text = run("--state", state, "metrics", "--now", NOW).out
    for sample in ('queues{status="online"} 4', 'tasks{state="assigned"} 1', 'jobs{state="running"} 2'):
        assert f"fairq_broker_{sample}\n" in text
    assert f"fairq_broker_run_last_timestamp_seconds {NOW}\n" in text
    assert 'fairq_broker_pending_tasks{reason="' in text
