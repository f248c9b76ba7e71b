"""Changes tried out: ``negotiate --dry-run`` and ``quotas`` with other settings, factors and slots."""

import json
from pathlib import Path

import pytest

NOW = 1_795_200_000


@pytest.fixture
def pool(run, state, made_once):
    """Ten slots on each of two machines; alice and bob have twenty jobs each."""

    def filled(folder):
        made = folder / state.name
        for machine in ("one", "two"):
            assert run("--state", made, "slots", "add", machine, "--count", "10").code == 0
        for user in ("alice", "bob"):
            words = ["--accounting-group", "x", "--accounting-group-user", user, "--now", NOW, "--", "/bin/true"]
            assert run("--state", made, "submit", "--count", 20, *words).code == 0

    made_once(filled)
    return state


def tried(run, pool, *words):
    ended = run("--state", pool, "negotiate", "--dry-run", *words, "--now", NOW, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def figures(document, member):
    return [round(change[member], 6) for change in document["changes"]]


def test_a_factor_shows_4_to_1_at_first_and_2_to_1_in_the_long_run(run, pool):
    found = tried(run, pool, "--factor", "x.bob=4000")
    assert (figures(found, "matched_now"), figures(found, "matched_then")) == ([10, 10], [16, 4])
    assert (figures(found, "long_run_now"), figures(found, "long_run_then")) == ([10, 10], [13.333333, 6.666667])
    assert [line.partition(":")[0] for line in found["summary"]] == ["The next cycle", "In the long run"]
    assert "PriorityFactor = 4000" not in run("--state", pool, "userprio", "--allusers", "--long").out


@pytest.mark.parametrize(
    ("words", "pie", "long_run"),
    [
        (["--slots", "+10"], 30, [15, 15]),
        (["--slots", "+2x8c16g"], 36, [18, 18]),
        (["--without", "two"], 10, [5, 5]),
        (["--without", "slot1@one", "--without", "slot2@one"], 18, [9, 9]),
        (["--set", "groups.x.quota=8"], 20, [4, 4]),
        (["--ceiling", "x.alice=3"], 20, [3, 17]),
        (["--slots", "+100"], 120, [20, 20]),
    ],
)
def test_slots_and_settings(run, pool, words, pie, long_run):
    found = tried(run, pool, *words)
    assert found["pie_then"] == pie
    assert figures(found, "long_run_then") == figures(found, "matched_then") == long_run


def test_where_there_are_slots_for_all_a_factor_changes_nothing(run, pool):
    run("--state", pool, "slots", "add", "three", "--count", "30")
    lines = run("--state", pool, "negotiate", "--dry-run", "--factor", "x.bob=4000", "--now", NOW).out.splitlines()
    assert lines[:2] == [
        "The next cycle: no changes.",
        "In the long run: no changes: there are enough slots for all jobs, and factors decide nothing.",
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["negotiate", "--factor", "x.bob=4"], 2, "add --dry-run"),
        (["negotiate", "--dry-run", "--factor", "eve=4"], 110, "there is no such submitter"),
        (["negotiate", "--dry-run", "--factor", "x.bob=0.1"], 110, "at least 1"),
        (["negotiate", "--ceiling", "x.bob=4"], 2, "add --dry-run"),
        (["negotiate", "--dry-run", "--ceiling", "eve=4"], 110, "--ceiling 'eve': there is no such submitter"),
        (["negotiate", "--dry-run", "--floor", "x.bob=many"], 110, "not a floor"),
        (["negotiate", "--dry-run", "--limit", "matlab=-1"], 110, "not a limit"),
        (["negotiate", "--dry-run", "--limit", "a=1", "--limit", "a=2"], 110, "a is given twice"),
        (["negotiate", "--dry-run", "--without", "nowhere"], 110, "no such slot or machine"),
        (["negotiate", "--dry-run", "--slots", "+2x"], 110, "is not a size"),
        (["negotiate", "--dry-run", "--set", "negotiator.nothing=1"], 15, "negotiator.nothing"),
        (["quotas", "--set", "nothing"], 2, "give KEY=VALUE"),
    ],
)
def test_what_cannot_be_tried_is_refused(run, pool, words, code, said):
    ended = run("--state", pool, *words, "--now", NOW)
    assert said in ended.err
    assert ended.code == code


def test_quotas_tell_who_gains_in_the_next_cycle_and_in_the_long_run(run, pool):
    Path(f"{pool}.toml").write_text("[groups.x]\nquota = 8\n")
    ended = run("--state", pool, "quotas", "--set", "groups.x.quota=12", "--now", NOW)
    assert "The next cycle: more for x.alice@" in ended.err
    assert "In the long run: more for x.alice@" in ended.err


def test_quotas_of_another_pool_without_groups_shows_the_submitters(run, pool):
    ended = run("--state", pool, "quotas", "--slots", "30", "--now", NOW, "--json")
    assert [(round(one["long_run_now"], 6), one["long_run_then"]) for one in json.loads(ended.out)] == [
        (10, 15),
        (10, 15),
    ]


def test_a_floor_lets_a_submitter_be_served_first(run, pool):
    run("--state", pool, "userprio", "-setfactor", "x.bob", "4000", "--now", NOW)
    found = tried(run, pool, "--floor", "x.bob=6")
    assert (figures(found, "matched_now"), figures(found, "matched_then")) == ([16, 4], [14, 6])
    assert found["with"] == "floor x.bob=6"


def test_a_limit_bounds_the_jobs_that_name_it(run, pool):
    run("--state", pool, "submit", "--count", "9", "--concurrency-limits", "lic.matlab", "--accounting-group", "x",
        "--accounting-group-user", "carol", "--now", NOW, "--", "/bin/true")  # fmt: skip
    found = tried(run, pool, "--limit", "lic.matlab=2")
    assert [figures(found, member)[2] for member in ("matched_now", "matched_then")] == [6, 2]
    assert "lic" not in run("--state", pool, "config", "show", "limits").out
    ended = run("--state", pool, "quotas", "--limit", "lic.matlab=2", "--now", NOW)
    assert ended.code == 0
