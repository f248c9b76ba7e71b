"""Jobs that start at a set time: deferral_time and cron."""

import json
from pathlib import Path

import pytest
from tests.launch.conftest import until

TEXT = "executable = /bin/date\narguments = +%s\noutput = out\n"


@pytest.fixture
def fairq(run, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "UTC")

    def ended(*words, code=0):
        found = run("--state", state, *words)
        assert found.code == code, found.err
        return found

    ended("slots", "add", "a", "--count", "2")
    return ended


def job(fairq):
    (found,) = json.loads(fairq("queue", "--json").out)
    return found.get("WaitsFor", found["JobStatus"])


def submit(fairq, lines, now):
    Path("job.sub").write_text(f"{TEXT}{lines}\nqueue\n")
    fairq("submit", "job.sub", "--now", now)


def test_a_job_is_matched_shortly_before_its_time(fairq):
    submit(fairq, "deferral_time = QDate + 3600", "2026-03-01 10:00")
    assert job(fairq) == "2026-03-01 10:55:00"
    fairq("negotiate", "--now", "2026-03-01 10:54:59")
    assert job(fairq) == "2026-03-01 10:55:00"
    fairq("negotiate", "--now", "2026-03-01 10:55")
    assert job(fairq) == 2


def test_preparation_and_window(fairq):
    submit(fairq, "deferral_time = QDate + 3600\ndeferral_prep_time = 60\ndeferral_window = 30", "2026-03-01 10:00")
    assert job(fairq) == "2026-03-01 10:59:00"
    fairq("slots", "drain", "slot1@a", "slot2@a")
    fairq("negotiate", "--now", "2026-03-01 11:00:30")
    assert job(fairq) == 1
    fairq("negotiate", "--now", "2026-03-01 11:00:31")
    assert job(fairq) == 5
    assert json.loads(fairq("queue", "--json").out)[0]["HoldReasonCode"] == 20


def test_a_schedule_waits_for_its_next_time_when_it_is_released(fairq):
    submit(fairq, "cron_minute = 0\ncron_hour = 6,18\non_exit_remove = false", "2026-03-01 10:00")
    assert job(fairq) == "2026-03-01 17:55:00"
    fairq("slots", "drain", "slot1@a", "slot2@a")
    fairq("negotiate", "--now", "2026-03-01 18:01")
    assert job(fairq) == 5
    fairq("release", "1", "--now", "2026-03-01 19:00")
    assert job(fairq) == "2026-03-02 05:55:00"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("cron_minute = 60", "line 4: invalid cron_minute: 60; give numbers from 0 to 59"),
        ("cron_month = 2\ncron_day_of_month = 31", "there is no such day"),
        ("deferral_time = soon(", "deferral_time"),
    ],
)
def test_wrong_times(fairq, line, problem):
    Path("job.sub").write_text(f"{TEXT}{line}\nqueue\n")
    assert problem in fairq("submit", "job.sub", code=32).err


def test_the_program_starts_at_its_time_or_not_at_all(fairq):
    fairq("slots", "add", "b", "--attribute", 'Launch="local"')
    fairq("slots", "remove", "slot1@a", "slot2@a")
    Path("job.sub").write_text(f"{TEXT}deferral_time = QDate + 2\nqueue\n")
    fairq("submit", "job.sub")
    due = json.loads(fairq("queue", "--json").out)[0]["QDate"] + 2
    fairq("run", "--until-idle", "-q")
    assert int(Path("out").read_text()) >= due
    Path("job.sub").write_text(f"{TEXT}deferral_time = QDate - 2\nqueue\n")
    fairq("submit", "job.sub")
    fairq("run", "--until-idle", "-q")
    assert job(fairq) == 5


def test_a_job_of_a_schedule_waits_for_its_next_time_after_each_run(fairq):
    fairq("slots", "add", "b", "--attribute", 'Launch="local"')
    fairq("slots", "remove", "slot1@a", "slot2@a")
    lines = "cron_minute = 30\ndeferral_window = 999999999\non_exit_remove = NumJobCompletions >= 2"
    submit(fairq, lines, "2026-03-01 10:00")
    for hour in (10, 11):
        assert job(fairq) == f"2026-03-01 {hour}:25:00"
        fairq("negotiate", "--now", f"2026-03-01 {hour}:25")
        turn = ("negotiate", "--collect-only", "--now", f"2026-03-01 {hour}:30")
        until(lambda turn=turn: "1.0" in fairq(*turn).out)
    assert json.loads(fairq("queue", "--json").out) == []
