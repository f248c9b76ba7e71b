"""The meaning of single expressions, point by point; every expectation is also asked of HTCondor's library."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fairq.engine.classad import (
    ERROR,
    UNDEFINED,
    AdColumns,
    evaluate_in_ad,
    evaluate_in_columns,
    evaluate_scalar,
    parse,
)

LOWEST, HIGHEST = -(2**63), 2**63 - 1
JOB = {
    "Owner": "alice",
    "RequestMemory": "/Expr(DiskUsage * 2)/",
    "DiskUsage": 512,
    "OnlyJob": 1,
    "Both": "job",
    "Asks": "/Expr(TARGET.Answers)/",
    "Tags": ["a", "B", 3],
    "Self": "/Expr(Self + 1)/",
    "AsksItself": "/Expr(isUndefined(AsksItself))/",
    "Ping": "/Expr(TARGET.Pong)/",
}
SLOT = {
    "Memory": 2048,
    "cpus": 4,
    "OnlySlot": 2.5,
    "Both": "slot",
    "Answers": "/Expr(MY.Both)/",
    "Name": "slot1@node7.example.org",
    "Version": "$CondorVersion: 8.9.12 Mar 14 2021 $",
    "Nested": {"x": 1, "y": "/Expr(x + 1)/"},
    "Pong": "/Expr(TARGET.Ping)/",
}

CASES: dict[str, list[tuple[str, Any]]] = {
    "integers wrap around at 64 bits": [
        ("9223372036854775807 + 1", LOWEST),
        ("-9223372036854775808 - 1", HIGHEST),
        ("4611686018427387904 * 2", LOWEST),
        ("-(-9223372036854775808)", LOWEST),
    ],
    "integer division cuts off towards zero and errs on zero": [
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 % 2", -1),
        ("7 % -2", 1),
        ("1 / 0", ERROR),
        ("1 % 0", ERROR),
        ("-9223372036854775808 / -1", HIGHEST),
        ("-9223372036854775808 % -1", 0),
    ],
    "real arithmetic errs on plus infinity only, and knows no remainder": [
        ("1 / 2.0", 0.5),
        ("1.0 / 0", ERROR),
        ("-1.0 / 0", -math.inf),
        ("5.0 % 2", ERROR),
        ("1e308 * 10", ERROR),
    ],
    "booleans count as numbers in arithmetic but cannot be negated": [
        ("true + true", 2),
        ("true * 2.5", 2.5),
        ("-true", ERROR),
        ("+true", ERROR),
        ("true & 1", ERROR),
    ],
    "shifts are those of the machine": [
        ("1 << 65", 2),
        ("1 << -1", LOWEST),
        ("-1 >> 70", -1),
        ("-8 >>> 1", 9223372036854775804),
        ("-8 >>> 0", 0),
        ("~3", -4),
        ("5 ^ 1", 4),
        ("~1.5", ERROR),
    ],
    "== ignores the case of strings, is and =?= do not": [
        ('"Linux" == "LINUX"', True),
        ('"a" < "B"', True),
        ('"Linux" is "LINUX"', False),
        ('"Linux" =!= "LINUX"', True),
        ("1 == 1.0", True),
        ("1 is 1.0", False),
        ("true == 1", True),
        ("true is 1", False),
        ('"a" == 1', ERROR),
    ],
    "undefined spreads through operators, is tells it": [
        ("Nowhere == 1", UNDEFINED),
        ("Nowhere + 1", UNDEFINED),
        ("Nowhere is undefined", True),
        ("Nowhere =!= undefined", False),
        ("error is error", True),
        ("undefined == error", ERROR),
        ("error == 1", ERROR),
        ("-undefined", UNDEFINED),
        ("!undefined", UNDEFINED),
    ],
    "and and or are three-valued and look left first": [
        ("undefined && false", False),
        ("undefined && true", UNDEFINED),
        ("undefined && error", ERROR),
        ("false && error", False),
        ("error && false", ERROR),
        ("undefined || true", True),
        ("undefined || false", UNDEFINED),
        ("true || error", True),
        ("error || true", ERROR),
        ("1 && 2", True),
        ("0.0 || 0", False),
        ('true && "x"', ERROR),
        ('false && "x"', False),
        ('"x" && false', ERROR),
        ("!2", False),
        ('!"x"', ERROR),
    ],
    "the conditional takes numbers, and passes undefined on": [
        ("2 ? 1 : error", 1),
        ("0.0 ? error : 2", 2),
        ("undefined ? 1 : 2", UNDEFINED),
        ('"x" ? 1 : 2', ERROR),
        ("Nowhere ?: 7", 7),
        ("Nowhere ? : 7", 7),
        ("error ?: 7", ERROR),
        ("Owner ?: 7", "alice"),
        ("ifThenElse(2, 1, error)", 1),
        ("ifThenElse(undefined, 1, 2)", UNDEFINED),
        ('ifThenElse("x", 1, 2)', ERROR),
        ("ifThenElse(true, 1)", ERROR),
    ],
    "a bare name is the own ad's, else the other ad's, seen from there": [
        ("OnlySlot", 2.5),
        ("TARGET.OnlyJob", UNDEFINED),
        ("MY.OnlySlot", UNDEFINED),
        ("Both", "job"),
        ("TARGET.both", "slot"),
        ("Answers", "slot"),
        ("Asks", "slot"),
        ("TARGET.Memory >= RequestMemory", True),
        ("MY.TARGET.Both", "slot"),
        ("TARGET.MY.Both", "slot"),
        ("other.CPUS", 4),
        ("Nowhere.x", UNDEFINED),
        ("Owner.x", ERROR),
        ("TARGET.Nested.y", 2),
    ],
    "an attribute that leads back to itself is undefined there": [
        ("Self", UNDEFINED),
        ("AsksItself", True),
        ("Ping", UNDEFINED),
        ("Ping is undefined", True),
    ],
    "lists": [
        ("{1, 2}[1]", 2),
        ("{1, 2}[2]", ERROR),
        ("{1, 2}[1.0]", ERROR),
        ("{1, 2} == 1", ERROR),
        ("Tags[1]", "B"),
        ("size(Tags)", 3),
        ('member("b", Tags)', True),
        ('identicalMember("b", Tags)', False),
        ("min({TARGET.Cpus, 2.5, 3})", 2.5),
        ("max({TARGET.Cpus, undefined})", 4),
        ('max({1, "a"})', ERROR),
        ("{Owner, Both}[0]", "alice"),
        ('split(TARGET.Name, "@")[0]', "slot1"),
        ("isList(Tags)", True),
    ],
    "conversions and rounding": [
        ('int("12abc")', 12),
        ("int(-3.7)", -3),
        ("int(undefined)", UNDEFINED),
        ("int(1e300)", LOWEST),
        ('real("1.5")', 1.5),
        ("real(true)", 1.0),
        ("round(2.5)", 2),
        ("round(-3.5)", -4),
        ("floor(-1.5)", -2),
        ("floor(undefined)", ERROR),
        ('ceiling("1.2")', 2),
        ("pow(2, 3)", 8),
        ("pow(2, -1)", 0.5),
        ("quantize(5, 4)", 8),
        ("string(1)", "1"),
    ],
    "strings": [
        ('strcat(Owner, "-", 1)', "alice-1"),
        ("toUpper(Owner)", "ALICE"),
        ("size(Owner)", 5),
        ('substr("hello", 1, 3)', "ell"),
        ('substr("hello", -2)', "lo"),
        ('strcmp("a", "B")', 1),
        ('stricmp("a", "B")', -1),
        ('regexp("^NODE[0-9]+", "node7")', False),
        ('regexp("^NODE[0-9]+", "node7", "i")', True),
        ('regexp("node[0-9]", TARGET.Name)', True),
        ('stringListMember("b", "a, b,c")', True),
        ('stringListMember("B", "a, b,c")', False),
        ('stringListIMember("B", "a, b,c")', True),
        ('versionGE(split(TARGET.Version)[1], "8.9.2")', True),
        ('versionLT("8.9.12", "8.10")', True),
        ('isString(strcat(1, "a"))', True),
    ],
    "the text of a list or an ad is as written": [
        ('string({1, "a"})', '{ 1,"a" }'),
        ('strcat({"a"}, Owner)', '{ "a" }alice'),
        ("toUpper({TARGET.cpus})", "{ TARGET.CPUS }"),
        ("strcat([a = TARGET.cpus], 1)", "[ a = TARGET.cpus ]1"),
        ('join(",", {Owner, 1})', "alice,1"),
    ],
    "what does not exist is an error": [
        ("noSuchFunction(1)", ERROR),
        ("isNumber(1)", ERROR),
        ("isUndefined(1, 2)", ERROR),
        ("min(1, 2)", ERROR),
    ],
    "text forms": [
        ('"a" "b"', "ab"),
        ('"\\101\\"\\n"', 'A"\n'),
        ("'Owner'", "alice"),
        (".5e1", 5.0),
        ("1 - -1", 2),
        ("3-1", 2),
        ("99999999999999999999", 0),
        ("1e400", math.inf),
        ("TRUE IS True", True),
    ],
}
TABLE = [pytest.param(text, want, id=f"{title}: {text}") for title, rows in CASES.items() for text, want in rows]


def typed(value):
    return type(value).__name__, repr(value)


@pytest.mark.parametrize(("text", "want"), TABLE)
def test_an_expression_means(text, want):
    """
    The one ad against many, and the many against the one, give what HTCondor's library gives for the pair.
    """
    expression = parse(text)
    rows = AdColumns([SLOT, {}, SLOT])

    assert typed(want) == typed(evaluate_scalar(expression, JOB, SLOT))
    assert typed(want) == typed(evaluate_in_ad(expression, JOB, rows).python(2))
    assert typed(want) == typed(evaluate_in_columns(expression, AdColumns([{}, JOB]), SLOT).python(1))


def test_not_a_number_is_equal_to_nothing():
    """
    NaN is true as a condition, yet neither equal to nor identical with itself.
    """
    rows = AdColumns([{"X": math.nan}, {"X": 1.0}])

    def results(text):
        values = evaluate_in_ad(parse(text), {}, rows)
        return [values.python(0), values.python(1)]

    assert results("X == X") == [False, True]
    assert results("X is TARGET.X") == [False, True]
    assert results("X ? 1 : 2") == [1, 1]
    assert results("int(X)") == [-(2**63), 1]


@pytest.mark.parametrize(
    ("text", "job"),
    [
        ("max(A)", {"A": "/Expr({max(A)})/"}),
        ('MY["A"]', {"A": '/Expr(MY["A"])/'}),
        ("A.B", {"A": ["a", "/Expr(A)/"]}),
        ('MY[strcat("A", "")]', {"A": '/Expr(MY[strcat("A", "")])/'}),
    ],
)
def test_a_circle_through_a_list_is_an_error(text, job):
    """
    HTCondor's library never returns from such a circle, so it is not asked.
    """
    assert evaluate_scalar(parse(text), job) is ERROR
    assert evaluate_in_ad(parse(text), job, AdColumns([{}, {"x": 1}])).python(1) is ERROR


def test_chains_of_attributes_end_where_the_library_gives_up():
    """
    A chain of 100 attributes has a value, one of 500 is an error.
    """
    chain: dict[str, Any] = {f"A{i}": f"/Expr(A{i + 1})/" for i in range(500)}
    slots = AdColumns([{**chain, "A500": 1}, {**chain, "A100": 7}])

    results = evaluate_in_columns("A0", slots, {})

    assert [results.python(0), results.python(1)] == [ERROR, 7]
