"""Expressions reduced to what they say of changing numbers: the values are those of a whole evaluation."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairq.engine.classad import AdColumns, evaluate_in_ad, evaluate_in_columns, expression_of, parse
from fairq.engine.classad.partial_evaluation import NotReducedError, Reducer
from fairq.engine.classad.references import Side

RESOURCES = ["Cpus", "Memory", "GPUs"]
CHANGING = ["Cpus", "MY.Memory", "TARGET.Memory", "TARGET.Cpus", "gpus", "MY.GPUs"]
FIXED = ["Total", "TARGET.Total", "MY.Scale", "RequestCpus", "TARGET.RequestCpus", "Wants", "Nowhere", "Mixed", "Name"]
FIXED += ["1", "0", "-2", "2.5", "1.0e6", "100000", "true", "undefined", "error", '"x"', "9007199254740993"]
INDIRECT = ["Own", "MY.Own", "TARGET.Own", "Limit", "Round", "TARGET.Limit"]

atoms = st.sampled_from(CHANGING * 3 + FIXED + INDIRECT)


def compound(inner):
    two, three = st.tuples(inner, inner), st.tuples(inner, inner, inner)
    comparisons = st.sampled_from(["<", "<=", ">", ">=", "==", "!=", "&&", "||", "&&", "||", "=?="])
    return st.one_of(
        st.tuples(inner, comparisons, inner).map("({0[0]} {0[1]} {0[2]})".format),
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map("({0[0]} {0[1]} {0[2]})".format),
        st.tuples(st.sampled_from("!-"), inner).map("({0[0]}({0[1]}))".format),
        three.map("ifThenElse({0[0]}, {0[1]}, {0[2]})".format),
        two.map("ifThenElse(TARGET.RequestCpus isnt undefined, {0[0]}, {0[1]})".format),
        three.map("({0[0]} ? {0[1]} : {0[2]})".format),
        two.map("(({0[0]}) ?: ({0[1]}))".format),
    )


expressions = st.recursive(atoms, compound, max_leaves=8)
own = expressions.map("/Expr({})/".format)
constants = st.sampled_from([0, 1, 7, 2.5, -1, True, False, "text"])
amounts = st.sampled_from([0.0, 1.0, 2.0, 2.5, 3.0, 8.0, 1000.0])
slot = st.fixed_dictionaries(
    {"Cpus": amounts, "Memory": amounts, "Scale": constants},
    optional={"GPUs": amounts, "Total": constants, "Own": own | constants, "Limit": own, "Mixed": constants},
)
slots = st.lists(slot, min_size=1, max_size=4).flatmap(
    lambda some: st.lists(st.sampled_from(some), min_size=1, max_size=6)
)
job = st.fixed_dictionaries(
    {}, optional={"requestcpus": amounts, "wants": constants, "own": own, "limit": own | constants, "round": own}
)


@pytest.mark.parametrize("side", list(Side))
@settings(max_examples=200, deadline=None)
@given(ads=slots, job=job, text=expressions, parts=st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=18, max_size=18))
def test_reduced_expressions_have_the_values_of_an_evaluation(side, ads, job, text, parts):
    """Whatever is left of the numbers, the rows that are true are the same, and so is every number."""
    present = np.array([[name in ad for ad in ads] for name in RESOURCES])
    whole = np.array([[float(ad.get(name, 0)) for ad in ads] for name in RESOURCES])
    left = whole * np.array(parts[: whole.size]).reshape(whole.shape)
    columns, rows = AdColumns(ads, now=0), np.arange(len(ads))[::-1]

    def show(numbers):
        for place, name in enumerate(RESOURCES):
            columns.with_numbers(name, numbers[place], present[place])

    show(whole)
    reduced = Reducer(columns, [name.lower() for name in RESOURCES], whole, present).reduced(job)
    true = number = None
    with suppress(NotReducedError):
        true = reduced.true(parse(text), side)
    with suppress(NotReducedError):
        number = reduced.number(parse(text), side, -np.inf)

    show(left)
    if side is Side.AD:
        values = evaluate_in_ad(parse(text), job, columns, rows)
    else:
        values = evaluate_in_columns(parse(text), columns, job, rows)
    if true is not None:
        assert true(left[:, rows], rows).tolist() == values.is_true().tolist()
    if number is not None:
        assert number(left[:, rows], rows).tolist() == values.as_rank(-np.inf).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "START && WithinResourceLimits",
        "MY.Cpus > 0 && TARGET.RequestCpus <= MY.Cpus && (TARGET.RequestGPUs is undefined || MY.GPUs >= 1)",
        "ifThenElse(TARGET.RequestCpus =!= undefined, TARGET.RequestCpus <= MY.Cpus, 1 <= MY.Cpus)",
    ],
)
def test_what_startds_require_is_reduced(text):
    """The Requirements that HTCondor's startd writes need no evaluation for each match."""
    limits = "/Expr(MY.Memory > 0 && TARGET.RequestMemory <= MY.Memory)/"
    ads = [
        {"Cpus": 4, "Memory": 100, "Start": True, "WithinResourceLimits": limits},
        {"Cpus": 2, "Memory": 50, "Start": '/Expr(TARGET.Owner isnt "eve" || MY.Memory > 70)/', "GPUs": 1}
        | {"WithinResourceLimits": limits},
    ]
    left, present = np.array([[4.0, 2], [100, 50], [0, 1]]), np.array([[True, True], [True, True], [False, True]])
    reducer = Reducer(AdColumns(ads), ["cpus", "memory", "gpus"], left, present)
    reduced = reducer.reduced({"requestcpus": 1, "requestmemory": 60, "owner": "eve"})
    wanted = evaluate_in_columns(
        expression_of(f"/Expr({text})/"), AdColumns(ads), {"requestcpus": 1, "requestmemory": 60, "owner": "eve"}
    )
    found = reduced.true(parse(text), Side.COLUMNS)(left, np.arange(2))
    assert found.tolist() == wanted.is_true().tolist()
