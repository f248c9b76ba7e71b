"""Changes that are tried again, in whatever order, are tried once: the cycle known of them is that of the same pool."""

import tempfile
from itertools import islice, permutations
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
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

TRIED = 3
"""Number of remedies tried for each job, each one after each other one."""


@given(pools)
@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_what_is_known_of_changes_holds_in_any_order(pool):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        fill(path, pool)
        configured = rules(path, pool, {})
        negotiate(path, configured, Actor("root", "fairq negotiate", NOW))
        with reading(path) as state:
            loaded = load_pool(state, configured, NOW + 60)
            times = load_round_robin_times(state)
        world = ImaginedPool.of(loaded, negotiation_policy(configured), NOW + 60, times)
        held = world.hold()
        for job in [queue.idle[0] for queue in world.jobs.queues if len(queue.idle)]:
            asked = world.about(job)
            if held.match_of(asked.job()) is not None:
                continue
            changes = list(islice(remedies(Diagnosis(held, asked.job())), TRIED))
            for first, second in permutations(changes, 2):
                after = asked.changed(first).changed(second)
                matched = after.hold().match_of(after.job()) is not None
                assert after.is_matched() == matched, (first, second)
