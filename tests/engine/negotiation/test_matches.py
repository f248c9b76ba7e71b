"""Alike matches in a row are one step, and count as so many matches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.negotiation.pools import policy

from fairq.engine.negotiation.decision import AlikeMatches, Match, Matches, MatchReason, ProcRange
from fairq.engine.negotiation.pool import tie_order

SINGLE = Match("b@x", "s", 9, 0, (9, 0), 7, 2.0, 0.0, "<none>", MatchReason.RANK, "c@x", key=17)
JOBS = [ProcRange(1, 3, 4), ProcRange(2, 0, 0)]


def alike(request):
    return AlikeMatches("a@x", "s", JOBS, request, [2, 0, 1], [12, 10, 11], 1.0, [0.5, 1.5, 2.5], "g", True)


@pytest.mark.parametrize("request_of_all", [(1, 0), None])
def test_alike_matches_are_each_as_if_made_alone(request_of_all):
    matches = Matches([SINGLE])
    matches.extend(alike(request_of_all))
    matches.append(SINGLE)

    assert len(matches) == 5
    assert (matches[0], matches[-1], list(matches.single)) == (SINGLE, SINGLE, [SINGLE, SINGLE])
    reason = MatchReason.NO_PREEMPTION
    assert matches[1:4] == [
        Match(
            "a@x",
            "s",
            *job,
            request_of_all or job,
            slot,
            1.0,
            slot + 0.5,
            "g",
            reason,
            None,
            None,
            10 + slot,
            None,
            True,
        )
        for job, slot in (((1, 3), 2), ((1, 4), 0), ((2, 0), 1))
    ]


@given(st.lists(st.integers(0, 999).map("slot1@n{:03}".format), unique=True))
def test_slots_that_rank_equally_are_in_the_order_of_the_numbers_in_their_names(names):
    by_name = policy(tie_break="slot_name")
    places = tie_order(names, by_name).tolist()
    assert [names[places.index(place)] for place in range(len(names))] == sorted(names)
    # Among names of different lengths the numbers themselves are compared.
    shorter = [name.replace("n0", "n") for name in names]
    assert tie_order([*shorter, "slot2"], by_name).tolist() == [*places, len(names)]
