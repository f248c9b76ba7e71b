"""Pilots ask again and again: who gets how much in the long run."""

from __future__ import annotations

from collections import Counter, deque

import numpy as np
import pytest
from tests.engine.shares.queues import DOCUMENTED, corrected, instance, preset, queue, registry

from fairq.engine.shares.choice import choose_queues
from fairq.engine.shares.division import recalculate
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.queues import QueueTable

MATCHES = 3000
RECENT = 400
"""Matches that the history remembers."""

EVERY = 20
"""Matches between two recalculations."""

GROUPS = registry(
    OwnerGroup("small", 1000, job_sharing=True), OwnerGroup("large", 3000, job_sharing=True), OwnerGroup("users", 1000)
)

WIDE = instance(maximum=20, Recent={"TimeSpan": 1, "MaxCorrection": 20})


def served(rules, *, corrections=False):
    """Match job after job of queues that never run dry; return how many each group's owner got at the end."""
    queues = [
        queue(1, "ann", "small", [1], rules),
        queue(2, "bob", "large", [1], rules),
        *(queue(3 + number, "eager", "users", [1], rules) for number in range(5)),
        queue(8, "patient", "users", [1], rules),
    ]
    draw = np.random.default_rng(20_090_213).random
    recent: deque[str] = deque(maxlen=RECENT)
    job_counts: Counter[tuple[str, str]] = Counter()
    priorities: list[float] = []
    for number in range(MATCHES):
        if number % EVERY == 0:
            history = corrected(rules, WIDE, lambda request: Counter(recent)) if corrections else None
            priorities = recalculate(QueueTable.of(queues), GROUPS, rules, history).stored_priorities()
        chosen = queues[choose_queues(priorities, draw, rules)[0]].requirements
        recent.append(chosen.group)
        job_counts[chosen.group, chosen.owner] += 1
    return job_counts


def fraction(job_counts, group):
    return sum(count for (name, _), count in job_counts.items() if name == group) / job_counts.total()


def test_proportional_draws_serve_everybody_by_share():
    """Groups 1 : 3 : 1, and inside a group without job sharing users alike, however many queues one fills."""
    job_counts = served(DOCUMENTED)
    assert [fraction(job_counts, name) for name in GROUPS] == pytest.approx([0.2, 0.6, 0.2], abs=0.03)
    assert job_counts["users", "eager"] / job_counts["users", "patient"] == pytest.approx(1, abs=0.25)


def test_diracs_draw_gives_the_large_group_more_than_its_share_and_corrections_take_part_of_it_back():
    """Without corrections more than two thirds for a share of 60 %; with them the middle between the two."""
    dirac = preset("documented", selection="dirac")
    assert fraction(served(dirac), "large") > 0.69
    assert 0.62 < fraction(served(dirac, corrections=True), "large") < 0.68


def test_a_strict_order_serves_the_largest_alone():
    assert served(preset("documented", selection="strict")) == {("large", "bob"): MATCHES}
