"""The expression of a listing reads only what it needs of each record, and gets the value that the whole ad gives."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fairq.engine.classad import evaluate_each, parse
from fairq.engine.classad.budget import EvaluationBudget
from fairq.steps.evaluation.budget import evaluated

RECORDS: list[dict[str, Any]] = [
    {"Owner": "ann", "Memory": 10, "Request": 20, "Tags": ["a", "b"], "Limit": "/Expr(Request * 2)/"},
    {"owner": "ann", "MEMORY": 10.5, "Other": {"Memory": 7}, "Limit": "/Expr(Memory - 1)/"},
    {"Target": {"Memory": 5}, "My": {"Limit": 8}, "Memory": 2},
    {"Owner": None, "Memory": True, "Limit": 3, "Name": "Memory"},
    {},
]


@pytest.mark.parametrize(
    "text",
    [
        'Owner == "ann" && memory > 9',
        "Limit > Memory",
        "MY.Limit * 2",
        'Other.Memory + 0',
        'member("a", Tags)',
        'eval("Memory") > 5',
        "eval(Name)",
        'MY["Memory"]',
        "size(Tags) == 2 ? Request : Limit",
        "TARGET.Memory",
        "Missing is undefined",
        "[Memory = Limit; Inner = Memory].Inner",
    ],
)  # fmt: skip
def test_a_part_of_a_record_has_the_value_of_the_whole(text):
    expression = parse(text)
    values = [
        list(way(expression, RECORDS, EvaluationBudget(60, time.process_time))) for way in (evaluate_each, evaluated)
    ]
    assert list(map(repr, values[0])) == list(map(repr, values[1]))
