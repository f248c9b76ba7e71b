"""Ads as columns: what goes in, what time it is, and which attributes matter."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairq.engine.classad import (
    ERROR,
    EVERY_ATTRIBUTE,
    UNDEFINED,
    AdColumns,
    Expression,
    attributes_read,
    evaluate_in_ad,
    evaluate_in_columns,
    evaluate_scalar,
    expression_of,
    parse,
)
from fairq.errors.base import ExpressionError

SAMPLE = Path(__file__).parents[2] / "data" / "condor_status-long-8.9.ads.gz"


def python(values):
    return [values.python(row) for row in range(len(values))]


def real_slots():
    """Slots of a real pool (`condor_status -long` of HTCondor 8.9.12), in the form of -json."""
    ads = []
    for block in gzip.decompress(SAMPLE.read_bytes()).decode().split("\n\n"):
        ad = {}
        for line in block.splitlines():
            name, _, text = line.partition(" = ")
            value = evaluate_scalar(parse(text), {})
            ad[name] = value if text[0] in '"-0123456789' or text in ("true", "false") else f"/Expr({text})/"
            if "*" in text and not text.startswith('"'):
                ad[name] = f"/Expr({text})/"
        if ad:
            ads.append(ad)
    return ads


class TestColumns:
    def test_names_ignore_case(self):
        """
        Ads may spell an attribute differently, an expression may spell it a third way.
        """
        slots = AdColumns([{"Memory": 1}, {"MEMORY": 2}, {"memory": 3, "Memory": 4}])

        assert python(evaluate_in_ad(parse("TARGET.mEmOrY"), {}, slots)) == [1, 2, 4]

    def test_every_kind_of_value_keeps_its_kind(self):
        """
        Values come out as they went in; what JSON calls an expression is evaluated.
        """
        values = [1, 1.0, True, "a", "/Expr(1 + 1)/", "/Expr(error)/", None, [1, "a"], 2**70]
        slots = AdColumns([{"X": value} for value in values] + [{}])
        want = [1, 1.0, True, "a", 2, ERROR, UNDEFINED, [1, "a"], 0, UNDEFINED]

        assert repr(want) == repr([slots.value(row, "x") for row in range(len(slots))])
        assert repr(want) == repr(python(evaluate_in_columns("X", slots, {})))

    def test_with_column_replaces_an_attribute_everywhere(self):
        """
        None takes the attribute away, so that a bare name goes on to the other ad.
        """
        slots = AdColumns([{"RemoteUserPrio": 1.0}, {"remoteuserprio": 2.0}])
        slots.with_column("RemoteUserPrio", [None, 5.0])

        assert python(evaluate_in_columns(parse("RemoteUserPrio"), slots, {"RemoteUserPrio": 7})) == [7, 5.0]

        slots.with_column("RemoteUserPrio", np.array([1.5, 2.5]))

        assert python(evaluate_in_columns(parse("RemoteUserPrio"), slots, {})) == [1.5, 2.5]
        with pytest.raises(ValueError, match="3 values of X for 2 ads"):
            slots.with_column("X", [1, 2, 3])

    def test_rows_restrict_and_order_the_evaluation(self):
        """
        The results are those of the rows asked for, in that order, expression-valued attributes included.
        """
        slots = AdColumns([{"Cpus": cpus, "W": "/Expr(Cpus * 2)/" if cpus % 2 else cpus} for cpus in range(6)])

        assert python(evaluate_in_columns("W", slots, {}, np.array([5, 0, 1]))) == [10, 0, 2]
        assert python(evaluate_in_columns("W", slots, {}, [])) == []

    def test_an_attribute_name_never_reaches_the_other_ad(self):
        """
        A slot without Requirements has none, whatever the job requires.
        """
        slots = AdColumns([{}, {"Requirements": "/Expr(TARGET.X > 1)/"}])

        assert python(evaluate_in_columns("Requirements", slots, {"Requirements": True, "X": 2})) == [UNDEFINED, True]


class TestTime:
    NOW = 1_700_000_000

    @pytest.mark.parametrize(
        ("text", "want"),
        [
            ("time() - 10", NOW - 10),
            ("CurrentTime", NOW),
            ("TARGET.CurrentTime", NOW),
            ("TARGET.Age", 100),
            ("int(currentTime())", NOW),
            ('formatTime(absTime(), "%Y")', "2023"),
            ('eval("CurrentTime")', NOW),
            ("int(dayTime()) % 60", NOW % 60),
        ],
    )
    def test_the_caller_tells_the_time(self, text, want):
        """
        Every way to ask for the time gives *now*, whether columns or the library evaluate.
        """
        slot = {"Since": self.NOW - 100, "Age": "/Expr(time() - Since)/"}

        assert want == evaluate_in_ad(parse(text), {}, AdColumns([slot, {}], now=self.NOW)).python(0)
        assert want == evaluate_scalar(parse(text), {}, slot, now=self.NOW)

    def test_without_the_caller_s_time_there_is_none(self):
        """
        The clock is never read.
        """
        assert python(evaluate_in_ad(parse("time() + CurrentTime"), {}, AdColumns([{}]))) == [UNDEFINED]
        assert evaluate_scalar(parse("time()"), {}) is UNDEFINED

    def test_a_length_of_time_is_no_rank(self):
        """
        relTime(5) looks like 5.0 in Python, but is neither a number nor true.
        """
        results = evaluate_in_ad(parse("relTime(X)"), {}, AdColumns([{"X": 5}, {"X": "junk"}]))

        assert results.as_rank().tolist() == [0.0, 0.0]
        assert not results.is_true().any()


class TestAttributesRead:
    SLOTS = AdColumns(
        [
            {"Memory": 1, "Requirements": "/Expr(Start && Fits)/", "Fits": "/Expr(TARGET.RequestMemory <= Memory)/"},
            {"Memory": 1, "Requirements": '/Expr(Start && Owner =!= "bob")/', "Start": True, "Fits": 1},
        ]
    )

    def read(self, text, side, *ads):
        return set(attributes_read([parse(text)], side, self.SLOTS, ads))

    def test_references_are_followed_through_both_sides(self):
        """
        Also a name that only some slots have, and what the job's own expressions read, count.
        """
        assert {"requestmemory", "start", "owner"} == self.read("TARGET.Requirements", "my")
        assert {"requestmemory", "start", "owner"} == self.read("Requirements", "target") - {"requirements"}
        assert {"a", "b"} == self.read("MY.A", "my", {"A": "/Expr(TARGET.Memory + B)/"}, {"A": 1})
        assert {"a", "c"} == self.read("A", "my", {"A": "/Expr({1, C}[0])/"})

    def test_what_all_slots_have_is_not_read_of_the_job(self):
        """
        Memory in a slot's expression is the slot's.
        """
        assert set() == self.read("Memory + 1", "target")
        assert {"memory"} == self.read("Memory + 1", "my")

    def test_what_cannot_be_told_is_everything(self):
        """
        An expression that computes names may read any attribute.
        """
        assert EVERY_ATTRIBUTE in self.read("eval(Owner)", "my")
        assert EVERY_ATTRIBUTE in self.read("size(unparse(Owner))", "my")

    def test_the_ads_tell_what_they_want_of_others(self):
        """
        The significant attributes of a pool, for all of its expressions or for some.
        """
        assert {"requestmemory", "start", "owner"} == self.SLOTS.external_references()
        assert {"requestmemory"} == self.SLOTS.external_references(["Fits"])


class TestParse:
    @pytest.mark.parametrize(
        "text",
        ["", "1 +", "a b", '"open', "(1", "1; b = 2", "f(1,)", "0x10", "1.", "x ?: -y", "{1", "a = b", "5K", "[a = 1"],
    )
    def test_what_is_no_expression_is_refused(self, text):
        """
        The message shows the text; the exit code is 21.
        """
        with pytest.raises(ExpressionError) as caught:
            parse(text)

        assert repr(text) in str(caught.value)
        assert caught.value.exit_code == 21

    def test_the_message_shows_the_place(self):
        """
        In a long expression the part around the mistake is shown.
        """
        with pytest.raises(ExpressionError, match=r"near 'ry > > 5'"):
            parse('(OpSys == "LINUX") && Memory > > 5')

    def test_values_become_expressions(self):
        """
        An ad's value evaluates to itself, an expression to its meaning.
        """
        for value in (5, -5, 2.5, True, 'a "quoted" \\ text\n', 1e300, -0.0):
            assert repr(value) == repr(evaluate_scalar(expression_of(value), {}))
        assert evaluate_scalar(expression_of("/Expr(A + 1)/"), {"A": 1}) == 2
        assert evaluate_scalar(expression_of(None), {}) is UNDEFINED

    def test_very_deep_expressions_are_the_library_s(self):
        """
        100 nested parentheses still have a value, 1000 terms are more than the library evaluates.
        """
        for text, want in (("(" * 100 + "X" + ")" * 100, 3), (" + ".join(["X"] * 1000), ERROR)):
            assert python(evaluate_in_ad(parse(text), {}, AdColumns([{"X": 3}]))) == [want]


REAL_EXPRESSIONS = [
    '(TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Disk >= RequestDisk) && '
    "(TARGET.Memory >= RequestMemory) && "
    "((TARGET.FileSystemDomain == MY.FileSystemDomain) || (TARGET.HasFileTransfer))",
    'regexp("gthain", Machine) && versionGE(split(CondorVersion)[1], "8.9.0")',
    'stringListIMember("hasvm", StarterAbilityList) && TARGET.HasJobDeferral is true',
    "ifThenElse(isUndefined(Mips), 0, Mips) + KeyboardIdle / 60 - LoadAvg",
    "CpuBusy || MachineMaxVacateTime > 500",
    "DaemonShutdown",
    "Unhibernate =!= undefined",
    "min({Cpus, 4}) * 1000 + Memory % 1000",
    "SlotWeight * (1.0 / TotalCpus)",
    'member(State, {"Unclaimed", "Owner"}) ? TotalSlotDisk : 0',
]


@pytest.mark.parametrize("text", REAL_EXPRESSIONS)
def test_real_slots_agree_with_the_library(text):
    """
    Expressions as jobs and pools use them, over the slots of a real pool.
    """
    slots = real_slots()
    job = {"RequestDisk": "/Expr(DiskUsage)/", "DiskUsage": 100, "RequestMemory": 1024, "FileSystemDomain": "x"}
    columns = AdColumns(slots, now=1615757000)
    expression: Expression = parse(text)

    assert len(slots) == 8
    want = [repr(evaluate_scalar(expression, job, slot, now=1615757000)) for slot in slots]
    assert want == list(map(repr, python(evaluate_in_ad(expression, job, columns))))
    want = [repr(evaluate_scalar(expression, slot, job, now=1615757000)) for slot in slots]
    assert want == list(map(repr, python(evaluate_in_columns(expression, columns, job))))


def test_all_attributes_of_real_slots_agree_with_the_library():
    """
    Each attribute of each slot, expressions included, has the library's value.
    """
    slots = real_slots()
    columns = AdColumns(slots, now=1615757000)

    for name in slots[0]:
        want = [repr(evaluate_scalar(parse(name), slot, {}, now=1615757000)) for slot in slots]
        assert want == list(map(repr, python(evaluate_in_columns(name, columns, {}))))


class TestRandom:
    SLOTS = ({"Cpus": 4}, {"Cpus": 4}, {"Cpus": 4})

    def draw(self, text, now, rows=None):
        return python(evaluate_in_ad(parse(text), {}, AdColumns(self.SLOTS, now=now), rows))

    def test_rows_draw_different_numbers_the_same_ones_at_the_same_time(self):
        """
        A rank of random() spreads jobs over equal slots, yet a cycle can be repeated.
        """
        first = self.draw("random()", 1)

        assert len(set(first)) == 3
        assert all(0 <= number < 1 for number in first)
        assert first == self.draw("random()", 1)
        assert first[2:] == self.draw("random()", 1, [2])
        assert first != self.draw("random()", 2)
        assert set(attributes_read([parse("random()")], "my", AdColumns(self.SLOTS))) == set()

    def test_the_argument_gives_range_and_kind(self):
        """
        Integers below an integer, reals below a real; nothing can be drawn below zero or a string.
        """
        assert all(isinstance(number, int) and 0 <= number < 4 for number in self.draw("random(Cpus)", 1))
        assert all(isinstance(number, float) for number in self.draw("random(2.5)", 1))
        assert self.draw("random(0)", 1) == [ERROR] * 3
        assert self.draw('random("a")', 1) == [ERROR] * 3


def test_an_undefined_or_wrong_element_of_a_list_is_that():
    """Lists of ads come from the library, with the library's own marks."""
    ads: list[dict[str, Any]] = [{"Sizes": ["a", size]} for size in (2, None, "/Expr(error)/", 0)]

    values = evaluate_in_columns(parse("Sizes[1]"), AdColumns(ads), {})

    assert values.is_true().tolist() == [True, False, False, False]
    assert values.as_rank(7.0).tolist() == [2.0, 7.0, 7.0, 0.0]


def test_the_place_of_an_element_is_its_lower_32_bits():
    """As the library casts it: a place beyond them may be one of the list."""
    indexes = [1, 2**53 + 1, 2**32, -(2**32) + 1, 2**31, 2**31 - 1, -1, 2]
    ads = AdColumns([{"Place": index} for index in indexes], 0)

    values = python(evaluate_in_columns(parse("{64, 65}[Place]"), ads, {}))

    assert values == [evaluate_scalar(parse("{64, 65}[Place]"), {"Place": index}, {}, 0) for index in indexes]
    assert values[1:4] == [65, 64, 65]
