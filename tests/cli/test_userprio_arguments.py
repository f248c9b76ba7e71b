"""condor_userprio's options are understood as it understands them."""

from functools import partial

import pytest
from tests.cli.lines import read

from fairq.cli.tools import USERPRIO
from fairq.errors.base import UsageError

find, rewrite = USERPRIO.find, partial(read, "userprio")


@pytest.mark.parametrize(
    ("short", "name"),
    [
        ("s", "setprio"),
        ("setf", "setfactor"),
        ("setfl", "setfloor"),
        ("d", "duration"),
        ("del", "delete"),
        ("de", "debug"),
        ("c", "cancelceilinglease"),
        ("con", "constraint"),
        ("col", "collector"),
        ("r", "resetusage"),
        ("reseta", "resetall"),
        ("l", "long"),
        ("a", "all"),
        ("al", "all"),
        ("allu", "allusers"),
        ("ac", "activefrom"),
        ("af", "af"),
        ("h", "heir"),
        ("hi", "hierarchical"),
        ("fl", "flat"),
        ("g", "grouprollup"),
        ("groupo", "grouporder"),
        ("q", "quotas"),
        ("su", "surplus"),
        ("so", "sortkey"),
        ("mo", "most"),
        ("o", "order"),
        ("us", "usage"),
        ("prio", "priority"),
        ("p", "pool"),
        ("getres", "getreslist"),
        ("n", "name"),
        ("pri", "priority"),
        ("m", "most"),
        ("getre", "getreslist"),
        ("f", "flat"),
        ("cla", "classic"),
        ("pla", "plain"),
        ("pru", "prune"),
    ],
)
def test_options_may_be_cut_short_and_the_first_of_the_table_wins(short, name):
    found = find(short)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("word", ["x", "setpriox", "hierarchicall"])
def test_ambiguous_or_unknown_is_no_option(word):
    assert find(word) is None


def test_values_are_left_alone_even_if_they_begin_with_a_dash():
    assert rewrite(["-setceil", "u@d", "-1", "-d", "60"]) == ["--setceiling=u@d\x1f-1", "--duration", "60"]
    assert rewrite(["--setceiling", "u@d", "-1", "-l"]) == ["--setceiling=u@d\x1f-1", "--long"]


def test_long_spelling_and_names_pass_unchanged():
    words = ["--usage", "ann@d", "<none>", "-v", "-vv", "--", "-setprio"]
    assert rewrite(words) == words


def test_autoformat_keeps_its_modifiers():
    assert rewrite(["-autof:hr", "Name", "-allu"]) == ["--af=hr\x1fName", "--allusers"]


def test_where_the_records_come_from_makes_no_difference():
    assert rewrite(["-modular", "-collector", "-negotiator", "-l"]) == ["--long"]


@pytest.mark.parametrize("words", [["-pool", "x"], ["-name", "x"], ["-inputfile", "x"], ["-legacy"], ["-debug"]])
def test_what_fairq_cannot_have_is_refused_with_the_way_to_go(words):
    with pytest.raises(UsageError, match="has no"):
        rewrite(words)


@pytest.mark.parametrize("words", [["-setprio", "u@d"], ["--activefrom", "11", "20"], ["-delete"]])
def test_missing_values_are_refused(words):
    with pytest.raises(UsageError, match="needs"):
        rewrite(words)


def test_a_time_before_now_is_no_option():
    assert rewrite(["-allu", "--now", "-1h", "-l"]) == ["--allusers", "--now", "-1h", "--long"]
