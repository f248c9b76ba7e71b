"""``queue --order``: what the next cycle offers first, and what decides it."""

import json
from pathlib import Path

import pytest

T = 1_795_000_000


@pytest.fixture
def pool(run, state):
    def fairq(*words):
        return run("--state", state, *words)

    fairq("slots", "add", "n", "--count", 2, "--now", T)
    return fairq


def submit(pool, user, *words, at=T):
    ended = pool("submit", "--accounting-group-user", user, *words, "--now", at, "--", "/bin/true")
    assert ended.code == 0, ended.err


def order(pool, *words):
    return [(job["place"], job["jobs"], job["matched"]) for job in json.loads(pool("queue", "--order", *words,
            "--now", T + 10, "--json").out)]  # fmt: skip


def test_the_better_effective_priority_comes_first_then_job_priority_then_age(pool):
    submit(pool, "bob")
    submit(pool, "ann", "--count", 2)
    submit(pool, "ann", "--priority", 5, at=T + 1)
    pool("userprio", "--setfactor", "bob", "2000", "--now", T + 2)
    assert order(pool) == [(1, "3.0", 1), (2, "2.0-1", 0), (4, "1.0", 1)]
    assert order(pool, "2.1") == [(2, "2.0-1", 0)]
    shown = pool("queue", "--order", "--now", T + 10).out
    assert shown.splitlines()[0].split()[:3] == ["PLACE", "ID", "SUBMITTER"]
    # The first of the order is the first that the cycle matches.
    record = json.loads(pool("negotiate", "--no-launch", "--now", T + 10, "--json").out)
    assert record["matches"][0]["job"] == "3.0"


def test_groups_take_turns_by_the_used_part_of_their_quota(pool, state):
    Path(f"{state}.toml").write_text("[groups.a]\nquota = 1\n[groups.b]\nquota = 1\n")
    submit(pool, "ann", "--accounting-group", "a", "--count", 2)
    pool("negotiate", "--no-launch", "--now", T + 1)
    submit(pool, "bob", "--accounting-group", "b")
    found = json.loads(pool("queue", "--order", "--now", T + 10, "--json").out)
    assert [(one["group"], one["group_turn"], one["group_order"]) for one in found] == [("b", 1, 0.0), ("a", 2, 1.0)]
    assert pool("queue", "--order", "--start").code == 2
