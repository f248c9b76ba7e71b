"""``fairq userprio --target``: factors for long-run shares, checked by simulation, and refused where none exist."""

import json

import pytest

NOW = 1_795_200_000


@pytest.fixture
def pool(run, state, made_once):
    """Forty slots, and four submitters with jobs enough for all of them."""

    def filled(folder):
        made = folder / state.name
        assert run("--state", made, "slots", "add", "node", "--count", "40").code == 0
        for user in ("alice", "bob", "carol", "dave"):
            words = ["--count", 90, "--accounting-group", "x", "--accounting-group-user", user, "--now", NOW]
            assert run("--state", made, "submit", *words, "--", "/bin/true").code == 0

    made_once(filled)
    return state


def submitters(run, pool, *words):
    ended = run("--state", pool, "userprio", *words, "--now", NOW, "--json")
    assert ended.code == 0, ended.err
    return {
        submitter["name"].removeprefix("x.").partition("@")[0]: submitter
        for submitter in json.loads(ended.out)["submitters"]
    }


def stored_factors(run, pool):
    ads = json.loads(run("--state", pool, "userprio", "--allusers", "--json").out)
    return {ad["Name"][2:].partition("@")[0]: ad["PriorityFactor"] for ad in ads if ad["Name"].startswith("x.")}


def test_shares_are_reached_in_the_simulation_and_the_others_keep_theirs(run, pool):
    found = submitters(run, pool, "--target", "x.alice=50%", "--target", "x.bob=0.25")
    assert [round(found[name]["factor_after"], 6) for name in found] == [62.5, 250, 1000, 1000]
    assert {name: one["share_simulated"] for name, one in found.items()} == pytest.approx(
        {"alice": 0.5, "bob": 0.25, "carol": 0.125, "dave": 0.125}, rel=0.01
    )
    assert "PriorityFactor" not in run("--state", pool, "userprio", "--allusers", "--json").out, "nothing is stored"


def test_apply_sets_the_factors_as_one_change_that_undo_takes_back(run, pool):
    run("--state", pool, "userprio", "--setfactor", "x.bob", "800", "--now", NOW - 1, "--yes")
    found = submitters(run, pool, "--target", "x.alice=40%", "--target", "x.bob=20%", "--apply")
    wanted = {name: found[name]["factor_after"] for name in ("alice", "bob")}
    assert stored_factors(run, pool) == pytest.approx(wanted)
    assert "800" in run("--state", pool, "state", "history", "--json").out

    assert run("--state", pool, "undo", "--now", NOW).code == 0
    assert stored_factors(run, pool) == {"bob": 800}


def test_below_half_a_slot_the_square_root_rule_does_not_hold(run, pool):
    """0.4 of 40 slots: the priority stays at 0.5, so the factor is half of what the rule alone would say."""
    found = submitters(run, pool, "--target", "x.alice=1%")
    rule = (0.99 / (0.01 * 3 * 1000**-0.5)) ** 2
    assert found["alice"]["factor_after"] == pytest.approx(rule * 0.8)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--target", "x.alice=98%"], 109, "at most 91.34 %"),
        (["--target", "x.alice=100%"], 109, "nothing would be left for 3 other submitters"),
        (["--target", "x.alice=60%", "--target", "x.bob=60%"], 109, "more than 100 %"),
        (["--target", "x.alice=0"], 110, "not a share"),
        (["--target", "eve=10%"], 26, "give a submitter with jobs"),
        (["--apply"], 2, "need --target"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(run, pool, words, code, said):
    ended = run("--state", pool, "userprio", *words, "--now", NOW)
    assert said in ended.err
    assert ended.code == code


def test_scale_all_raises_everybodys_factor_instead(run, pool):
    found = submitters(run, pool, "--target", "x.alice=93%", "--scale-all")
    assert found["alice"]["factor_after"] == pytest.approx(1)
    assert found["carol"]["factor_after"] > 1000
    assert found["alice"]["share_after"] == pytest.approx(0.93, rel=0.01)


def test_without_others_the_targets_divide_everything_in_their_ratio(run, state):
    assert run("--state", state, "slots", "add", "node", "--count", "20", "--now", NOW).code == 0
    for user in ("alice", "bob"):
        words = ["--count", 30, "--accounting-group", "x", "--accounting-group-user", user, "--now", NOW]
        assert run("--state", state, "submit", *words, "--", "/bin/true").code == 0
    said = "nobody else has jobs or recent usage: the targets divide everything in this ratio"
    ended = run("--state", state, "userprio", "--target", "x.alice=50%", "--target", "x.bob=25%", "--now", NOW)
    assert said in ended.err
    ended = run("--state", state, "userprio", "--target", "x.alice=75%", "--target", "x.bob=25%", "--now", NOW)
    assert said not in ended.err
