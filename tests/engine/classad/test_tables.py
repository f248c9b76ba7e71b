"""Ads kept as a table, and columns of which some ads are changed, read like the ads themselves."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairq.columns.ads import AdTable, EditedAds
from fairq.engine.classad import AdColumns

values = st.sampled_from(
    [1, 2, 2.5, True, "x", "X", "/Expr(A + 1)/", "/Expr(undefined)/", "/Expr(B)/", ["a", 1], {"A": 1}, ["/Expr(B)/"]]
)
ads = st.dictionaries(st.sampled_from(["A", "a", "B", "Cpus"]), values, max_size=4)


def same(columns, expected):
    plain = AdColumns(expected)
    assert len(columns) == len(plain)
    for name in ("a", "b", "cpus"):
        for row in range(len(expected)):
            assert repr(columns.json_value(row, name)) == repr(plain.json_value(row, name))
    assert plain.expression_names() <= columns.expression_names()


@given(st.lists(ads, min_size=1, max_size=8), st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_a_table_reads_like_its_ads(drawn, at_once):
    table = AdTable()
    for first in range(0, len(drawn), at_once):
        part = drawn[first : first + at_once]
        table.put(range(first, first + len(part)), part)

    assert list(table) == drawn == [table[row] for row in range(len(drawn))]
    same(AdColumns(table), drawn)


whole = st.one_of(
    st.integers(-3, 3), st.integers(-(2**70), 2**70), st.sampled_from([10**18, -(10**18), 2**63, -(2**63)])
)
mostly_whole = st.lists(whole, max_size=4) | st.lists(whole | st.sampled_from([1.5, True, "7", None, [1]]), max_size=4)


@given(st.lists(mostly_whole.filter(bool), min_size=1, max_size=3))
def test_columns_put_read_like_those_of_the_ads(drawn):
    """In any part of the table, one value may stand for all rows."""
    table, first = AdTable(), 0
    for number, of_part in enumerate(drawn):
        size = number + 2 if len(of_part) == 1 else len(of_part)
        column = of_part * size if len(of_part) == 1 else of_part
        table.put_columns(("A",), range(first, first + size), [column])
        first += size

    same(AdColumns(table), list(table))


@given(st.lists(ads, min_size=1, max_size=6), st.data())
@settings(max_examples=75, deadline=None)
def test_changed_columns_read_like_changed_ads(drawn, data):
    """Twice changed, and with what is read before or after the change."""
    columns, expected = AdColumns(drawn), drawn
    for _ in range(2):
        if data.draw(st.booleans()):
            columns.column("a")
        rows = data.draw(st.lists(st.integers(0, len(expected) - 1), min_size=1, max_size=6))
        changed = data.draw(st.dictionaries(st.integers(0, len(rows) - 1), ads, max_size=2))
        columns = columns.edited(np.array(rows), changed)
        expected = list(EditedAds(expected, rows, changed))
        same(columns, expected)
