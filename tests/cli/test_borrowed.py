"""What groups use above their quotas is marked as borrowed, and among equals it is taken back first."""

import json
from pathlib import Path

import pytest
from tests.documents.condor_pool import Pool, busy_ad, job_ad

T = 1_795_176_000
HOUR = 3600
GROUPS = """[groups.physics]
quota = 4
accept_surplus = true
[groups.biology]
quota_dynamic = 0.5
accept_surplus = true
"""


@pytest.fixture
def pool(run, state):
    """Eight slots: four are those of physics, the rest is for biology. All are used by physics, by two clusters."""
    Path(f"{state}.toml").write_text(GROUPS)

    def fairq(*words):
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return ended.out

    fairq("slots", "add", "n", "--count", 8, "--now", T)
    submit(fairq, "physics", "ann", 3, T)
    fairq("negotiate", "--no-launch", "--now", T)
    submit(fairq, "physics", "bob", 5, T + HOUR)
    fairq("negotiate", "--no-launch", "--now", T + HOUR)
    return fairq


def submit(pool, group, user, count, at):
    words = ("--accounting-group", group, "--accounting-group-user", user, "--count", count, "--now", at)
    pool("submit", *words, "--", "/bin/true")


def borrowed_jobs(pool, at):
    found = json.loads(pool("queue", "--running", "--json", "--now", at))
    return [f"{job['ClusterId']}.{job['ProcId']}" for job in found if job.get("Borrowed")]


def test_the_jobs_that_started_last_are_borrowed_in_all_tables(pool):
    at = T + 2 * HOUR
    assert borrowed_jobs(pool, at) == ["2.1", "2.2", "2.3", "2.4"]
    rows = [line.split() for line in pool("queue", "--now", at).splitlines()]
    assert [(row[0], "yes" in row) for row in rows[1:4]] == [("1.0-2", False), ("2.0", False), ("2.1-4", True)]
    groups = {one["group"]: one for one in json.loads(pool("quotas", "--json", "--now", at))}
    assert {name: (one["in_use"], one["borrowed"]) for name, one in groups.items()} == {
        "<none>": (0, 0), "physics": (8, 4), "biology": (0, 0),
    }  # fmt: skip
    assert "Borrowed" in pool("quotas", "--tree", "--now", at)
    # When earlier ones end, later ones are within the quota.
    pool("finish", "1.0", "1.1", "--now", at)
    assert borrowed_jobs(pool, at) == ["2.3", "2.4"]
    pool("finish", "1.2", "2", "--now", at + HOUR)
    (row,) = json.loads(pool("report", "--by", "group", "--since", T, "--now", at + HOUR, "--json"))["rows"]
    assert row["borrowed_seconds"] == (2 * 1 + 2 * 2) * HOUR
    assert row["weighted_seconds"] == (2 * 2 + 1 * 3 + 5 * 2) * HOUR
    by_day = json.loads(pool("report", "--by", "group,hour", "--since", T, "--now", at + HOUR, "--json"))["rows"]
    assert [one["borrowed_seconds"] for one in by_day] == [0, 4 * HOUR, 2 * HOUR]
    assert "BORROWED" in pool("report", "--by", "group", "--since", T, "--now", at + HOUR)


def test_without_groups_nothing_is_borrowed(pool, state):
    Path(f"{state}.toml").write_text("")
    assert borrowed_jobs(pool, T + 2 * HOUR) == []
    assert "BORROWED" not in pool("queue", "--now", T + 2 * HOUR)
    assert json.loads(pool("quotas", "--json"))[0]["borrowed"] is None


def test_another_quota_counts_at_once(pool, state):
    Path(f"{state}.toml").write_text(GROUPS.replace("quota = 4", "quota = 6"))
    assert borrowed_jobs(pool, T + 2 * HOUR) == ["2.3", "2.4"]


def test_it_is_told_of_a_pool_that_was_only_imported(run, state, tmp_path):
    pool = Pool(run, state, tmp_path)
    pool.settings("[groups.physics]\nquota = 1\n")
    who = {"AccountingGroup": "physics.ann@example.org"}
    busy = [busy_ad(f"slot1@{name}", "ann", JobId=f"1.{proc}", JobStart=T + 9 - proc, **who)
            for proc, name in enumerate("abc")]  # fmt: skip
    running = [job_ad(1, "physics.ann", ProcId=proc, JobStatus=2, AccountingGroup="physics.ann") for proc in range(3)]
    pool.import_(slots=busy, jobs=running)
    found = pool.fairq("queue", "--json", "--now", T + HOUR)
    assert [job["ProcId"] for job in found if job.get("Borrowed")] == [0, 1]
    (group,) = (one for one in pool.fairq("quotas", "--json") if one["group"] == "physics")
    assert (group["in_use"], group["borrowed"]) == (3, 2)
