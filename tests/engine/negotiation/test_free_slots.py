"""The search for slots that are still free finds the same whether it looks at few of them or at many."""

from __future__ import annotations

import random

import numpy as np
import pytest

from fairq.engine.negotiation.marks import first_unmarked
from fairq.engine.negotiation.matchlist import FreeSlots
from fairq.engine.negotiation.rest import FreeOfBucket

SIZES = [0, 1, 7, 8, 9, 264, 265, 1288, 1289, 3000]


@pytest.mark.parametrize("size", SIZES)
def test_the_first_unmarked_number_is_found_wherever_it_is(size: int) -> None:
    order = np.array(random.Random(size).sample(range(size), size), np.int32)
    for place in {0, 7, 8, 263, 264, 1287, 1288, size - 1} & set(range(size)):
        marks = bytearray([1]) * size
        marks[order[place]] = 0
        for start in {0, place - 1, place} & set(range(place + 1)):
            assert first_unmarked(marks, order, start) == place
        assert first_unmarked(marks, order, place + 1) == size
    assert first_unmarked(bytearray([1]) * size, order, 0) == size


@pytest.mark.parametrize("most", [1, 3, 4, 5, 50])
def test_slots_taken_together_are_those_taken_one_by_one(most: int) -> None:
    drawn = random.Random(most)
    candidates = np.array([drawn.random() < 0.3 for _ in range(600)])
    order = np.array(drawn.sample(range(600), 600), np.int32)
    expected = [int(slot) for slot in order if candidates[slot]]
    free, found, start = FreeSlots(candidates), [], 0
    while start < len(order):
        slots, start = free.next_ones(order, start, most)
        free.take_all(slots)
        found += slots
        assert free.left == len(expected) - len(found)
        assert all(free.is_taken(slot) for slot in slots)
    assert found == expected
    assert not free.mask().any()


@pytest.mark.parametrize("most", [1, 7, 90])
def test_the_rest_of_a_bucket_is_what_is_free_at_that_moment(most: int) -> None:
    """Slots are found by their place among the free ones, also when others are taken later."""
    drawn = random.Random(most)
    marked, candidates = (np.array([drawn.random() < part for _ in range(900)]) for part in (0.7, 0.9))
    free = FreeSlots(candidates)
    bucket = FreeOfBucket(marked, free)
    left = np.flatnonzero(candidates).tolist()
    while left:
        expected = np.flatnonzero(marked & free.mask())
        rest = bucket.now()
        taken = drawn.sample(left, min(most, len(left)))
        free.take_all(taken[1:])
        free.take(taken[0])
        left = [slot for slot in left if not free.is_taken(slot)]
        assert len(rest) == len(expected)
        assert rest.at(np.arange(len(rest))).tolist() == expected.tolist()
