"""``--out``: what an operator's script has to do in PanDA; and ``fairq broker diff``."""

import csv
import json
import shutil

import pytest
from tests.cli.broker_sample import NOW, POOL, TASK, fill
from tests.grid.published import iso

JOBS = [
    {"PandaID": 7, "jobStatus": "activated", "computingSite": "U8", "jediTaskID": 1, "modificationTime": NOW - 200_000},
    {"PandaID": 8, "jobStatus": "running", "computingSite": "U8", "jediTaskID": 1, "modificationTime": NOW - 90_000},
    {"PandaID": 9, "jobStatus": "pending", "creationTime": NOW - 9000, "modificationTime": NOW - 60},
]


@pytest.fixture
def pool(run, state, tmp_path):
    fill(run, state, tmp_path, jobs=JOBS)
    return state


def written(run, state, out, *words):
    ended = run("--state", state, "broker", *words, "--out", out, "--now", NOW)
    assert ended.code == 0, ended.err
    return dict(json.loads(out.read_text()))


def calls(actions):
    return [(one["call"]["path"], one["call"]["data"]) for one in actions if one["call"]]


class TestRun:
    def test_a_task_is_assigned_with_a_call_that_names_unified_queues_as_a_whole(self, run, pool, tmp_path):
        found = written(run, pool, tmp_path / "a.json", "run")
        assert (found["source"], found["cycle"], found["applied"]) == ("broker run", 1, True)
        assert [len(found[name]) for name in ("assignments", "rebrokerages", "closures")] == [1, 0, 0]
        data = {"task_id": 1, "site": "NUCLEUS_Q,U8", "mode": "nokill"}
        ((path, sent),) = calls(found["assignments"])
        assert (path, {**sent, "site": ",".join(sorted(sent["site"].split(",")))}) == ("/api/v1/task/reassign", data)
        assert (found["assignments"][0]["before"], found["assignments"][0]["after"]) == ("ready", "assigned")

    def test_it_is_the_same_again_and_as_a_dry_run_tells(self, run, pool, tmp_path):
        shutil.copy(pool, tmp_path / "again.db")
        dry = written(run, pool, tmp_path / "dry.json", "run", "--dry-run")
        first = written(run, pool, tmp_path / "a.json", "run")
        written(run, tmp_path / "again.db", tmp_path / "b.json", "run")
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
        assert dry == {**first, "applied": False}

    def test_a_task_that_had_queues_is_brokered_anew_and_one_given_up_ends(self, run, pool, tmp_path):
        written(run, pool, tmp_path / "a.json", "run")
        old = {"jediTaskID": 2, "frozenTime": NOW - 30 * 86400, "status": "pending"}
        (tmp_path / "t.json").write_text(json.dumps([TASK | {"ramCount": 900_000} | old]))
        assert run("--state", pool, "broker", "tasks", "import", tmp_path / "t.json").code == 0
        found = written(run, pool, tmp_path / "b.json", "run", "--all")
        assert [one["task"] for one in found["rebrokerages"]] == [1]
        assert calls(found["closures"]) == [("/api/v1/task/finish", {"task_id": 2, "soft": True})]
        assert "lowmemory" in found["closures"][0]["reason"]

    def test_a_stored_run_gives_its_file_once_more(self, run, pool, tmp_path):
        """An operator's script that failed can go on, whatever was brokered since."""
        first = written(run, pool, tmp_path / "a.json", "run")
        old = {"jediTaskID": 2, "frozenTime": NOW - 30 * 86400, "status": "pending"}
        (tmp_path / "t.json").write_text(json.dumps([TASK | {"ramCount": 900_000} | old]))
        assert run("--state", pool, "broker", "tasks", "import", tmp_path / "t.json").code == 0
        second = written(run, pool, tmp_path / "b.json", "run", "--all")
        for number, document in ((1, first), (2, second)):
            again = tmp_path / "again.json"
            assert run("--state", pool, "broker", "run", "--again", number, "--out", again).code == 0
            assert json.loads(again.read_text()) == document
        assert run("--state", pool, "broker", "run", "--again", 3, "--out", tmp_path / "c.json").code == 118
        assert run("--state", pool, "broker", "run", "--again", 1).code == 2

    def test_a_file_that_cannot_be_written_keeps_everything_as_it_was(self, run, pool, tmp_path):
        before = pool.read_bytes()
        ended = run("--state", pool, "broker", "run", "--out", tmp_path / "none" / "a.json", "--now", NOW)
        assert (ended.code, pool.read_bytes()) == (50, before)
        assert "a.json cannot be written: no such file or directory; name another file with --out" in ended.err

    def test_a_name_that_tells_no_form_is_refused(self, run, pool):
        ended = run("--state", pool, "broker", "run", "--out", "actions.txt")
        assert (ended.code, "give a file whose name ends in .json or .csv" in ended.err) == (2, True)


class TestTimeouts:
    def test_jobs_are_closed_by_a_call_and_failed_by_an_update(self, run, pool, tmp_path):
        found = written(run, pool, tmp_path / "a.json", "timeouts", "--apply")
        assert found["applied"]
        assert calls(found["rebrokerages"]) == [
            ("/api/v1/job/kill", {"job_ids": [7], "code": 51, "kill_options": ["keepUnmerged"]})
        ]
        assert ("/api/v1/job/kill", {"job_ids": [9], "code": 4, "kill_options": []}) in calls(found["closures"])
        (update,) = [one["update"] for one in found["closures"] if one["update"]]
        assert (update["table"], update["where"]) == ("ATLAS_PANDA.JOBSACTIVE4", {"PandaID": 8, "jobStatus": "running"})
        at = iso(NOW)
        assert update["set"] == {
            "jobStatus": "failed", "endTime": at, "stateChangeTime": at, "jobDispatcherErrorCode": 100
        }  # fmt: skip

    def test_csv_has_an_action_a_row(self, run, pool, tmp_path):
        found = written(run, pool, tmp_path / "a.json", "timeouts")
        assert run("--state", pool, "broker", "timeouts", "--out", tmp_path / "a.csv", "--now", NOW).code == 0
        rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
        assert [(row["list"], row["job"]) for row in rows] == [
            (name, str(one["job"])) for name in ("rebrokerages", "closures") for one in found[name]
        ]
        assert json.loads(rows[0]["data"]) == found["rebrokerages"][0]["call"]["data"]

    def test_without_apply_the_document_says_that_nothing_was_done(self, run, pool, tmp_path):
        assert not written(run, pool, tmp_path / "a.json", "timeouts")["applied"]


class TestDiff:
    def test_it_says_what_changed_and_why(self, run, pool, tmp_path):
        assert run("--state", pool, "broker", "run", "--now", NOW).code == 0
        queues = [{**POOL["queues"][0], "status": "offline"}, {**POOL["queues"][4]}]
        (tmp_path / "q.json").write_text(json.dumps(queues))
        (tmp_path / "p.json").write_text(json.dumps([{"queue": "IDLE", "getJob": 5}]))
        for kind, name in (("queues", "q.json"), ("pilots", "p.json")):
            assert run("--state", pool, "broker", kind, "import", tmp_path / name).code == 0
        assert run("--state", pool, "broker", "run", "--all", "--now", NOW + 60).code == 0
        found = json.loads(run("--state", pool, "broker", "diff", 1, 2, "--json").out)
        (task,) = found["tasks"]
        assert (task["task"], task["gained"], task["lost"], found["unchanged"]) == (1, ["IDLE"], ["NUCLEUS_Q"], 1)
        told = {one["queue"]: one for one in task["queues"]}
        assert (told["NUCLEUS_Q"]["before"]["reason"], told["NUCLEUS_Q"]["after"]["reason"]) == ("", "status")
        assert (told["IDLE"]["before"]["reason"], told["IDLE"]["after"]["place"] is None) == ("nopilot", False)
        shown = run("--state", pool, "broker", "diff", 1, 2).out
        assert "1 task changed, 1 did not" in shown
        assert "-NUCLEUS_Q status, +IDLE nopilot" in shown

    def test_two_runs_that_decided_alike_have_no_difference(self, run, pool):
        for later in (0, 60):
            assert run("--state", pool, "broker", "run", "--all", "--now", NOW + later).code == 0
        ended = run("--state", pool, "broker", "diff", 1, 2)
        assert (ended.code, "0 tasks changed, 2 did not" in ended.out) == (0, True)

    def test_a_task_that_came_later_and_one_that_was_left_alone(self, run, pool, tmp_path):
        assert run("--state", pool, "broker", "run", "--now", NOW).code == 0
        (tmp_path / "t.json").write_text(json.dumps([TASK | {"jediTaskID": 3}]))
        assert run("--state", pool, "broker", "tasks", "import", tmp_path / "t.json").code == 0
        assert run("--state", pool, "broker", "run", "--now", NOW + 60).code == 0
        found = json.loads(run("--state", pool, "broker", "diff", 1, 2, "--json").out)
        assert [(one["task"], one["before"]) for one in found["tasks"]] == [(3, None)]
        assert found["unchanged"] == 2

    def test_a_run_that_is_not_stored_is_named(self, run, pool):
        ended = run("--state", pool, "broker", "diff", 1, 2)
        assert (ended.code, "no brokerage run 1 is stored; start one with 'fairq broker run'" in ended.err) == (
            118,
            True,
        )
        assert run("--state", pool, "broker", "run", "--now", NOW).code == 0
        assert "no brokerage run 2 is stored; give one of 1" in run("--state", pool, "broker", "diff", 1, 2).err
