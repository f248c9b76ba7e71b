"""``fairq broker run``: which tasks, what comes of them, and what is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from tests.cli.broker_sample import NOW, TASK, fill

from fairq.engine.brokerage.flow.course import UNDECIDED
from fairq.state import broker_cycles, document
from fairq.state.connection import reading
from fairq.steps.broker.kept_verdict import legend_of, unpack

Run = Callable[..., Any]


@pytest.fixture
def broker(run, state, tmp_path):
    """Run a broker command on the sample pool, at NOW unless told otherwise."""
    fill(run, state, tmp_path)

    def broker(*words):
        now = () if "--now" in words or words[0] != "run" else ("--now", NOW)
        return run("--state", state, "broker", *words, *now)

    return broker


def decided(broker, *words):
    ended = broker("run", *words, "--json")
    assert ended.code == 0, ended.err
    return {task["task"]: task for task in json.loads(ended.out)["tasks"]}


def tasks(broker):
    return {task["jediTaskID"]: task for task in json.loads(broker("tasks", "--json").out)}


class TestOutcome:
    def test_a_task_gets_the_best_queues_and_one_without_is_tried_again_in_an_hour(self, broker):
        found = decided(broker)
        assert (found[1]["status"], found[1]["queues"]) == ("assigned", ["NUCLEUS_Q", "U8/SCORE"])
        assert (found[2]["status"], found[2]["retry_time"]) == ("pending", NOW + 3600)
        assert found[2]["reason"].startswith("none left after the memory check: lowmemory")

    def test_the_tasks_keep_what_was_decided(self, broker):
        decided(broker)
        found = tasks(broker)
        assert (found[1]["status"], found[1]["assigned"], found[1]["frozenTime"]) == (
            "assigned", ["NUCLEUS_Q", "U8/SCORE"], None,
        )  # fmt: skip
        assert (found[2]["status"], found[2]["retryTime"], found[2]["frozenTime"]) == ("pending", NOW + 3600, NOW)
        assert found[1]["cycle"] == found[2]["cycle"] == 1

    @pytest.mark.parametrize(("priority", "minutes"), [(500, 60), (900, 30), (950, 10)])
    def test_a_high_priority_is_tried_again_sooner_by_the_code(self, broker, run, state, tmp_path, priority, minutes):
        fill(run, state, tmp_path, tasks=[TASK | {"jediTaskID": 2, "ramCount": 900_000, "taskPriority": priority}])
        assert decided(broker, 2, "--dry-run", "--rules", "panda")[2]["retry_time"] == NOW + 60 * minutes
        assert decided(broker, 2)[2]["retry_time"] == NOW + 3600

    def test_a_task_that_fails_for_a_week_is_exhausted(self, broker):
        decided(broker)
        week = NOW + 7 * 86400 + 1
        assert decided(broker, "--now", week)[2]["status"] == "exhausted"
        assert tasks(broker)[2]["frozenTime"] == NOW
        assert decided(broker, "--now", week + 7200) == {}

    def test_success_ends_the_row_of_failures(self, broker, run, state, tmp_path):
        decided(broker)
        fill(run, state, tmp_path, tasks=[{"jediTaskID": 2, "ramCount": 1500}])
        assert decided(broker, 2)[2]["status"] == "assigned"
        assert tasks(broker)[2]["frozenTime"] is None

    def test_every_result_names_its_rules(self, broker):
        for rules in ("documented", "panda"):
            assert f"rules {rules}" in broker("run", "--all", "--dry-run", "--rules", rules).out
            assert json.loads(broker("run", "--all", "--dry-run", "--rules", rules, "--json").out)["rules"] == rules

    def test_the_same_pool_gives_the_same_answer(self, broker):
        assert broker("run", "--all", "--dry-run", "--json").out == broker("run", "--all", "--dry-run", "--json").out


class TestWhoseTurn:
    def test_a_pending_task_waits_for_its_time_and_an_assigned_one_is_done(self, broker):
        decided(broker)
        assert decided(broker, "--now", NOW + 3599) == {}
        assert set(decided(broker, "--now", NOW + 3600)) == {2}

    def test_tasks_by_name_and_all_tasks_are_brokered_whatever_their_state(self, broker):
        decided(broker)
        assert set(decided(broker, 1)) == {1}
        assert set(decided(broker, "--all")) == {1, 2}

    def test_a_run_without_a_task_is_not_recorded(self, broker, state):
        decided(broker)
        before = state.read_bytes()
        ended = broker("run")
        assert (ended.code, ended.out, ended.err) == (0, "", "no task is waiting for brokerage\n")
        with reading(state) as opened:
            assert broker_cycles.next_number(opened) == 2
        assert len(state.read_bytes()) == len(before)


class TestWhatIsShown:
    def test_the_summary_is_the_stage_table(self, broker):
        lines = json.loads(broker("run", 1, "--dry-run", "--summary", "--json").out)["stages"]
        assert [(line["stage"], line["before"], line["after"]) for line in lines[:2]] == [
            ("candidates", 5, 5), ("status check", 5, 4),
        ]  # fmt: skip
        assert lines[-1]["after"] == 2
        assert "status check" in broker("run", 1, "--dry-run", "--summary").out
        assert broker("run", 1, "--summary").out.startswith("Cycle 1: 1 task")

    def test_the_history_tells_of_the_run(self, broker, run, state):
        decided(broker)
        entry = json.loads(run("--state", state, "state", "history", "--json").out)[-1]
        assert entry["subject"] == "broker cycle 1"
        assert entry["after"] == {"assigned": 1, "pending": 1, "rules": "documented"}


class TestWhatIsKept:
    def test_every_queue_has_its_reason_or_its_weight(self, broker, state):
        decided(broker)
        with reading(state) as opened:
            cycle = broker_cycles.load(opened, 1)
            verdict = broker_cycles.load_verdict(opened, 1)
        assert cycle is not None and verdict is not None
        legend = legend_of(cycle.document)
        kept, names = unpack(verdict.data, legend), legend.names
        reasons = legend.reasons["production"]
        found = zip(names, kept.decided, strict=True)
        assert {name: "" if number == UNDECIDED else reasons[number][1] for name, number in found} == {
            "NUCLEUS_Q": "", "U8/SCORE": "", "U8/SCORE_HIMEM": "highmemory", "U8/MCORE": "cpucore",
            "U8/MCORE_HIMEM": "cpucore", "SMALL": "lowmemory", "CLOSED": "status", "IDLE": "nopilot",
        }  # fmt: skip
        weights = {name: weight for name, weight in zip(names, kept.weights, strict=True) if weight == weight}
        assert weights == pytest.approx(dict(kept.candidates))

    def test_of_old_runs_only_the_last_verdict_on_each_task_stays(self, broker, state):
        decided(broker)
        for _ in range(11):
            decided(broker, 1)
        with reading(state) as opened:
            kept = [(one.task, one.cycle) for one in broker_cycles.load_verdicts(opened)]
            assert kept == [(2, 1), *((1, cycle) for cycle in range(3, 13))]
            assert [one.number for one in broker_cycles.load_all(opened)] == [1, *range(3, 13)]

    def test_how_many_runs_are_kept_is_a_setting(self, broker, state, monkeypatch):
        monkeypatch.setenv("FAIRQ_BROKER_VERDICTS_KEPT", "2")
        for _ in range(4):
            decided(broker, 1)
        with reading(state) as opened:
            assert [one.number for one in broker_cycles.load_all(opened)] == [3, 4]

    def test_it_goes_with_the_exported_state(self, broker, run, state, tmp_path):
        decided(broker)
        file, other = tmp_path / "all.json", tmp_path / "other.db"
        assert run("--state", state, "export", "--output", file).code == 0
        assert run("--state", other, "import", file).code == 0
        with reading(state) as one, reading(other) as two:
            assert document.export(one) == document.export(two)


def test_a_second_run_meanwhile_is_refused(broker, state):
    from fairq.state.cycle_lock import BROKERAGE, cycle_lock

    with cycle_lock(state), cycle_lock(state, BROKERAGE):
        ended = broker("run")
    assert (ended.code, "another brokerage run is running on" in ended.err) == (75, True)


class TestAnalysis:
    USER: ClassVar = TASK | {"prodSourceLabel": "user", "gshare": "User Analysis", "userName": "jane", "nucleus": None}
    REPLICAS: ClassVar = [{"dataset": "mc.1", "rse": "NUC_DISK"}, {"dataset": "mc.1", "rse": "T2B_DISK"}]

    def test_users_tasks_go_where_their_input_is(self, run, state, tmp_path):
        """Of the two queues with the input one is offline; the task without memory anywhere waits 20 minutes."""
        tasks = [self.USER | {"jediTaskID": 1}, self.USER | {"jediTaskID": 2, "ramCount": 900_000}]
        fill(run, state, tmp_path, tasks=tasks, replicas=self.REPLICAS)
        ended = run("--state", state, "broker", "run", "--json", "--now", NOW)
        assert ended.code == 0, ended.err
        document = json.loads(ended.out)
        found = {task["task"]: task for task in document["tasks"]}
        assert (found[1]["activity"], found[1]["status"], found[1]["queues"]) == ("analysis", "assigned", ["NUCLEUS_Q"])
        assert (found[2]["status"], found[2]["retry_time"]) == ("pending", NOW + 1200)

    def test_a_user_over_the_cap_waits_without_aging(self, run, state, tmp_path):
        users = [{"name": "jane", "nRunJobs": 11}]
        fill(run, state, tmp_path, tasks=[self.USER | {"jediTaskID": 1}], replicas=self.REPLICAS, users=users)
        run("--state", state, "broker", "config", "set", "prio_mgr.CAP_RUNNING_USER_JOBS", 10, "--now", NOW)
        ended = run("--state", state, "broker", "run", "--json", "--now", NOW)
        task = json.loads(ended.out)["tasks"][0]
        assert (task["status"], task["reason"]) == ("waiting", "cap_running_jobs")
