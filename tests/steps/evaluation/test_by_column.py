"""Expressions over many records are evaluated by column, with the values that they have in each record alone."""

from __future__ import annotations

from itertools import product
from time import process_time
from typing import Any

import pytest

from fairq.engine.classad import EvaluationBudget, evaluate_each, parse
from fairq.steps.evaluation.budget import evaluated

ODD: list[Any] = [None, True, False, 0, 1, -7, 2**53 + 1, 2**63 - 1, 2**63, 10**25, -0.0, 0.0, 1.0, 0.1, 1e308, "", "a",
                  "A", "é", "1", "/Expr(Cpus + 1)/", [1, "b"], {"X": 2}]  # fmt: skip
"""Values of attributes: also expressions, lists and ads, with which a record is evaluated alone."""


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "Cpus",
        'my.Cpus > 1 && Name == "a"',
        "Cpus / Memory",
        "strcat(Cpus, Name, Memory)",
        "Cpus =?= Memory || isUndefined(Name)",
        "Name ? Cpus : Memory",
        'toUpper(Name) =?= "A"',
        "Cpus + 1 > Memory * 2.5",
        "{Cpus, Name}[1]",
        "Target.Cpus =?= undefined && Cpus > 0",
        ".Cpus > 0",
        "other.Cpus",
        'member(Name, {"a", "b"})',
        'regexp("[a-z]", Name)',
        "unknown",
        "int(Cpus) % 3",
    ],
)
def test_values_are_those_of_each_record_alone(text, plain):
    odd = [value for value in ODD if not plain or not (isinstance(value, (list, dict)) or str(value)[:1] == "/")]
    records = [
        {name: value for name, value in (("Cpus", cpus), ("Memory", memory), ("Name", name)) if value is not None}
        for cpus, memory, name in product(odd, odd[::3], ("a", "A", None, 3))
    ]
    expression = parse(text)

    found = list(evaluated(expression, records, EvaluationBudget(100.0, process_time)))
    alone = [
        next(iter(evaluate_each(expression, [record], EvaluationBudget(100.0, process_time)))) for record in records
    ]

    assert list(map(repr, found)) == list(map(repr, alone))
