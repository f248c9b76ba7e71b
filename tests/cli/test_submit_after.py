"""Jobs that wait for other jobs: after, after_ok and after_failed."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def fairq(run, state):
    """Run a command on a pool with two slots and no launcher."""

    def ended(*words, code=0):
        found = run("--state", state, *words)
        assert found.code == code, found.err
        return found

    ended("slots", "add", "a", "--count", "2")
    return ended


def submit(fairq, *words):
    return fairq("submit", *words, "--", "/bin/true")


def statuses(fairq):
    """Return of each job in the queue what it waits for, or else its status."""
    found = json.loads(fairq("queue", "--json", "--procs").out)
    words = {1: "idle", 2: "running", 5: "held"}
    return {f"{one['ClusterId']}.{one['ProcId']}": one.get("WaitsFor", words[one["JobStatus"]]) for one in found}


def end(fairq, job, code=0):
    """Run a job in the next cycle, and end it."""
    fairq("negotiate")
    fairq("finish", job, "--exit-code", str(code))


@pytest.mark.parametrize(
    ("option", "code", "then"),
    [
        ("--after", 0, "idle"), ("--after", 3, "idle"), ("--after-ok", 0, "idle"), ("--after-ok", 3, "held"),
        ("--after-failed", 0, "held"), ("--after-failed", 3, "idle"),
    ],
)  # fmt: skip
def test_a_job_waits_until_another_one_has_ended(fairq, option, code, then):
    submit(fairq)
    submit(fairq, option, "1")
    assert statuses(fairq) == {"1.0": "idle", "2.0": f"{option[2:].replace('-', '_')} 1"}
    fairq("negotiate")
    assert statuses(fairq)["2.0"] != "running"
    fairq("finish", "1.0", "--exit-code", str(code))
    assert statuses(fairq) == {"2.0": then}
    if then == "held":
        assert "can never come true" in fairq("queue", "--held").out


@pytest.mark.parametrize(("option", "then"), [("--after", "idle"), ("--after-ok", "held"), ("--after-failed", "idle")])
def test_a_removed_job_has_failed_and_undo_lets_its_followers_wait_again(fairq, option, then):
    submit(fairq)
    submit(fairq, option, "1")
    before = statuses(fairq)
    fairq("remove", "1")
    assert statuses(fairq) == {"2.0": then}
    fairq("undo")
    assert statuses(fairq) == before


def test_a_removal_is_not_undone_once_a_follower_has_started(fairq):
    submit(fairq)
    submit(fairq, "--after", "1")
    fairq("remove", "1")
    fairq("negotiate")
    assert "job 2.0, which waited for it, has started since" in fairq("undo", code=103).err


def test_a_submission_with_followers_is_not_undone(fairq):
    submit(fairq)
    submit(fairq, "--after", "1")
    number = json.loads(fairq("state", "history", "--json").out)[2]["number"]
    assert "job 2.0 waits for it" in fairq("undo", str(number), code=103).err
    fairq("undo")
    fairq("undo")
    assert statuses(fairq) == {}


def test_all_jobs_of_a_cluster_count(fairq):
    submit(fairq, "--count", "2", "--name", "batch")
    submit(fairq, "--after-ok", "batch")
    submit(fairq, "--after-ok", "1.1")
    end(fairq, "1.1")
    assert statuses(fairq) == {"1.0": "running", "2.0": "after_ok 1", "3.0": "idle"}
    fairq("finish", "1.0")
    assert statuses(fairq) == {"2.0": "idle", "3.0": "idle"}


def test_conditions_of_a_description_may_differ_from_job_to_job(fairq, tmp_path):
    submit(fairq, "--count", "2")
    description = tmp_path / "after.sub"
    description.write_text("executable = /bin/true\nafter_ok = 1.$(Process)\nqueue 2\n")
    fairq("submit", str(description), "--after", "1.0")
    assert statuses(fairq)["2.0"] == "after 1.0, after_ok 1.0"
    end(fairq, "1.1")
    assert statuses(fairq) == {"1.0": "running", "2.0": "after 1.0, after_ok 1.0", "2.1": "after 1.0"}


def test_what_the_history_forgets_changes_nothing(fairq, state):
    submit(fairq, "--count", "2")
    submit(fairq, "--after-failed", "1")
    end(fairq, "1.0", 1)
    fairq("negotiate", "--now", "+500d")
    fairq("negotiate", "--now", "+501d")
    assert "no jobs" in fairq("history").out or "1.0" not in fairq("history").out
    fairq("finish", "1.1", "--now", "+502d")
    assert statuses(fairq) == {"2.0": "idle"}


def test_conditions_on_jobs_that_have_ended(fairq):
    submit(fairq, "--name", "bad")
    end(fairq, "1.0", 7)
    submit(fairq, "--after", "1")
    assert "job 3.0 is held: after_ok 1 can never come true" in submit(fairq, "--after-ok", "bad").err
    submit(fairq, "--after-failed", "bad")
    assert statuses(fairq) == {"2.0": "idle", "3.0": "held", "4.0": "idle"}


def test_a_job_held_in_vain_runs_once_it_is_released(fairq):
    submit(fairq)
    submit(fairq, "--after-ok", "1")
    fairq("remove", "1")
    assert "run it all the same with 'fairq release 2.0'" in fairq("why", "2.0").out
    fairq("release", "2")
    assert statuses(fairq) == {"2.0": "idle"}


def test_a_waiting_job_that_is_held_and_released_waits_again(fairq):
    submit(fairq)
    submit(fairq, "--after", "1")
    fairq("hold", "2")
    fairq("release", "2")
    assert statuses(fairq)["2.0"] == "after 1"
    assert "Job 2.0 is in no cycle yet, because it waits: after 1." in fairq("why", "2").out
    fairq("hold", "2")
    fairq("remove", "1")
    assert statuses(fairq) == {"2.0": "held"}
    fairq("release", "2")
    assert statuses(fairq) == {"2.0": "idle"}


@pytest.mark.parametrize("name", ["99", "1.0-5", "1.7", "nobody"])
def test_jobs_that_nobody_knows(fairq, name):
    submit(fairq)
    assert name in fairq("submit", "--after", name, "--", "/bin/true", code=30 if name[0].isdigit() else 35).err
    assert list(statuses(fairq)) == ["1.0"]


def test_the_whole_state_as_a_document(fairq, run, tmp_path):
    submit(fairq)
    submit(fairq, "--after-ok", "1")
    document = tmp_path / "pool.json"
    document.write_text(fairq("export").out)
    other = tmp_path / "other.db"
    assert run("--state", other, "import", str(document)).code == 0
    assert json.loads(run("--state", other, "export").out) == json.loads(document.read_text())
    run("--state", other, "negotiate")
    run("--state", other, "finish", "1.0")
    assert json.loads(run("--state", other, "queue", "--json").out)[0]["JobStatus"] == 1
    assert "WaitsFor" not in run("--state", other, "queue", "--json").out


def test_the_queue_says_what_each_job_waits_for(fairq):
    submit(fairq)
    submit(fairq, "--after", "1")
    lines = fairq("queue").out.splitlines()
    assert "WAITS_FOR" in lines[0]
    assert "the cycle" in lines[1]
    assert "after 1" in lines[2]
    assert lines[-1].endswith("1 waiting")
    assert statuses(fairq) == {"1.0": "idle", "2.0": "after 1"}
    assert [job["ProcId"] for job in json.loads(fairq("queue", "--idle", "--json").out)] == [0, 0]


def test_a_job_does_not_start_before_its_time(fairq):
    now = "2026-03-01T21:00"
    submit(fairq, "--begin", "20:00", "--now", now)
    submit(fairq, "--begin", "+1h", "--now", now)
    submit(fairq, "--begin", "2026-03-01", "--now", now)
    assert statuses(fairq) == {"1.0": "2026-03-02 20:00:00", "2.0": "2026-03-01 22:00:00", "3.0": "idle"}
    assert json.loads(fairq("negotiate", "--now", "2026-03-01T21:59:59", "--json").out)["matches"][0]["job"] == "3.0"
    assert json.loads(fairq("negotiate", "--now", "2026-03-01T22:00", "--json").out)["matches"][0]["job"] == "2.0"
    assert statuses(fairq)["1.0"] == "2026-03-02 20:00:00"


def test_a_time_and_another_job(fairq):
    now = "2026-03-01T21:00"
    submit(fairq, "--now", now)
    submit(fairq, "--begin", "+1h", "--after", "1", "--now", now)
    assert statuses(fairq)["2.0"] == "after 1"
    fairq("remove", "1", "--now", now)
    assert statuses(fairq) == {"2.0": "2026-03-01 22:00:00"}
    fairq("negotiate", "--now", "2026-03-01T22:00")
    assert statuses(fairq) == {"2.0": "running"}


def test_at_most_so_many_of_them_run(fairq):
    fairq("slots", "add", "b", "--count", "8")
    submit(fairq, "--count", "6", "--max-running", "2")
    assert list(statuses(fairq).values()) == ["idle"] * 2 + ["its limit of 2 running"] * 4
    fairq("negotiate")
    fairq("negotiate")
    assert list(statuses(fairq).values()) == ["running"] * 2 + ["its limit of 2 running"] * 4
    fairq("finish", "1.0")
    fairq("negotiate")
    assert list(statuses(fairq).values()) == ["running"] * 2 + ["its limit of 2 running"] * 3
    fairq("hold", "1.1")
    fairq("negotiate")
    assert list(statuses(fairq).values()) == ["held"] + ["running"] * 2 + ["its limit of 2 running"] * 2
    fairq("release", "1.1")
    assert statuses(fairq)["1.1"] == "its limit of 2 running"


@pytest.mark.parametrize(
    ("command", "first", "later"), [("max_idle = 1", "WWW", "RIW"), ("max_materialize = 2", "IWW", "RRW")]
)
def test_at_most_so_many_are_idle_or_in_the_queue(fairq, tmp_path, command, first, later):
    description = tmp_path / "many.sub"
    description.write_text(f"executable = /bin/true\n{command}\nqueue 3\n")
    fairq("submit", str(description))
    found = statuses(fairq)
    idle = sum(text == "idle" for text in found.values())
    assert idle == (1 if "max_idle" in command else 2)
    fairq("negotiate")
    fairq("negotiate")
    running = sum(text == "running" for text in statuses(fairq).values())
    assert running == 2
    assert "its limit of" in statuses(fairq)["1.2"]


@pytest.mark.parametrize("words", [("--begin", "soon"), ("--max-running", "0"), ("--begin", "1969-01-01")])
def test_wrong_times_and_caps(fairq, words):
    code = 2 if words[0] == "--max-running" else 32
    fairq("submit", *words, "--", "/bin/true", code=code)


def test_a_terminal_with_colours_shows_jobs_that_wait(run, state, monkeypatch):
    run("--state", state, "submit", "--", "/bin/true")
    run("--state", state, "submit", "--after", "1", "--", "/bin/true")
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = run("--state", state, "queue")
    assert shown.code == 0, shown.err
    assert "\x1b[33mI" in shown.out and "\x1b[34mW" in shown.out


def test_a_description_may_follow_the_jobs_that_it_waits_for(fairq, tmp_path):
    submit(fairq)
    (tmp_path / "next.sub").write_text("executable = /bin/true\nqueue\n")
    fairq("submit", "--after-ok", "1", tmp_path / "next.sub")
    assert statuses(fairq) == {"1.0": "idle", "2.0": "after_ok 1"}


def test_a_batch_is_explained_by_its_name_and_named_where_only_an_owner_fits(fairq):
    submit(fairq, "--name", "sweep")
    assert fairq("why", "sweep").out.startswith("Job 1.0 waits only for the next cycle")
    assert "(it names a batch: --name sweep)" in fairq("remove", "sweep", code=35).err
