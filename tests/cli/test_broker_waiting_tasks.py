"""``fairq broker why`` without a task: why tasks wait, all together, and why they do not get one queue."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.broker_sample import NOW, POOL, TASK, fill

Run = Callable[..., Any]

SMALL, LARGE, HUGE = 1500, 3000, 900_000
"""Memory of tasks: with the margin, the first fits slots of 2000 MiB and the second of 4000 MiB."""


@pytest.fixture
def broker(run, state, tmp_path):
    """Run a broker command on the sample pool with five tasks: two small ones, one large one, two huge ones."""
    memory = {1: SMALL, 2: HUGE, 3: HUGE, 4: SMALL, 5: LARGE}
    fill(run, state, tmp_path, tasks=[TASK | {"jediTaskID": task, "ramCount": ram} for task, ram in memory.items()])

    def broker(*words):
        return run("--state", state, "broker", *words, "--now", NOW)

    return broker


def told(broker, *words):
    ended = broker("why", *words, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


class TestAllTasks:
    def test_tasks_that_find_queues_are_counted_and_their_reasons_are_not(self, broker):
        found = told(broker)
        assert (found["tasks"], found["placed"]) == (5, 3)
        assert max(one["tasks"] for one in found["reasons"]) == 2

    def test_reasons_by_queue_are_those_of_each_task_counted(self, broker):
        counted: dict[tuple[str, str, str], set[int]] = {}
        for task in (2, 3):
            for one in told(broker, task)["queues"]:
                counted.setdefault((one["unit"], one["stage"], one["reason"]), set()).add(task)
        found = {(one["queue"], one["stage"], one["reason"]): one["tasks"] for one in told(broker)["queues"]}
        assert found == {key: len(tasks) for key, tasks in counted.items()}

    def test_the_largest_reasons_come_first(self, broker, run, state, tmp_path):
        tasks = [TASK | {"jediTaskID": n, "ramCount": HUGE} for n in (1, 2, 3)]
        fill(run, state, tmp_path, tasks=[*tasks, TASK | {"jediTaskID": 4, "coreCount": 16}])
        found = told(broker)
        for kind in ("reasons", "queues", "help"):
            numbers = [one["tasks"] for one in found[kind]]
            assert numbers == sorted(numbers, reverse=True)

    def test_what_helps_is_what_why_finds_for_each_task(self, broker):
        (help_,) = told(broker)["help"]
        assert (help_["tasks"], help_["check"], help_["example"]) == (2, "memory check", 2)
        for task in (2, 3):
            (change,) = told(broker, task)["changes"]
            assert change["check"] == help_["check"]

    def test_a_pending_task_counts_before_its_retry_and_an_assigned_one_does_not(self, broker):
        broker("run")
        found = told(broker)
        assert (found["tasks"], found["placed"]) == (2, 0)

    def test_nothing_is_stored(self, broker):
        told(broker)
        assert "ready" in broker("why", 1).out

    def test_of_many_tasks_some_from_all_parts_are_tried(self, broker, monkeypatch):
        import fairq.steps.broker.waiting_tasks as step

        monkeypatch.setattr(step, "_MOST_TRIED", 1)
        found = told(broker)
        assert (found["tasks"], found["placed"], found["tried"]) == (5, 3, 1)
        assert max(one["tasks"] for one in found["reasons"]) == 2
        assert [one["tasks"] for one in found["help"]] == [1]
        assert "1 of the 1 tried would get one" in broker("why").out

    def test_the_first_lines_say_how_many_and_what_helps_most(self, broker):
        first, second, *_ = broker("why").out.splitlines()
        assert first == "5 tasks wait: a run now would give a queue to 3; 2 do not get one (rules documented)."
        assert second == "Without the memory check, 2 more tasks would get one."

    def test_no_waiting_task_is_said(self, broker, run, state, tmp_path):
        fill(run, state, tmp_path, tasks=[TASK | {"jediTaskID": n, "status": "assigned"} for n in range(1, 6)])
        assert broker("why").out == "No task is waiting (rules documented).\n"


class TestOneQueue:
    def test_every_task_that_does_not_get_it_has_its_reason(self, broker):
        found = told(broker, "--queue", "SMALL")
        assert (found["tasks"], found["placed"]) == (5, 0)
        assert [(one["reason"], one["tasks"]) for one in found["reasons"]] == [("lowmemory", 5)]
        assert found["queues"] == []

    def test_the_check_left_out_helps_the_tasks_that_would_get_this_queue(self, broker):
        (help_,) = told(broker, "--queue", "SMALL")["help"]
        assert (help_["tasks"], help_["queue"]) == (5, "SMALL")
        assert help_["change"] == "a job needs at most 1000 MiB (it needs 1350)"

    def test_a_unified_queue_is_gained_with_any_of_its_pseudo_queues(self, broker):
        by_task = [told(broker, task)["candidates"] for task in range(1, 6)]
        gained = sum(any(one["queue"].startswith("U8/") for one in found) for found in by_task)
        assert told(broker, "--queue", "U8")["placed"] == gained > 0

    def test_queues_that_weigh_more_are_a_reason(self, broker, run, state, tmp_path):
        queues = [POOL["queues"][0] | {"name": f"Q{n:02}"} for n in range(12)]
        fill(
            run, state, tmp_path, queues=queues, tasks=[TASK | {"jediTaskID": 1}],
            relations=[{"queue": one["name"], "rse": "NUC_DISK"} for one in queues],
            pilots=[{"queue": one["name"], "getJob": 5} for one in queues],
            statistics=[{"queue": one["name"], "gshare": "MC", "state": "running", "n": 10} for one in queues],
        )  # fmt: skip
        taken = {one["queue"] for one in told(broker, 1)["candidates"]}
        left = next(one["name"] for one in queues if one["name"] not in taken)
        assert told(broker, "--queue", left)["reasons"][0]["reason"] == "low_weight"

    def test_an_unknown_queue_is_one_clear_line(self, broker):
        ended = broker("why", "--queue", "SMAL")
        assert (ended.code, ended.err) == (86, "fairq: there is no queue 'SMAL'; did you mean SMALL?\n")


@pytest.mark.parametrize("option", ["--last", "--compare", "--cycle=1"])
def test_what_is_about_one_task_needs_a_task(broker, option):
    ended = broker("why", option)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"fairq: {option.partition('=')[0]} needs a task; name one\n"
