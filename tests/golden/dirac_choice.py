"""The weighted draw: how often what was chosen, against DIRAC's counts, as far as chance lets them compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
from tests.golden.dirac_comparison import DIRAC

from fairq.engine.shares.choice import choose_jobs, choose_queues

SEED = 20_090_213

WIDTH = 8.0
"""Standard deviations that chi-square may be off; DIRAC's database draws with a slight flaw of its own."""

Record = Mapping[str, Any]


def run_random_choice(given: Record, expected: Record) -> list[str]:
    """Run one case of kind ``random_choice``."""
    draw = np.random.default_rng(SEED).random
    found: Counter[int] = Counter()
    if "queue_priorities" in given:
        weights = given["queue_priorities"]
        counts = expected["first_choice_counts"]
        found.update(choose_queues(weights, draw, DIRAC)[0] for _ in range(given["draws"]))
    else:
        weights = given["job_user_priorities"]
        counts = expected["choice_counts"]
        found.update(choose_jobs(weights, draw, DIRAC)[0] for _ in range(given["draws"]))
    own = [found[place] for place in range(len(weights))]
    return [] if _alike(own, counts) else [f"the counts are {own}, expected about {counts}"]


def _alike(found: Sequence[int], expected: Sequence[int]) -> bool:
    """Two-sample chi-square: the places that either of them has, less one, are its degrees of freedom."""
    ratio = sqrt(sum(expected) / sum(found))
    cells = [(one, other) for one, other in zip(found, expected, strict=True) if one + other]
    statistic = sum((one * ratio - other / ratio) ** 2 / (one + other) for one, other in cells)
    freedom = len(cells) - 1
    return statistic <= freedom + WIDTH * sqrt(2 * freedom)
