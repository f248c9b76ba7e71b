"""``fairq broker timeouts``: what is shown, what is done, and that it is done whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.broker_sample import fill

NOW = 1_795_210_080
HOUR = 3600

QUEUES = {
    "Q": {"status": "online", "workflow": "pull_ups", "type": "unified", "cloud": "DE"},
    "PUSH": {"status": "online", "workflow": "push", "type": "unified", "cloud": "DE"},
    "PAUSED": {"status": "paused", "type": "unified", "cloud": "DE"},
    "STAY": {"status": "online", "catchall": "disableReassign", "type": "unified", "cloud": "DE"},
}

JOBS: list[dict[str, Any]] = [
    {"PandaID": 1, "jobStatus": "running", "computingSite": "Q", "jediTaskID": 7, "modified": NOW - 3 * HOUR},
    {"PandaID": 2, "jobStatus": "running", "computingSite": "PUSH", "modified": NOW - 3 * HOUR},
    {"PandaID": 3, "jobStatus": "running", "computingSite": "PAUSED", "modified": NOW - 3 * HOUR},
    {"PandaID": 4, "jobStatus": "activated", "computingSite": "Q", "jediTaskID": 7, "modified": NOW - 50 * HOUR},
    {"PandaID": 5, "jobStatus": "defined", "computingSite": "STAY", "jediTaskID": 7, "modified": NOW - 5 * HOUR},
    {"PandaID": 6, "jobStatus": "pending", "creationTime": "2026-11-20T19:00:00", "jediTaskID": 8},
    {"PandaID": 7, "jobStatus": "running", "computingSite": "Q", "modified": NOW - HOUR},
    {"PandaID": 8, "jobStatus": "failed", "computingSite": "Q", "modified": NOW - 900 * HOUR},
]


@pytest.fixture
def broker(run, state, tmp_path):
    def broker(*words):
        return run("--state", state, "broker", *words)

    tasks = [{"jediTaskID": 7, "status": "assigned"}, {"jediTaskID": 8, "status": "pending", "retryTime": NOW + 60}]
    for kind, content in (("queues", QUEUES), ("jobs", JOBS), ("tasks", tasks)):
        file = tmp_path / f"{kind}.json"
        file.write_text(json.dumps(content))
        assert broker(kind, "import", str(file)).code == 0
    assert broker("config", "set", "HEARTBEAT_TIMEOUT_push", "24").code == 0
    return broker


def cleaned(broker, *words):
    ended = broker("timeouts", "--now", str(NOW), "--json", *words)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def rows(document):
    return {job["panda_id"]: job["row"] for job in document["jobs"]}


def test_it_lists_what_would_happen_with_row_age_and_limit(broker):
    document = cleaned(broker)
    assert (document["rules"], document["applied"], document["time"]) == ("documented", False, NOW)
    assert rows(document) == {1: "heartbeat", 6: "pending", 4: "activated"}
    first = document["jobs"][0]
    assert {name: first[name] for name in ("age", "limit", "since", "action", "code", "becomes")} == {
        "age": 3 * HOUR, "limit": 2 * HOUR, "since": "modified", "action": "fail", "code": 100, "becomes": "failed",
    }  # fmt: skip
    assert {job["panda_id"]: job["exempt"] for job in document["exempt"]} == {3: "paused", 5: "disableReassign"}
    assert [(row["row"], row["jobs"]) for row in document["rows"]] == [
        ("heartbeat", 1), ("pending", 1), ("activated", 1),
    ]  # fmt: skip


def test_people_see_a_table_and_nothing_is_changed(broker, state):
    before = state.read_bytes()
    ended = broker("timeouts", "--now", str(NOW), "-v")
    lines = ended.out.splitlines()
    assert lines[0] == "3 jobs to end, rules documented"
    assert lines[1].split() == [
        "Job",
        "State",
        "Queue",
        "Share",
        "Label",
        "Prio",
        "Row",
        "Age",
        "Limit",
        "Action",
        "Code",
    ]
    assert lines[2].split() == [
        "1",
        "running",
        "Q",
        "managed",
        "0",
        "heartbeat",
        "0+03:00:00",
        "0+02:00:00",
        "fail",
        "100",
    ]
    assert "job 3 is exempt from heartbeat: its queue is paused" in ended.err
    assert "job 5 is exempt from defined: its queue is marked disableReassign" in ended.err
    assert "no changes; add --apply to make them" in ended.err
    assert state.read_bytes() == before


def test_apply_ends_the_jobs_and_sends_tasks_back_to_brokerage(broker):
    document = cleaned(broker, "--apply")
    assert (document["applied"], document["tasks"]) == (True, [7])
    jobs = {job["PandaID"]: job for job in json.loads(broker("jobs", "--json").out)}
    assert {number: job["jobStatus"] for number, job in jobs.items()} == {
        1: "failed", 2: "running", 3: "running", 4: "closed", 5: "defined", 6: "closed", 7: "running", 8: "failed",
    }  # fmt: skip
    assert (jobs[1]["endReason"], jobs[1]["endCode"], jobs[1]["endTime"]) == ("heartbeat", 100, NOW)
    assert (jobs[4]["jobSubStatus"], jobs[6]["jobSubStatus"]) == ("toreassign", "timeout")
    tasks = {task["jediTaskID"]: task for task in json.loads(broker("tasks", "--json").out)}
    assert (tasks[7]["status"], tasks[8]["status"], tasks[8]["retryTime"]) == ("ready", "pending", NOW + 60)
    (outcome,) = json.loads(broker("outcomes", "--json").out)
    assert (outcome["task"], outcome["queue"], outcome["closed"], outcome["failed"]) == (7, "Q", 1, 0)
    assert cleaned(broker)["jobs"] == []


def test_closed_jobs_add_up_at_the_queue(broker, run, state, tmp_path):
    file = tmp_path / "outcomes.json"
    file.write_text(json.dumps([{"task": 7, "queue": "Q", "closed": 2, "finished": 5}]))
    assert broker("outcomes", "import", str(file)).code == 0
    cleaned(broker, "--apply")
    (outcome,) = json.loads(broker("outcomes", "--json").out)
    assert (outcome["closed"], outcome["finished"]) == (3, 5)


def test_every_change_is_in_the_history(broker, run, state):
    cleaned(broker, "--apply")
    entries = json.loads(run("--state", state, "state", "history", "--json").out)[-4:]
    assert [entry["subject"] for entry in entries] == ["broker job 1", "broker job 6", "broker job 4", "broker task 7"]
    assert entries[0]["before"] == {"jobStatus": "running"}
    assert entries[0]["after"] == {
        "jobStatus": "failed", "row": "heartbeat", "code": 100, "age": 3 * HOUR, "limit": 2 * HOUR,
    }  # fmt: skip


def test_a_constraint_chooses_what_is_done_too(broker):
    document = cleaned(broker, "--apply", "--constraint", 'Action == "kill"')
    assert rows(document) == {6: "pending"}
    assert rows(cleaned(broker)) == {1: "heartbeat", 4: "activated"}


def test_the_rules_of_pandas_code_exempt_less(broker, run, state):
    document = cleaned(broker, "--rules", "panda")
    assert document["rules"] == "panda"
    assert rows(document) == {1: "heartbeat", 6: "pending", 4: "activated", 5: "defined"}
    assert [job["panda_id"] for job in document["exempt"]] == [3]
    assert run("--state", state, "config", "set", "broker.rules", "panda").code == 0
    assert rows(cleaned(broker)) == rows(document)
    assert run("--state", state, "config", "set", "broker.pauses_stop_timeouts", "true").code == 0
    assert 5 not in rows(cleaned(broker)), "the single point wins over the rules"
    assert 5 not in rows(cleaned(broker, "--rules", "panda"))


def test_fast_rebrokerage_takes_the_oldest_of_the_excess(broker, tmp_path):
    file = tmp_path / "more.json"
    waiting = {"jobStatus": "activated", "computingSite": "Q", "gshare": "MC", "modified": NOW - 60}
    file.write_text(json.dumps([{"PandaID": 100 + number, **waiting} for number in range(12)]))
    assert broker("jobs", "import", str(file), "--replace").code == 0
    assert broker("config", "set", "FAST_REBRO_THRESHOLD_NQUEUE_MC", "10").code == 0
    document = cleaned(broker)
    assert rows(document) == {100: "fast_rebrokerage", 101: "fast_rebrokerage"}
    assert document["jobs"][0]["numbers"] == {"queued": 12, "running": 0, "total": 12, "threshold": 10, "excess": 2}
    assert rows(cleaned(broker, "--rules", "panda")) == {100: "fast_rebrokerage"}
    line = broker("timeouts", "--now", str(NOW)).out.splitlines()[2]
    assert line.endswith("12 queued, 0 running, 12 queued in the share, threshold 10, 2 too many")


def test_an_empty_state_says_so_and_stays_away(run, tmp_path):
    ended = run("--state", tmp_path / "none.db", "broker", "timeouts")
    assert (ended.code, ended.out, ended.err) == (0, "", "no job is past its time limit\n")
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_is_sent_back_is_brokered_by_the_next_run(run, tmp_path):
    state = tmp_path / "pool.db"
    job = {"PandaID": 1, "jobStatus": "defined", "computingSite": "NUCLEUS_Q", "jediTaskID": 1, "modified": NOW}
    fill(run, state, tmp_path, jobs=[job])

    def broker(*words):
        ended = run("--state", state, "broker", *words, "--json")
        assert ended.code == 0, ended.err
        return json.loads(ended.out)

    assert [task["task"] for task in broker("run", "--now", NOW)["tasks"]] == [1, 2]
    assert broker("run", "--now", NOW + 60)["tasks"] == []
    assert broker("timeouts", "--apply", "--now", NOW + 5 * HOUR)["tasks"] == [1]
    assert 1 in [task["task"] for task in broker("run", "--now", NOW + 5 * HOUR)["tasks"]]
