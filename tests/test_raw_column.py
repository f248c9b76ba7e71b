"""A column that is parsed when it is read has the values of one that is parsed at once."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fairq.raw_column import RawColumn

VALUES = st.one_of(st.integers(), st.floats(allow_nan=False), st.text(), st.booleans(), st.none(), st.lists(st.text()))


@given(st.lists(VALUES, min_size=1, max_size=5), st.integers(1, 4))
def test_the_values_are_those_of_the_text(values: list[object], places: int) -> None:
    every = values * places if len(values) == 1 else values
    column = RawColumn(json.dumps(values).encode(), len(every))
    nested = any(isinstance(value, list) for value in values)

    assert not nested or column.may_hold(b"[")
    assert (list(column), column[0], len(column), column[1:]) == (every, every[0], len(every), tuple(every[1:]))
    assert column == RawColumn(json.dumps(values, indent=1).encode(), len(every)) == tuple(every)


def test_what_only_the_parser_of_python_reads_is_read_too() -> None:
    column = RawColumn(b'["\\ud800", Infinity, 1e999]', 3)

    assert list(column) == ["\ud800", float("inf"), float("inf")]
