"""Which queue and which job is drawn."""

from collections import Counter

import numpy as np
import pytest
from tests.engine.shares.queues import DIRAC, DOCUMENTED, chances, preset

from fairq.engine.shares.choice import choose_jobs, choose_queues, order

DRAWS = 4000


def drawn(weights, selection):
    draw = np.random.default_rng(1).random
    counts = Counter(order(weights, draw, selection)[0] for _ in range(DRAWS))
    return [counts[index] / DRAWS for index in range(len(weights))]


@pytest.mark.parametrize("weights", [[2, 1], [10, 1], [5, 3, 2], [20] + [1] * 20])
@pytest.mark.parametrize("selection", ["dirac", "proportional", "strict"])
def test_the_chances_that_are_told_are_those_of_the_draw(weights, selection):
    expected = chances(weights, selection)
    assert sum(expected) == pytest.approx(1)
    assert drawn(weights, selection) == pytest.approx(expected, abs=0.04)


def test_diracs_draw_favours_the_heavy_ones():
    assert chances([2, 1], "dirac") == pytest.approx([0.75, 0.25])
    assert chances([10, 1], "dirac") == pytest.approx([0.95, 0.05])
    assert chances([5, 3, 2], "dirac") == pytest.approx([0.58, 0.26, 0.16])
    assert chances([20] + [1] * 20, "dirac")[0] == pytest.approx(0.628, abs=5e-4)
    assert chances([5, 3, 2], "proportional") == pytest.approx([0.5, 0.3, 0.2])


def test_the_same_numbers_give_the_same_order():
    weights = [5.0, 3.0, 2.0, 1.0]
    orders = [order(weights, np.random.default_rng(7).random, "proportional") for _ in range(2)]
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == [0, 1, 2, 3]


def test_strict_takes_the_heaviest_and_of_equals_the_first():
    assert order([1.0, 3.0, 3.0, float("nan")], np.random.default_rng(1).random, "strict") == [1, 2, 0, 3]


def test_weights_of_nothing_come_last():
    assert order([0.0, 1e-9, float("nan"), -1.0], np.random.default_rng(1).random, "dirac")[0] == 1


def test_dirac_tries_ten_queues():
    draw = np.random.default_rng(1).random
    assert len(choose_queues([1.0] * 50, draw, DIRAC)) == 10
    assert len(choose_queues([1.0] * 50, draw, DOCUMENTED)) == 50


def test_a_job_of_the_drawn_priority_is_the_oldest_or_for_dirac_one_of_the_fifty_oldest():
    jobs = [1.0] * 60
    draw = np.random.default_rng(1).random
    assert choose_jobs(jobs, draw, DOCUMENTED) == [0]
    assert sorted(choose_jobs(jobs, draw, DIRAC)) == list(range(50))
    assert choose_jobs([], draw, DIRAC) == []


def test_priority_ten_goes_before_nine():
    """DIRAC makes it a million; by the schema it weighs 10 to 9."""
    draw = np.random.default_rng(1).random
    jobs = [9, 10]
    strict = preset("documented", selection="strict")
    assert choose_jobs(jobs, draw, strict) == [1]
    assert sum(choose_jobs(jobs, draw, DIRAC) == [1] for _ in range(200)) == 200
    assert 60 < sum(choose_jobs(jobs, draw, DOCUMENTED) == [1] for _ in range(200)) < 150
