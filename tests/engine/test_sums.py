"""Many equal amounts are added as one after the other."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from fairq.engine.sums import added, summed

amounts = st.one_of(st.integers(-8, 8).map(float), st.floats(-1e3, 1e3), st.sampled_from([0.1, 1 / 3, 2.0**53, 1e16]))


@given(amounts, amounts, st.integers(0, 60))
def test_the_sum_is_that_of_single_additions_to_the_last_digit(total, amount, times):
    single = total
    for _ in range(times):
        single += amount

    assert added(total, amount, times) == single


@given(st.lists(st.tuples(st.sampled_from("abc"), st.one_of(st.sampled_from([1.0, 0.1]), amounts)), max_size=30))
def test_sums_by_name_are_those_of_single_additions_in_order(uses):
    single: dict[str, tuple[int, float]] = {}
    for name, amount in uses:
        count, total = single.get(name, (0, 0.0))
        single[name] = count + 1, total + amount

    assert list(summed(Counter(uses), uses).items()) == list(single.items())
