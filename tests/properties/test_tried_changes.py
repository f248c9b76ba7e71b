"""Cycles that try changes for a job end as soon as its match is known, and find what whole cycles do."""

import tempfile
from itertools import islice
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from msgspec.structs import replace
from tests.engine.negotiation.pools import NOW
from tests.properties.test_why import fill, pools, rules

from fairq.common.records import Actor
from fairq.engine.explain.diagnosis import Diagnosis
from fairq.engine.explain.remedies import remedies
from fairq.state.connection import reading
from fairq.steps.cycle.load import load_pool, load_round_robin_times
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.why.world import ImaginedPool

TRIED = 5
"""Number of remedies tried for each job."""

few_examples = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def in_use(path, pool):
    """Make a state of *pool* after its first cycle; return its settings."""
    fill(path, pool)
    configured = rules(path, pool, {})
    negotiate(path, configured, Actor("root", "fairq negotiate", NOW))
    return configured


@given(pools)
@few_examples
def test_a_cycle_that_ends_with_the_match_of_a_job_finds_what_a_whole_one_does(pool):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        configured = in_use(path, pool)
        with reading(path) as state:
            loaded = load_pool(state, configured, NOW + 60)
            times = load_round_robin_times(state)
        world = ImaginedPool.of(loaded, negotiation_policy(configured), NOW + 60, times)
        held = world.hold()
        for job in [queue.idle[0] for queue in world.jobs.queues if len(queue.idle)]:
            one = world.about(job)
            if held.match_of(one.job()) is not None:
                continue
            for remedy in islice(remedies(Diagnosis(held, one.job())), TRIED):
                after = one.changed(remedy)
                matched = replace(after, tried=None).hold().match_of(after.job())
                assert after.is_matched() == (matched is not None), remedy
                assert after.hold_until_matched().match_of(after.job()) == matched, remedy
                # Tried again after others, the same is found.
                assert one.changed(remedy).hold_until_matched().match_of(after.job()) == matched, remedy
