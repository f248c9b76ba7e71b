"""``negotiator.large_job_patience``: a machine is promised to a large job, and smaller ones use it until then."""

import json
from pathlib import Path

import pytest

T = 1_795_000_000
HOUR = 3600


@pytest.fixture
def pool(run, state):
    """Two machines of four cores; ann's jobs of one core end each half hour, big's needs a whole machine."""
    Path(f"{state}.toml").write_text('[negotiator]\nlarge_job_patience = "10m"\n')

    def fairq(*words):
        return run("--state", state, *words)

    fairq("slots", "add", "a", "--cpus", 4, "--partitionable", "--now", T)
    return fairq


def submit(pool, user, cpus, time, count, at):
    limit = () if time is None else ("--time", time)
    ended = pool("submit", "--accounting-group-user", user, "--cpus", cpus, *limit, "--count", count, "--now", at,
                 "--", "/bin/true")  # fmt: skip
    assert ended.code == 0, ended.err


def cycle(pool, at):
    ended = pool("negotiate", "--no-launch", "--now", at)
    assert ended.code == 0, ended.err
    return ended


def running(pool, at):
    found = json.loads(pool("queue", "--running", "--procs", "--now", at, "--json").out)
    return sorted(f"{job['ClusterId']}.{job['ProcId']} {job['RemoteHost'].partition('@')[2]}" for job in found)


def reservations(pool, at):
    return json.loads(pool("slots", "reservations", "--now", at, "--json").out)


@pytest.fixture
def busy(pool):
    """All cores are in use: those of a until T + 1 h, those of b until T + 2 h; job 3.0 waits for a whole machine."""
    submit(pool, "ann", 1, HOUR, 4, T)
    cycle(pool, T)
    pool("slots", "add", "b", "--cpus", 4, "--partitionable", "--now", T)
    submit(pool, "ann", 1, 2 * HOUR, 4, T)
    cycle(pool, T + 1)
    submit(pool, "big", 4, HOUR, 1, T + 2)
    return pool


def test_the_machine_that_is_free_first_is_promised_and_kept(busy):
    assert "promised" not in cycle(busy, T + 60).err
    # A job that has waited so long is promised the machine that is free first.
    assert "slot1@a is promised to job 3.0; it may be free at" in cycle(busy, T + 602).err
    (promise,) = reservations(busy, T + 603)
    assert (promise["slots"], promise["begin_time"], promise["job"]) == (["slot1@a"], T + HOUR, "3.0")
    # Two cores of a are free early: only a job that ends in time gets one, and no job without a limit.
    busy("finish", "1.0", "1.1", "--now", T + 700)
    submit(busy, "bob", 1, None, 1, T + 700)
    submit(busy, "bob", 1, 2900, 1, T + 700)
    submit(busy, "bob", 1, 600, 1, T + 700)
    cycle(busy, T + 701)
    assert [job for job in running(busy, T + 701) if job.startswith(("4", "5", "6"))] == ["6.0 a"]
    assert "promised to job 3.0" in " ".join(busy("why", "4.0", "--now", T + 702).out.split())
    assert "slot1@a is promised to it" in " ".join(busy("why", "3.0", "--now", T + 702).out.split())
    # The promise stays the same until the job starts, and is given up then.
    (kept,) = reservations(busy, T + 702)
    assert (kept["number"], kept["begin_time"], kept["slots"]) == (1, T + HOUR, ["slot1@a"])
    busy("finish", "1.2", "1.3", "6.0", "--now", T + 1300)
    cycle(busy, T + 1301)
    assert "3.0 a" in running(busy, T + 1302)
    assert reservations(busy, T + 1302) == []


def test_without_the_setting_smaller_jobs_take_every_core(busy, state):
    Path(f"{state}.toml").write_text("")
    submit(busy, "bob", 1, None, 1, T + 3)
    cycle(busy, T + 602)
    assert reservations(busy, T + 603) == []
    busy("finish", "1.0", "--now", T + 700)
    cycle(busy, T + 701)
    assert "4.0 a" in running(busy, T + 701)


def test_a_promise_is_given_up_when_the_job_or_the_machine_goes(busy):
    cycle(busy, T + 602)
    assert "slot1@a is promised to it" in busy("why", "3.0", "--now", T + 603).out
    busy("slots", "drain", "slot1@a", "--now", T + 603)
    assert "promised" not in busy("why", "3.0", "--now", T + 603).out
    assert "slot1@b is promised" in cycle(busy, T + 604).err
    busy("remove", "3.0", "--now", T + 605)
    cycle(busy, T + 606)
    assert reservations(busy, T + 607) == []


def test_a_promise_is_over_as_soon_as_its_job_waits_no_more(busy):
    cycle(busy, T + 602)
    busy("hold", "3.0", "--now", T + 603)
    assert reservations(busy, T + 604) == []
    busy("release", "3.0", "--now", T + 605)
    assert [one["job"] for one in reservations(busy, T + 606)] == ["3.0"]
    busy("remove", "3.0", "--now", T + 607)
    assert reservations(busy, T + 608) == []
    # The next cycle gives the machine to others.
    submit(busy, "bob", 1, None, 1, T + 608)
    busy("finish", "1.0", "--now", T + 609)
    cycle(busy, T + 610)
    assert "4.0 a" in running(busy, T + 611)
    ended = [one for one in json.loads(busy("state", "history", "--json").out) if one["subject"] == "reservation 1"]
    assert [one["after"] is None for one in ended] == [False, True]


def test_another_machine_is_promised_once_the_job_outgrows_its_own(busy):
    # A machine that is off has no room for anybody.
    busy("slots", "add", "off", "--cpus", 8, "--partitionable", "--attribute", "Offline=true", "--now", T + 3)
    cycle(busy, T + 602)
    assert [one["slots"] for one in reservations(busy, T + 603)] == [["slot1@a"]]
    busy("slots", "add", "c", "--cpus", 8, "--partitionable", "--now", T + 603)
    submit(busy, "ann", 1, 3 * HOUR, 8, T + 603)
    busy("hold", "3.0", "--now", T + 603)
    cycle(busy, T + 604)
    busy("release", "3.0", "--now", T + 605)
    busy("edit", "3.0", "--cpus", 8, "--now", T + 605)
    cycle(busy, T + 1300)
    (promise,) = reservations(busy, T + 1301)
    assert (promise["slots"], promise["job"]) == (["slot1@c"], "3.0")
    busy("edit", "3.0", "--cpus", 99, "--now", T + 1302)
    cycle(busy, T + 1303)
    assert reservations(busy, T + 1304) == []


def test_a_machine_is_not_kept_for_a_job_that_a_limit_stops(busy, state):
    cycle(busy, T + 602)
    (big,) = {line for line in busy("queue", "--order", "--af", "submitter").out.split() if line.startswith("big")}
    busy("userprio", "--setceiling", big, 0, "--now", T + 603)
    cycle(busy, T + 604)
    assert len(reservations(busy, T + 605)) == 1
    cycle(busy, T + HOUR)
    assert reservations(busy, T + HOUR) == []


def test_a_job_of_one_core_is_promised_nothing(busy):
    busy("remove", "3.0", "--now", T + 3)
    submit(busy, "bob", 1, None, 1, T + 3)
    assert "promised" not in cycle(busy, T + 5000).err


def test_a_foreign_attribute_gives_no_right_to_a_promised_machine(busy):
    cycle(busy, T + 602)
    busy(
        "submit", "--accounting-group-user", "eve", "--attribute", "Reservation=1", "--now", T + 603, "--", "/bin/true"
    )
    busy("finish", "1.0", "--now", T + 604)
    cycle(busy, T + 605)
    assert not [job for job in running(busy, T + 606) if job.startswith("4.")]


def test_a_forecast_knows_promises_that_are_and_that_will_be_made(busy):
    submit(busy, "bob", 1, 3 * HOUR, 20, T + 3)
    (start,) = [
        job for job in json.loads(busy("queue", "--start", "--now", T + 4, "--json").out) if job["ClusterId"] == 3
    ]
    assert T + HOUR <= start["EstimatedStart"] <= T + HOUR + 64
