"""Matches in a row are as many as single ones would be, and use up as much."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.preemption import NONE

weights = st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1.0, 2.0, 7.5, 10.0, 40.0])
costs = st.sampled_from([0.1, 1 / 3, 1.0, 2.0])


@given(
    limit=weights,
    unclaimed=weights,
    ceiling=weights,
    used=weights,
    least=weights,
    cost=costs,
    most=st.integers(1, 60),
    exact=st.booleans(),
    tested=st.booleans(),
)
def test_so_many_in_a_row_as_one_by_one(
    limit,
    unclaimed,
    ceiling,
    used,
    least,
    cost,
    most,
    exact,
    tested,
):
    limits = Limits(limit=limit, unclaimed_limit=unclaimed, ceiling=ceiling, exact=exact, least=least)
    limits.used = limits.used_unclaimed = used
    single, number = replace(limits), 0
    while number < most and single.used < min(single.limit, single.ceiling) and not single.permits_nothing_free:
        if not (single.permit_popped(cost, NONE, ()) or (tested and not number)):
            break
        single.use(cost, 1, claimed=False)
        number += 1

    # Whoever asks has tested the first one.
    assert limits.in_a_row(cost, most, first_is_tested=tested) == max(1, number)
    limits.use(cost, number, claimed=False)
    assert limits == single
