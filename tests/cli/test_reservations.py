"""``fairq slots reserve``: slots for some users and groups, and what others may still start there."""

import json
from pathlib import Path

import pytest

T = 1_795_000_000
HOUR = 3600


@pytest.fixture
def pool(run, state):
    def fairq(*words):
        return run("--state", state, *words)

    return fairq


def submit(pool, user, *words, count=1, at=T):
    ended = pool("submit", "--accounting-group-user", user, "--count", count, "--now", at, *words, "--", "/bin/true")
    assert ended.code == 0, ended.err


def running(pool, at):
    assert pool("negotiate", "--no-launch", "--now", at).code == 0
    found = pool("queue", "--running", "--procs", "--now", at, "--json").out
    return sorted(f"{job['AcctGroupUser']} {job['RemoteHost']}" for job in json.loads(found))


def test_while_it_lasts_only_those_for_whom_it_is_start_jobs_there(pool):
    pool("slots", "add", "a", "--now", T)
    pool("slots", "add", "b", "--now", T)
    made = pool("slots", "reserve", "a", "--until", T + HOUR, "--for", "ann", "--reason", "class", "--now", T)
    assert made.code == 0 and made.out.startswith("reservation 1 is made: 1 slot from")
    submit(pool, "bob", count=2)
    assert running(pool, T) == ["bob b"]
    submit(pool, "ann")
    assert running(pool, T + 1) == ["ann a", "bob b"]
    pool("finish", "2.0", "--now", T + 2)
    assert running(pool, T + HOUR - 1) == ["bob b"]
    assert running(pool, T + HOUR) == ["bob a", "bob b"]
    assert pool("slots", "reservations", "--json", "--now", T + HOUR).out == "[]\n"


def test_groups_and_their_subgroups_may_use_it(pool, state):
    Path(f"{state}.toml").write_text(
        "[groups.teach]\nquota = 2\n[groups.teach.lab]\nquota = 1\n[groups.other]\nquota = 2\n"
    )
    pool("slots", "add", "n", "--count", 2, "--now", T)
    pool("slots", "reserve", "--all", "--for", "teach", "--now", T)
    submit(pool, "bob", "--accounting-group", "other", count=2)
    assert running(pool, T) == []
    submit(pool, "ann", "--accounting-group", "teach.lab")
    assert running(pool, T + 1) == ["ann slot1@n"]


def test_before_it_begins_only_jobs_that_end_by_then_start_there(pool):
    pool("slots", "add", "n", "--count", 4, "--now", T)
    pool("slots", "reserve", "n", "--from", T + HOUR, "--until", T + 2 * HOUR, "--for", "ann", "--now", T)
    submit(pool, "unlimited")
    submit(pool, "long", "--time", HOUR + 61)
    submit(pool, "short", "--time", HOUR - 60)
    submit(pool, "ann")
    assert [job.split()[0] for job in running(pool, T + 60)] == ["ann", "short"]
    # What ends after its end is no concern of it.
    assert len(running(pool, T + 2 * HOUR)) == 4


def test_what_runs_when_it_begins_runs_on_and_is_named(pool):
    pool("slots", "add", "n", "--now", T)
    submit(pool, "bob")
    assert running(pool, T) == ["bob n"]
    made = pool("slots", "reserve", "n", "--for", "ann", "--now", T + 10)
    assert "1.0" in made.err
    (one,) = json.loads(pool("slots", "reservations", "--json", "--now", T + 20).out)
    assert (one["status"], one["jobs_of_others"], one["users"]) == ("active", ["1.0"], ["ann"])
    assert "1.0" in pool("slots", "reservations", "--now", T + 20).out
    assert running(pool, T + 30) == ["bob n"]


def test_a_partitionable_machine_is_reserved_as_a_whole(pool):
    pool("slots", "add", "n", "--partitionable", "--cpus", 4, "--now", T)
    submit(pool, "bob")
    assert len(running(pool, T)) == 1
    pool("slots", "reserve", "n", "--for", "ann", "--now", T + 10)
    submit(pool, "bob")
    submit(pool, "ann", count=2)
    assert [job.split()[0] for job in running(pool, T + 20)] == ["ann", "ann", "bob"]


def test_reserved_slots_are_in_the_pie_of_those_who_may_use_them_and_in_quotas(pool, state):
    pool("slots", "add", "n", "--count", 10, "--now", T)
    pool("slots", "reserve", "--count", 6, "--for", "ann", "--now", T)
    for user in ("bob", "carol"):
        submit(pool, user, count=20)
    held = [job.split()[0] for job in running(pool, T)]
    assert (held.count("bob"), held.count("carol")) == (2, 2)
    submit(pool, "ann", count=20)
    held = [job.split()[0] for job in running(pool, T + 1)]
    assert (held.count("ann"), held.count("bob"), held.count("carol")) == (6, 2, 2)
    Path(f"{state}.toml").write_text("[groups.teach]\nquota_dynamic = 0.5\n")
    (teach,) = (
        group for group in json.loads(pool("quotas", "--json", "--now", T + 2).out) if group["group"] == "teach"
    )
    assert teach["quota"] == 5


def test_what_is_reserved_for_several_is_shared_by_their_priorities(pool, monkeypatch):
    """Half of the pool is for ann and dan, whose factor is three times hers: six of its eight slots are her part."""
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_PIE_SLICES", "pool_share")
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "x")
    pool("slots", "add", "n", "--count", 16, "--now", T)
    pool("slots", "reserve", "--count", 8, "--for", "ann", "--for", "dan", "--now", T)
    pool("userprio", "--setfactor", "dan@x", 3000, "--now", T)
    for user in ("ann", "ben", "dan"):
        submit(pool, user, count=20)
    cycle = json.loads(pool("negotiate", "--dry-run", "--json", "--now", T).out)
    parts = {one["submitter"]: one["limit"] for one in cycle["submitters"]}
    assert parts == pytest.approx({"ann@x": 8 * 3 / 7 + 6, "ben@x": 8 * 3 / 7, "dan@x": 8 / 7 + 2})


def test_a_number_of_slots_takes_the_free_ones_first(pool):
    pool("slots", "add", "n", "--count", 3, "--now", T)
    submit(pool, "bob")
    assert running(pool, T) == ["bob slot1@n"]
    pool("slots", "drain", "slot2@n", "--now", T)
    assert pool("slots", "reserve", "--count", 3, "--now", T).code == 98
    made = json.loads(pool("slots", "reserve", "--count", 1, "--json", "--now", T).out)
    assert made["slots"] == ["slot3@n"]
    overlapping = pool("slots", "reserve", "slot3@n", "--from", T + HOUR, "--now", T)
    assert overlapping.code == 98 and "reservation 1" in overlapping.err


def test_a_reservation_is_cancelled_and_both_can_be_undone(pool):
    pool("slots", "add", "n", "--now", T)
    pool("slots", "reserve", "n", "--for", "ann", "--now", T)
    assert pool("slots", "reserve", "--cancel", 1, "--now", T).out == "reservation 1 is cancelled\n"
    assert pool("slots", "reserve", "--cancel", 1, "--now", T).code == 98
    assert pool("undo", "--now", T).code == 0
    assert len(json.loads(pool("slots", "reservations", "--json", "--now", T).out)) == 1
    pool("slots", "reserve", "--cancel", 1, "--now", T)
    pool("slots", "reserve", "n", "--now", T)
    assert pool("undo", "--now", T).code == 0
    assert pool("slots", "reservations", "--json", "--now", T).out == "[]\n"
    entry = json.loads(pool("state", "history", "--json").out)[-2]
    assert entry["subject"] == "reservation 2" and entry["after"]["Slots"] == ["n"]


def test_why_names_the_reservation(pool):
    pool("slots", "add", "n", "--now", T)
    pool("slots", "reserve", "n", "--until", T + HOUR, "--for", "ann", "--now", T)
    submit(pool, "bob")
    for words in (["1.0"], ["1.0", "--slot", "n"], []):
        shown = pool("why", *words, "--now", T + 1).out
        assert "reservation 1 (for ann, from" in shown and "TARGET.AcctGroupUser" not in shown


def test_why_knows_that_the_job_may_start_when_the_reservation_ends(pool):
    pool("slots", "add", "a", "--now", T)
    pool("slots", "reserve", "a", "--until", T + HOUR, "--for", "ann", "--now", T)
    submit(pool, "bob")
    start = json.loads(pool("why", "1.0", "--now", T, "--json").out)["start"]
    assert T + HOUR <= start["start_time"] < T + 2 * HOUR
    submit(pool, "bob", "--requirements", "Missing > 3")
    assert json.loads(pool("why", "2.0", "--now", T, "--json").out)["start"] is None


def test_queue_start_waits_for_its_end(pool):
    pool("slots", "add", "n", "--now", T)
    pool("slots", "reserve", "n", "--until", T + HOUR, "--for", "ann", "--now", T)
    submit(pool, "bob")
    (job,) = json.loads(pool("queue", "--start", "--json", "--now", T + 1).out)
    assert T + HOUR <= job["EstimatedStart"] <= T + HOUR + 120


def test_others_than_administrators_may_not(pool, state, monkeypatch):
    pool("slots", "add", "n", "--now", T)
    Path(f"{state}.toml").write_text('[pool]\nadministrators = ["nobody"]\n')
    monkeypatch.setattr("os.getuid", lambda: 12345)
    assert pool("slots", "reserve", "n", "--now", T).code == 101
    assert pool("slots", "reservations", "--now", T).code == 0


def test_reservations_are_exported_and_imported(pool, run, state, tmp_path):
    pool("slots", "add", "n", "--now", T)
    pool("slots", "reserve", "n", "--for", "ann", "--now", T)
    (tmp_path / "pool.json").write_text(pool("export").out)
    other = tmp_path / "other.db"
    assert run("--state", other, "import", tmp_path / "pool.json").code == 0
    assert len(json.loads(run("--state", other, "slots", "reservations", "--json", "--now", T).out)) == 1


def test_the_time_that_a_job_may_take_to_vacate_is_part_of_its_limit(pool):
    pool("slots", "add", "n", "--count", 2, "--now", T)
    pool("slots", "reserve", "n", "--from", T + HOUR, "--for", "ann", "--now", T)
    submit(pool, "slow", "--time", HOUR - 60, "--attribute", "JobMaxVacateTime=120")
    submit(pool, "quick", "--time", HOUR - 60)
    assert running(pool, T) == ["quick slot1@n"]


def test_slots_that_leave_take_jobs_until_their_time_and_leave_when_they_are_free(pool):
    pool("slots", "add", "home", "--now", T)
    added = pool("slots", "add", "cloud", "--count", 2, "--until", T + HOUR, "--reason", "lent", "--now", T)
    assert added.out.startswith("2 slots added until ")
    submit(pool, "bob", count=2)
    assert running(pool, T) == ["bob home", "bob slot1@cloud"]
    submit(pool, "ann", count=2)
    assert running(pool, T + HOUR - 1) == ["ann slot2@cloud", "bob home", "bob slot1@cloud"]
    pool("finish", "1.1", "--now", T + HOUR)
    # slot1@cloud is free and leaves; slot2@cloud has a job.
    assert running(pool, T + HOUR) == ["ann slot2@cloud", "bob home"]
    names = [slot["Name"] for slot in json.loads(pool("slots", "--json", "--now", T + HOUR).out)]
    assert names == ["home", "slot2@cloud"]
    assert "leaves the pool" in pool("why", "2.1", "--now", T + HOUR).out
    assert "they leave" in pool("slots", "reservations", "--now", T + HOUR).out
    pool("finish", "2.0", "--now", T + HOUR + 5)
    assert running(pool, T + HOUR + 6) == ["bob home"]
    assert [slot["Name"] for slot in json.loads(pool("slots", "--json", "--now", T + HOUR + 6).out)] == ["home"]
    assert pool("slots", "reservations", "--json", "--now", T + HOUR + 6).out == "[]\n"
    assert "its time in the pool is over" in pool("state", "history").out


def test_a_slot_stays_if_its_end_is_cancelled_and_a_later_one_of_its_name_is_another_one(pool):
    pool("slots", "add", "a", "--until", T + HOUR, "--now", T)
    pool("slots", "add", "b", "--until", T + HOUR, "--now", T)
    pool("slots", "reserve", "--cancel", 1, "--now", T)
    pool("slots", "remove", "b", "--now", T)
    pool("slots", "add", "b", "--now", T)
    running(pool, T + HOUR)
    assert [slot["Name"] for slot in json.loads(pool("slots", "--json", "--now", T + HOUR).out)] == ["a", "b"]


def test_a_forecast_knows_when_slots_leave(pool):
    pool("slots", "add", "home", "--now", T)
    pool("slots", "add", "cloud", "--until", T + 30, "--now", T)
    submit(pool, "bob", "--time", 600, count=3)
    assert running(pool, T) == ["bob cloud", "bob home"]
    (start,) = json.loads(pool("queue", "--start", "--now", T, "--json").out)
    assert start["EstimatedStart"] == T + 600


@pytest.mark.parametrize("rules", ["documented", "htcondor"])
def test_reserved_slots_are_in_the_pie_of_those_who_may_use_them_alone(pool, state, rules):
    """Twelve slots, eight of them for ann: two of four are hers, as of bob, beside the eight."""
    Path(f"{state}.toml").write_text(f'[negotiator]\nrules = "{rules}"\nlast_dealing = false\n')
    pool("slots", "add", "n", "--count", 12, "--now", T)
    pool("slots", "reserve", *(f"slot{number}@n" for number in range(5, 13)), "--for", "ann", "--now", T)
    submit(pool, "ann", count=2)
    submit(pool, "bob", count=12)
    record = json.loads(pool("negotiate", "--dry-run", "--now", T, "--json").out)
    limits = {submitter["submitter"].partition("@")[0]: submitter["limit"] for submitter in record["submitters"]}
    assert limits["bob"] == 2.0, limits
    assert limits["ann"] > 2.0


def test_an_end_counts_from_the_begin_and_words_from_now(pool):
    pool("slots", "add", "n", "--count", 3, "--until", "+9d", "--now", T)

    def end(*words):
        made = pool("slots", "reserve", "--count", 1, *words, "--now", T, "--json")
        return json.loads(made.out)["end_time"] if made.code == 0 else made.err

    assert end("--from", T + HOUR, "--until", "+2h") == T + 3 * HOUR
    noon = end("--from", "tomorrow 10:00", "--until", "tomorrow 12:00")
    assert end("--from", "tomorrow 10:00", "--until", "12:00") == noon
    assert "--until is not later than" in end("--from", "tomorrow 10:00", "--until", "tomorrow 9:00")
    assert json.loads(pool("slots", "reservations", "--json", "--now", T).out)[0]["begin_time"] == T + 9 * 24 * HOUR
