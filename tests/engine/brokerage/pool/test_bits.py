"""Sets of queues as integers say what arrays say."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairq.engine.brokerage.pool.bits import Runs, bits_at, bits_of, flags_in, joined, parts_of, rows_in

members = st.lists(st.booleans(), max_size=40).map(lambda flags: np.array(flags, dtype=np.bool_))


@given(members)
def test_a_set_has_the_members_it_was_made_of(flags: np.ndarray) -> None:
    bits = bits_of(flags)
    assert bits.bit_count() == flags.sum()
    assert flags_in(bits, len(flags)).tolist() == flags.tolist()
    assert rows_in(bits, len(flags)).tolist() == flags.nonzero()[0].tolist()
    assert bits_at(flags.nonzero()[0], len(flags)) == bits


@given(st.lists(st.integers(0, 3), max_size=40), st.data())
def test_each_code_has_its_rows(numbers: list[int], data: st.DataObject) -> None:
    codes = np.array(numbers, dtype=np.uint8)
    found = dict(parts_of(codes))
    assert found == {code: bits_of(codes == code) for code in {*numbers} - {0}}
    rows = data.draw(st.sets(st.integers(0, 60), min_size=len(codes), max_size=len(codes)))
    places = np.array(sorted(rows), dtype=np.intp)
    spread = np.zeros(61, dtype=np.uint8)
    spread[places] = codes
    assert dict(parts_of(codes, places, 61)) == dict(parts_of(spread))


@given(st.lists(members, max_size=4))
def test_joined_sets_have_the_members_of_each(several: list[np.ndarray]) -> None:
    wanted = {row for flags in several for row in flags.nonzero()[0].tolist()}
    assert set(rows_in(joined(map(bits_of, several)), 40).tolist()) == wanted


@given(st.lists(st.integers(1, 9), max_size=12), st.data())
def test_units_are_counted_by_their_rows(sizes: list[int], data: st.DataObject) -> None:
    unit_of = np.repeat(np.arange(len(sizes), dtype=np.intp), sizes)
    flags = np.array(data.draw(st.lists(st.booleans(), min_size=len(unit_of), max_size=len(unit_of))), dtype=np.bool_)
    assert Runs(unit_of).count(bits_of(flags)) == len({*unit_of[flags].tolist()})
