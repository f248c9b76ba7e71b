"""The order among equal slots is the one that the negotiator's own sort leaves."""

import json
import lzma
from itertools import chain
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairq.engine.std_sort import equal_sorted, std_sorted, unequal_sorted

RECORDED = Path(__file__).parent / "std_sort.json.xz"


def test_orders_are_those_recorded_from_libstdcxx():
    """Ties, sorted runs and a sequence that drives the sort into its heap come out as std::sort left them."""
    for case in json.loads(lzma.decompress(RECORDED.read_bytes())):
        got = list(std_sorted(np.array(case["keys"], dtype=np.int64)))

        assert case["order"] == got


def test_equal_keys_come_in_the_order_that_the_algorithm_leaves():
    """What follows from the number of equal keys alone is what sorting them would give."""
    for size in (*range(140), 1023, 1024, 1025, 4097, 10_000):
        by_sorting = list(chain.from_iterable(unequal_sorted(np.zeros(size, np.int64))))

        for expected in (0, 300, 100_000):
            assert list(chain.from_iterable(equal_sorted(size, expected))) == by_sorting


@given(st.lists(st.integers(0, 5), max_size=200))
def test_result_is_a_sorted_permutation(keys):
    """Whatever the ties, every entry appears once and no worse one comes before a better one."""
    order = list(std_sorted(np.array(keys, dtype=np.int64)))

    assert sorted(order) == list(range(len(keys)))
    assert [keys[i] for i in order] == sorted(keys)


@given(st.lists(st.integers(0, 3), max_size=16))
def test_short_lists_keep_their_order_among_equals(keys):
    """Up to 16 entries the sort is a stable one."""
    order = list(std_sorted(np.array(keys, dtype=np.int64)))

    assert order == sorted(range(len(keys)), key=keys.__getitem__)
