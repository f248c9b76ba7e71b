"""Requirements are taken apart where all parts must be true, in the words in which they were written."""

import pytest

from fairq.engine.explain.clauses import clauses_of, replace_clauses, split
from fairq.engine.explain.comparisons import comparison


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("true", ["true"]),
        ("(a > 1) && ((b) && (c || d))", ["a > 1", "b", "c || d"]),
        ("a || b && c", ["a || b && c"]),
        ("a && b ? c : d && e", ["a && b ? c : d && e"]),
        ('Name == "x && y" && z', ['Name == "x && y"', "z"]),
        ("f(a && b) && {c && d}[0]", ["f(a && b)", "{c && d}[0]"]),
        ("(a) && (b)", ["a", "b"]),
    ],
)
def test_only_what_stands_at_the_top_is_split(text, parts):
    """Brackets around a whole part say nothing; within functions, lists and alternatives nothing is split."""
    assert split(text) == parts


def test_a_clause_that_names_an_expression_of_the_same_ad_is_followed():
    """Where START stands in a slot's Requirements, its own clauses are looked at, and who refers to itself ends."""
    ad = {"requirements": "/Expr(Start && MY.Fits)/", "start": "/Expr(a && b)/", "fits": "/Expr(fits && c)/"}

    assert [(clause.attribute, clause.text) for clause in clauses_of(ad)][:2] == [("start", "a"), ("start", "b")]
    assert ("fits", "c") in [(clause.attribute, clause.text) for clause in clauses_of(ad)]


def test_a_clause_is_left_out_or_replaced():
    assert replace_clauses("(a > 1) && b", {"b": None}) == "(a > 1)"
    assert replace_clauses("(a > 1) && b", {"a > 1": "a > 0"}) == "(a > 0) && (b)"
    assert replace_clauses("b", {"b": None}) == "true"


@pytest.mark.parametrize(
    ("text", "attribute", "operator", "own"),
    [
        ("TARGET.Memory >= RequestMemory", "Memory", ">=", "RequestMemory"),
        ("MY.RequestMemory <= TARGET.Memory", "Memory", ">=", "RequestMemory"),
        ("Memory > 1024", "Memory", ">", None),
        ('TARGET.Arch == "ARM64"', "Arch", "==", None),
        ("HasDocker", "HasDocker", "==", None),
        ("TARGET.Cpus is undefined || RequestMemory < TARGET.Cpus", "Cpus", ">", "RequestMemory"),
    ],
)
def test_a_comparison_is_turned_so_that_the_other_ad_stands_left(text, attribute, operator, own):
    compared = comparison(text, {"requestmemory"})
    assert compared is not None
    assert (compared.attribute, compared.operator, compared.own) == (attribute, operator, own)


@pytest.mark.parametrize("text", ["RequestMemory > 5", "TARGET.A == TARGET.B", "f(TARGET.A)", "!TARGET.A"])
def test_other_clauses_compare_nothing(text):
    assert comparison(text, {"requestmemory"}) is None


@pytest.mark.parametrize(
    ("text", "slot_has", "wanted"),
    [("Memory >= X", 2048, 2048), ("Memory > X", 2048, 2047), ("Memory < X", 5, 6), ("Memory == X", "a", "a")],
)
def test_the_nearest_value_makes_the_clause_true(text, slot_has, wanted):
    compared = comparison(text, {"x"})
    assert compared is not None
    assert compared.value_for(slot_has) == wanted
