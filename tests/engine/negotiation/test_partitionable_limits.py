"""Concurrency limits on partitionable slots that are divided."""

import pytest
from tests.engine.negotiation.pools import cycle, jobs, matched
from tests.engine.negotiation.test_partitionable import POLICY, machines


@pytest.mark.parametrize("depth_first", [False, True])
@pytest.mark.parametrize("rule", ["carve", "whole"])
def test_limits_that_read_the_slot_end_a_machine_and_not_the_search(rule, depth_first):
    """Two jobs on every machine, since the limit is named by machine; the search comes to an end."""
    pool = machines(3, **POLICY)
    for number, ad in enumerate(pool):
        ad["Licence"] = f"lic{number}"
    wants = {"a@x": [jobs(60, ConcurrencyLimits="/Expr(TARGET.Licence)/")]}
    limits = {f"lic{number}": 2.0 for number in range(3)}
    decision = cycle(pool, wants, partitionable_slots=rule, depth_first=depth_first, limits=limits)
    assert matched(decision) == {"a@x": 6}
