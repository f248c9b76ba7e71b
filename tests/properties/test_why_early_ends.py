"""A cycle that ends as soon as it is known whether a job is matched tells what a whole cycle does."""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import islice
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from tests.engine.negotiation.pools import NOW
from tests.properties.test_why import fill, pools, rules

from fairq.common.records import Actor
from fairq.engine.explain.changes import Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis
from fairq.engine.explain.remedies import Remedy, remedies
from fairq.state.connection import reading
from fairq.steps.cycle.load import load_pool, load_round_robin_times
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.why.world import ImaginedPool

TRIED = 6
"""Number of remedies tried for each job."""


def of_whole_slots(pool):
    """The pool without partitionable slots, and with nobody who uses concurrency limits yet."""
    left_out = ("PartitionableSlot", "SlotType", "ConcurrencyLimits")
    slots = [({name: value for name, value in ad.items() if name not in left_out}, user) for ad, user in pool["slots"]]
    return {**pool, "slots": slots}


def where_nobody_is_preempted(pool):
    """The pool with whole slots that stay with their users, without concurrency limits: cycles end early there."""
    slots = [({**ad, "Rank": 0.0, "CurrentRank": 0.0}, user) for ad, user in of_whole_slots(pool)["slots"]]
    jobs = [(name, (*ad, {**more, "limits": None}), count) for name, (*ad, more), count in pool["jobs"]]
    fixed = {"rules": "htcondor", "preemption": True, "policy": "false", "settings": {}}
    return {**pool, **fixed, "slots": slots, "jobs": jobs}


def imagined(path, configured):
    with reading(path) as state:
        pool = load_pool(state, configured, NOW + 60)
        times = load_round_robin_times(state)
    return ImaginedPool.of(pool, negotiation_policy(configured), NOW + 60, times)


def tries(world, held, job):
    """The first remedies for a job, and each slot in use as if it became free."""
    used = [row for row, user in enumerate(held.observer.holders) if user is not None]
    freed: list[Remedy] = [(Change(ChangeKind.FREE_SLOT, held.labels[row]),) for row in used]
    return [*islice(remedies(Diagnosis(held, world.about(job).job())), TRIED), *freed]


always_the_same = partial(
    settings,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""Examples that are drawn in the same way each time: how often something is told is asserted."""

MISSED: list[bool] = []
"""Whether a cycle ended since no slot was left for the job."""


@given(pools)
@always_the_same(max_examples=20)
def whatever_is_told_is_so(pool):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        quiet = where_nobody_is_preempted(pool)
        fill(path, quiet)
        configured = rules(path, quiet, {})
        negotiate(path, configured, Actor("root", "fairq negotiate", NOW))
        world = imagined(path, configured)
        held = world.hold()
        for queue in world.jobs.queues:
            for job in queue.idle:
                one = world.about(job)
                if held.match_of(one.job()) is not None:
                    continue
                for remedy in tries(world, held, job):
                    after = one.changed(remedy)
                    matched = after.hold().match_of(after.job()) is not None
                    assert after.is_matched() == matched, remedy
                    MISSED.append(after.is_missed())


def test_a_cycle_may_end_early_and_tells_the_same():
    whatever_is_told_is_so()
    assert {True, False} == set(MISSED)
