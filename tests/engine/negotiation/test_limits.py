"""Matches in a row are as many as single ones would be, and use up as much."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.preemption import NONE

weights = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0, 2.0, 7.5, 10.0])


costs = st.sampled_from([0.1, 1 / 3, 1.0, 2.0])


@given(weights, weights, weights, weights, weights, st.booleans(), st.booleans(), costs)
def test_so_many_in_a_row_as_one_by_one(
    limit: float, unclaimed: float, ceiling: float, used: float, least: float, exact: bool, tested: bool, cost: float
) -> None:
    limits = Limits(limit=limit, unclaimed_limit=unclaimed, ceiling=ceiling, exact=exact, least=least)
    limits.used = limits.used_unclaimed = used
    single, number = replace(limits), 0
    while number < 30 and single.used < min(single.limit, single.ceiling) and not single.permits_nothing_free:
        if not (single.permit_popped(cost, NONE) or (tested and not number)):
            break
        single.use(cost, claimed=False)
        number += 1

    assert limits.in_a_row(cost, 30, first_is_tested=tested, up_to_least=True) == number
    limits.use_free(cost, number)
    assert limits == single
