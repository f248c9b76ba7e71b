"""``fairq broker why``: the deciding reason of every queue, what was compared, and what would have to change."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.broker_sample import NOW, POOL, TASK, fill

Run = Callable[..., Any]

ANALYSIS = {"jediTaskID": 3, "prodSourceLabel": "user", "userName": "anna", "gshare": "User Analysis", "coreCount": 1}


@pytest.fixture
def broker(run, state, tmp_path):
    """Run a broker command on the sample pool, at NOW unless told otherwise."""
    fill(run, state, tmp_path)

    def broker(*words):
        return run("--state", state, "broker", *words, "--now", NOW)

    return broker


def told(broker, *words):
    ended = broker("why", *words, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def of(found, queue):
    return next(one for one in found["queues"] if one["queue"] == queue)


class TestATaskWithoutQueues:
    def test_every_queue_has_one_reason_with_the_numbers_compared(self, broker):
        found = told(broker, 2)
        assert all(one["reason"] for one in found["queues"])
        small = of(found, "SMALL")
        assert (small["stage"], small["reason"]) == ("memory check", "lowmemory")
        assert small["compared"] == {"memory_need_mb": 810_000, "maxrss": 1000, "corecount": 1}
        assert small["change"] == "a job needs at most 1000 MiB (it needs 810000)"

    def test_the_stages_go_from_all_to_none(self, broker):
        found = told(broker, 2)
        assert found["stages"][0]["before"] == 5
        assert (found["stages"][-1]["stage"], found["stages"][-1]["after"]) == ("memory check", 0)
        for before, after in zip(found["stages"], found["stages"][1:], strict=False):
            assert before["after"] == after["before"]

    def test_reasons_are_counted(self, broker):
        found = {one["reason"]: one["pseudo"] for one in told(broker, 2)["reasons"]}
        assert sum(found.values()) == len(told(broker, 2)["queues"])

    def test_the_single_check_that_is_in_the_way_is_tried_and_told(self, broker):
        (change,) = told(broker, 2)["changes"]
        assert change["check"] == "memory check"
        assert change["best"] == change["queues"][0] == "U8/SCORE"
        assert change["change"] == "a job needs at most 2000 MiB (it needs 810000)"

    def test_the_change_that_is_told_helps(self, broker, run, state, tmp_path):
        fill(run, state, tmp_path, tasks=[TASK | {"jediTaskID": 2, "ramCount": 4000 / 0.9}])
        assert told(broker, 2)["status"] == "assigned"

    def test_the_text_says_where_it_ends_and_when_it_is_tried_again(self, broker):
        broker("run")
        out = broker("why", 2).out
        assert out.startswith("Now task 2 has no eligible queue: none left after the memory check: lowmemory 5, ")
        assert "It is pending by cycle 1, next retry at " in out
        assert "Without check" in out


class TestATaskWithQueues:
    def test_the_weight_is_the_product_of_its_terms(self, broker):
        found = told(broker, 1)
        assert [one["queue"] for one in found["candidates"]] == ["NUCLEUS_Q", "U8/SCORE"]
        for candidate in found["candidates"]:
            queue = of(found, candidate["queue"])
            product = 1.0
            for factor in queue["terms"].values():
                product *= factor
            assert queue["weight"] == pytest.approx(product) == pytest.approx(candidate["weight"])
            assert {"nRun", "nAct", "nFilesToMove"} <= queue["numbers"].keys()

    def test_nothing_is_stored(self, broker, state):
        before = state.read_bytes()
        broker("why", 1)
        assert state.read_bytes() == before


class TestOneQueue:
    def test_all_that_is_in_its_way_is_told_not_only_the_first(self, broker, run, state, tmp_path):
        queues = [queue | ({"fairsharepolicy": "type=any:0%"} if queue["name"] == "SMALL" else {})
                  for queue in POOL["queues"]]  # fmt: skip
        fill(run, state, tmp_path, queues=queues)
        found = told(broker, 1, "--queue", "SMALL")
        assert [one["reason"] for one in found["queues"]] == ["zeroshare"]
        assert [one["reason"] for one in found["obstacles"]] == ["zeroshare", "lowmemory"]

    def test_a_unified_queue_stands_for_its_pseudo_queues(self, broker):
        found = told(broker, 1, "--queue", "U8")
        assert [one["queue"] for one in found["queues"]] == [
            "U8/MCORE", "U8/MCORE_HIMEM", "U8/SCORE", "U8/SCORE_HIMEM",
        ]  # fmt: skip
        assert [one["queue"] for one in told(broker, 1, "--queue", "U8/SCORE")["queues"]] == ["U8/SCORE"]

    def test_a_temporary_reason_is_marked(self, broker):
        (idle,) = told(broker, 1, "--queue", "IDLE")["queues"]
        assert (idle["reason"], idle["temporary"], idle["change"]) == ("nopilot", True, "a pilot asks for work there")


class TestAPastRun:
    def test_what_it_decided_stays_when_the_pool_changes(self, broker, run, state, tmp_path):
        broker("run")
        fill(run, state, tmp_path, queues=[queue | {"status": "offline"} for queue in POOL["queues"]])
        assert told(broker, 1)["status"] == "failed"
        for words in (("--last",), ("--cycle", 1)):
            found = told(broker, 1, *words)
            assert (found["cycle"], found["status"]) == (1, "assigned")
            assert [one["queue"] for one in found["candidates"]] == ["NUCLEUS_Q", "U8/SCORE"]
            assert of(found, "SMALL")["reason"] == "lowmemory"
            assert of(found, "NUCLEUS_Q")["weight"] == pytest.approx(found["candidates"][0]["weight"])

    def test_it_gives_the_same_reasons_and_stages_as_the_explanation_at_that_time(self, broker):
        broker("run")
        now, then = told(broker, 2), told(broker, 2, "--last")
        assert now["stages"] == then["stages"]
        assert now["reasons"] == then["reasons"]
        assert now["reason"] == then["reason"]


class TestAnalysis:
    def test_a_throttled_user_is_told_the_cap(self, broker, run, state, tmp_path):
        users = [{"name": "anna", "nRunJobs": 50}]
        fill(run, state, tmp_path, tasks=[ANALYSIS], users=users)
        broker("config", "set", "CAP_RUNNING_USER_JOBS", "10")
        broker("run", 3)
        (task,) = json.loads(run("--state", state, "broker", "tasks", "list", "3", "--json").out)
        assert (task["status"], task["frozenTime"], task["reason"]) == ("waiting", None, "cap_running_jobs")
        told = broker("why", 3).out
        assert "CAP_RUNNING_USER_JOBS 10, running 50" in told
        assert "\nIt would get further if anna runs at most 10 jobs (now 50), or CAP_RUNNING_USER_JOBS is hi" in told

    def test_a_user_task_is_tried_again_after_twenty_minutes(self, broker, run, state, tmp_path):
        fill(run, state, tmp_path, tasks=[ANALYSIS | {"ramCount": 900_000}])
        broker("run", 3)
        (task,) = json.loads(run("--state", state, "broker", "tasks", "list", "3", "--json").out)
        assert (task["status"], task["retryTime"]) == ("pending", NOW + 1200)


def test_csv_has_a_line_for_each_queue(broker):
    lines = broker("why", 1, "--csv").out.splitlines()
    assert lines[0].startswith("queue,unit,verdict,stage,reason")
    assert len(lines) == 1 + 8
    assert broker("why", 1, "--af", "Queue", "--constraint", 'Reason == "nopilot"').out == "IDLE\n"


def test_a_stage_tells_how_many_queues_it_refuses_for_the_moment(broker):
    """They are counted until the temporary problems are sorted out, so that Before and After are the same there."""
    lines = {one["stage"]: one for one in told(broker, 1)["stages"]}
    pilots = lines["pilot check"]
    assert (pilots["before"] - pilots["after"], pilots["marked"]) == (0, 1)
    assert lines["temporary problem check"]["pseudo_before"] - lines["temporary problem check"]["pseudo_after"] == 1
