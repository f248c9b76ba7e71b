"""The search for slots that are still free finds the same whether it looks at few of them or at many."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.engine.negotiation.free_slots import SlotClasses, TakenSlots
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.match_list import MatchList
from fairq.engine.negotiation.preemption import NONE, PRIO, RANK
from fairq.engine.negotiation.queue import first_unmarked

SIZES = [0, 1, 7, 8, 9, 264, 265, 1288, 1289, 3000]


@pytest.mark.parametrize("size", SIZES)
def test_the_first_unmarked_number_is_found_wherever_it_is(size):
    order = np.array(random.Random(size).sample(range(size), size), np.int64)
    for place in {0, 7, 8, 263, 264, 1287, 1288, size - 1} & set(range(size)):
        marks = bytearray([1]) * size
        marks[order[place]] = 0
        for start in {0, place - 1, place} & set(range(place + 1)):
            assert first_unmarked(marks, order, start) == place
        assert first_unmarked(marks, order, place + 1) == size
    assert first_unmarked(bytearray([1]) * size, order, 0) == size


@pytest.mark.parametrize("size", SIZES)
def test_the_first_free_slot_is_found_wherever_it_is(size):
    rows = np.array(random.Random(size).sample(range(size), size), np.int32)
    for place in {0, 7, 8, 63, 64, 319, 320, size - 1} & set(range(size)):
        taken = TakenSlots(np.arange(size) == rows[place])
        for start in {0, place - 1, place} & set(range(place + 1)):
            assert taken.first_free(rows, start) == place
        taken.take([int(rows[place])])
        assert taken.first_free(rows, 0) == size
        assert taken.left == 0


@given(
    seed=st.integers(0, 10_000),
    size=st.sampled_from([1, 5, 40, 700]),
    most=st.sampled_from([1, 2, 5, 50]),
    limit=st.sampled_from([0.0, 1.0, 7.5, 40.0, 1e9]),
    exact=st.booleans(),
    free_first=st.booleans(),
    held=st.booleans(),
)
def test_slots_taken_together_are_those_taken_one_by_one(seed, size, most, limit, exact, free_first, held):
    drawn = random.Random(seed)
    weights = np.array([drawn.choice([1.0, 1.0, 2.0]) for _ in range(size)])
    states = [NONE, RANK, PRIO] if held else [NONE]
    state = np.array([drawn.choice(states) for _ in range(size)], np.int8)
    candidates = np.array([drawn.random() < 0.8 for _ in range(size)])
    allowed = np.array([drawn.random() < 0.7 for _ in range(size)]) | (state != PRIO) if held else None
    order = np.array(drawn.sample(range(size), size), np.int32)

    def list_of_slots():
        limits = Limits(limit=limit, unclaimed_limit=limit / 2, ceiling=limit, exact=exact, free_first=free_first)
        classes, taken = SlotClasses(weights, None), TakenSlots(candidates)
        numbers = classes.in_state(state)
        match_list = MatchList(iter((order,)), numbers, classes, set(numbers.tolist()), True, allowed, taken, limits)
        return match_list, taken, limits

    def popped(at_once):
        match_list, taken, limits = list_of_slots()
        all_slots: list[int] = []
        while limits.used < min(limit, limits.ceiling) and not limits.permits_nothing_free:
            step = match_list.pop_many(at_once)
            if step is None:
                break
            slots, reason = step
            assert len(slots) == 1 or (reason == NONE and len(set(weights[slots])) == 1)
            taken.take(slots)
            limits.use(weights[slots[0]], len(slots), claimed=reason != NONE)
            all_slots += slots
        return all_slots

    assert popped(most) == popped(1)
