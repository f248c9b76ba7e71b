"""What `why` learns without a cycle on the whole pool is what such a cycle decides."""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from tests.engine.negotiation.pools import NOW
from tests.properties.test_why import PEOPLE, fill, pools, rules

from fairq.engine.explain.changes import Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis, Outcome
from fairq.engine.explain.remedies import Remedy, remedies
from fairq.records import Actor, JobRange
from fairq.settings import Settings
from fairq.state.connection import reading
from fairq.steps.cycle.load import load_pool, load_round_robin_times
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.why.world import ImaginedPool

TRIED = 6
"""Number of remedies tried for each job."""


def of_whole_slots(pool: dict[str, Any]) -> dict[str, Any]:
    """The pool without partitionable slots, and with nobody who uses concurrency limits yet."""
    left_out = ("PartitionableSlot", "SlotType", "ConcurrencyLimits")
    slots = [({name: value for name, value in ad.items() if name not in left_out}, user) for ad, user in pool["slots"]]
    return {**pool, "slots": slots}


def where_nobody_is_preempted(pool: dict[str, Any]) -> dict[str, Any]:
    """The pool with whole slots that stay with their users, without concurrency limits: only there anything is told."""
    slots = [({**ad, "Rank": 0.0, "CurrentRank": 0.0}, user) for ad, user in of_whole_slots(pool)["slots"]]
    jobs = [(name, (*ad, {**more, "limits": None}), count) for name, (*ad, more), count in pool["jobs"]]
    fixed = {"rules": "htcondor", "preemption": True, "policy": "false", "settings": {}}
    return {**pool, **fixed, "slots": slots, "jobs": jobs}


def imagined(path: Path, configured: Settings) -> ImaginedPool:
    with reading(path) as state:
        pool = load_pool(state, configured, NOW + 60)
        times = load_round_robin_times(state)
    return ImaginedPool.of(pool, negotiation_policy(configured), NOW + 60, times)


def tries(world: ImaginedPool, held: Outcome, job: JobRange) -> list[Remedy]:
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

TOLD: set[bool] = set()
"""What was told in any example."""
MISSED: list[bool] = []
"""Whether a cycle ended since no slot was left for the job."""


@given(pools)
@always_the_same(max_examples=40)
def whatever_is_told_is_so(pool: dict[str, Any]) -> None:
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
                    told = one.known(remedy, Diagnosis(held, one.job()))
                    if told is None:
                        told = one.foretold(remedy, held)
                    if told is not None:
                        assert told == matched, remedy
                        TOLD.add(told)


def test_what_the_slots_within_reach_tell_is_what_a_cycle_decides() -> None:
    whatever_is_told_is_so()
    assert {True, False} == TOLD
    assert {True, False} == set(MISSED)


def with_more_jobs(pool: dict[str, Any]) -> dict[str, Any]:
    """The pool with more slots and more jobs than slots, of which the most urgent ones alone use limits."""
    jobs = [
        (PEOPLE[1 + number % 2], (*ad[:3], ad[3], {**ad[4], "limits": ad[4]["limits"] if ad[3] else None}), count + 2)
        for number, (_, ad, count) in enumerate(pool["jobs"] * 2)
    ]
    return {**pool, "jobs": jobs, "slots": pool["slots"] * 2}


KNOWN: list[str] = []
"""The submitters whose jobs were known to be matched."""


@given(pools)
@always_the_same(max_examples=100)
def whoever_goes_first_is_matched(pool: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        fill(path, with_more_jobs(of_whole_slots(pool)))
        quotas = {}
        if pool["quotas"] is not None:
            of_physics, of_hep = pool["quotas"]
            surplus = {"accept_surplus": pool["surplus"], "autoregroup": pool["autoregroup"]}
            quotas = {"physics": {"quota": of_physics, **surplus}, "'physics.hep'": {"quota": of_hep, **surplus}}
        world = imagined(path, rules(path, pool, quotas))
        held = world.hold()
        for job in [job for queue in world.jobs.queues for job in queue.idle]:
            one = world.about(job)
            if held.match_of(one.job()) is not None:
                continue
            first = Change(ChangeKind.JOB_PRIORITY, "the job", 1000)
            if one.known([first], Diagnosis(held, one.job())):
                after = one.changed([first])
                assert after.hold_until_matched().match_of(after.job()) is not None
                KNOWN.append(job.submitter)


def test_a_job_known_to_be_matched_ahead_of_its_submitters_jobs_is_matched() -> None:
    whoever_goes_first_is_matched()
    assert len(KNOWN) > 20
