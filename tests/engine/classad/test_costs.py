"""How much an evaluation may cost is told before it, from the expressions alone."""

import math

import pytest

from fairq.engine.classad import parse
from fairq.engine.classad.costs import UNGUARDED, match_steps
from fairq.engine.classad.scalar import nodes_of

NAME = {"Name": "slot1_2@node0123.cluster.example.org", "S": "a" * 30}
NEVER = (math.inf, 0)
GPU = {"Id": "GPU-1", "Capability": 7.5, "DeviceName": "Tesla"}


def expressions(**attributes):
    return {name: f"/Expr({text})/" for name, text in attributes.items()}


def doubling(levels, text):
    """Attributes A1, A2, ..., each of which is *text* with the one before it in the braces."""
    return {"A0": "xxxxxxxxxx", **expressions(**{f"A{n}": text.format(f"A{n - 1}") for n in range(1, levels + 1)})}


@pytest.mark.parametrize(
    "text",
    [
        'Memory >= RequestMemory && OpSys == "LINUX" && (Rank > 3 ? Disk : 2 * Disk) > 100',
        'regexp("^slot[0-9_]+@node.*\\\\.(example|test)\\\\.org$", Name)',
        'stringListMember(toLower(Name), "a, b, c") || versionGE(split(Name)[0], "8.9")',
        "countMatches(MY.RequireGPUs, {GPU0, GPU1}) >= 2",
        "size(strcat(Name, Name, S)) < 100",
    ],
)
def test_what_people_write_needs_no_guard(text):
    ad = {**NAME, "GPU0": GPU, "GPU1": GPU, **expressions(RequireGPUs="Capability >= 7 && MemoryMb > 1000")}

    assert nodes_of(parse(text), ad) < UNGUARDED / 10


def test_an_attribute_counts_as_often_as_it_is_read():
    costs = [nodes_of(parse(f"A{level}"), doubling(60, "{0} + {0}")) for level in (10, 11, 60)]

    assert costs[1] == pytest.approx(2 * costs[0], rel=0.01)
    assert costs[2] > 2.0**60


@pytest.mark.parametrize(
    "text", ["strcat({0}, {0})", "{{{0}, {0}}}", "join({0}, {{{0}, {0}}})", 'replaceAll("x", {0}, {0})']
)
def test_what_grows_costs_more_the_larger_it_grew(text):
    assert nodes_of(parse("size(A30)"), doubling(30, text)) > 1e8


@pytest.mark.parametrize(
    "text",
    [
        "eval(S)",
        "Loop",
        "{Hidden}[0]",
        'regexp("^(a+)+$", S)',
        "regexp(strcat(S, S), Name)",
        "regexp(S, Pattern)",
        "[a = 1; b = a + a].b",
        "userHome(S)",
        "noSuchFunction(1)",
        ".Name",
        "MY[S]",
        "evalInEachContext(eval(S), {1, 2})",
    ],
)
def test_what_has_no_bound_needs_a_guard(text):
    ad = {**NAME, **expressions(Loop="Back + 1", Back="Loop + 1", Hidden="{Hidden}", Pattern="S")}

    if text == "regexp(S, Pattern)":
        ad["S"] = "(a|b*)*"
    assert nodes_of(parse(text), ad) == math.inf


@pytest.mark.parametrize(
    ("elements", "guarded"),
    [
        ("split(Name)", True),
        ("Made", True),
        ("Again", True),
        ("ifThenElse(true, {1}, {2})", True),
        ("Plain ?: argsToList(S)", True),
        ("Holder.Elements", True),
        ("Plain", False),
        ("(Plain)", False),
        ("{split(Name)}", False),
        ("TARGET.Nowhere", False),
    ],
)
def test_lists_that_a_function_made_need_a_guard_where_each_element_is_looked_at(elements, guarded):
    """The library crashes on them: in evalInEachContext and countMatches, and where an attribute is selected."""
    made = expressions(Made="split(S)", Again="MY.Made", Plain="{1, GPU0}", Holder="[Elements = split(S)]")
    ad = {**NAME, "GPU0": GPU, **made}

    for function in ("countMatches", "evalInEachContext"):
        assert (nodes_of(parse(f"{function}(true, {elements})"), ad) == math.inf) == guarded
    assert (nodes_of(parse(f"({elements}).Id"), ad) == math.inf) == guarded


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        ("^node[0-9]$", (1, 0)),
        ("node", (1, 1)),
        ("^.*\\.org$", (1, 1)),
        (".*a.*b", (1, 3)),
        ("^[a-z+*|]{2,8}x", (1, 1)),
        ("^a|b*", (2, 2)),
        ("^(ab)+", (1, 1)),
        ("^(?:ab)*c", (1, 1)),
        ("^a?a?a?aaa", (8, 0)),
        ("^x(a|b|c)(d|e)", (6, 1)),
        ("((a)*)", (1, 2)),
        ("(a+)+", NEVER),
        ("(a|b)*", NEVER),
        ("(a)\\1", NEVER),
        ("(?=a)b", NEVER),
        ("a(", NEVER),
    ],
)
def test_a_pattern_tells_how_its_cost_grows(pattern, steps):
    assert match_steps(pattern) == steps
