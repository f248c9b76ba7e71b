"""``fairq userprio --tree``: groups and users, what they are entitled to, and who is over or under it."""

import json
from pathlib import Path

import pytest

NOW = 1_795_200_000
GROUPS = """[groups.physics]
quota = 4
accept_surplus = true
[groups.physics.atlas]
quota = 2
[groups.bio]
quota = 3
"""


@pytest.fixture
def pool(run, state):
    """Ten slots; bio leaves two of its three, which physics and a user of no group take."""
    Path(f"{state}.toml").write_text(GROUPS)
    run("--state", state, "slots", "add", "node", "--count", "10", "--now", NOW)
    for user, group, count in (
        ("alice", "physics", 9),
        ("bob", "physics.atlas", 4),
        ("carol", "bio", 1),
        ("dan", "", 5),
    ):
        words = ["--accounting-group", group] if group else []
        run("--state", state, "submit", "--count", count, "--accounting-group-user", user, *words, "--now", NOW,
            "--", "/bin/true")  # fmt: skip
    assert run("--state", state, "negotiate", "--now", NOW + 60).code == 0
    return state


def shares(run, pool, *words):
    return json.loads(run("--state", pool, "userprio", "--tree", *words, "--now", NOW + 90, "--json").out)


def test_each_group_is_followed_by_its_users_and_subgroups(run, pool):
    found = shares(run, pool)
    assert [(one["name"].partition("@")[0], one["depth"], one["in_use"]) for one in found] == [
        ("bio", 0, 1), ("bio.carol", 1, 1),
        ("physics", 0, 5), ("physics.alice", 1, 3), ("physics.atlas", 1, 2), ("physics.atlas.bob", 2, 2),
        ("<none>", 0, 4), ("dan", 1, 4),
    ]  # fmt: skip
    assert {one["name"]: one["over"] for one in found if one["is_group"]} == {
        "bio": -2, "physics": 1, "physics.atlas": 0, "<none>": 1,
    }  # fmt: skip
    assert sum(one["in_use"] for one in found if not one["is_group"]) == 10


def test_a_name_selects_what_is_below_it(run, pool):
    assert [share["name"].partition("@")[0] for share in shares(run, pool, "physics.atlas")] == [
        "physics.atlas", "physics.atlas.bob",
    ]  # fmt: skip
    assert len(shares(run, pool, "physics")) == 4
    assert [share["depth"] for share in shares(run, pool, "dan")] == [1]


def test_the_table_names_users_below_their_group_without_it(run, pool):
    lines = run("--state", pool, "userprio", "-tree", "--now", NOW + 90).out.splitlines()
    assert lines[0].split()[:3] == ["Name", "Entitled", "In"]
    assert [line.split()[0].partition("@")[0] for line in lines[3:7]] == ["physics", "alice", "atlas", "bob"]
    assert lines[6].startswith("    bob@")


def test_without_groups_there_are_only_users_and_without_jobs_nobody(run, state):
    run("--state", state, "slots", "add", "node", "--now", NOW)
    ended = run("--state", state, "userprio", "--tree", "--now", NOW)
    assert (ended.out, ended.err) == ("", "nobody has jobs or slots\n")
    run("--state", state, "submit", "--accounting-group-user", "eve", "--now", NOW, "--", "/bin/true")
    (eve,) = shares(run, state)
    assert (eve["depth"], eve["entitled"], eve["over"], eve["idle"]) == (0, None, None, 1)
