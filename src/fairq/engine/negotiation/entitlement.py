"""What a submitter may have: its slice of what is free, and its entitlement, for which it may preempt.

Both are weighted max-min fairness. HTCondor 8 manual, "Effective User Priority (EUP)": what a user does not take "is
repartitioned among remaining users according to the inverse ratio rule"; layperson's description of the pie spin:
"recomputed pie slices". docs/htcondor.md 3.2 and 3.9.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate

from msgspec import Struct

from fairq.engine.weights import rounded


class Wanting(Struct, frozen=True):
    """A user that wants slots: its effective priority, and its slot weight in use."""

    effective_priority: float
    used: float


class Slice(Struct, frozen=True):
    """The slice of one user in a spin, in slot weight.

    Args:
        share: its part of the total, 0 to 1, inversely proportional to the effective priorities.
        slice: the weight it may take now; 0 for a user that already has more than its part.
        part: its part in total, existing use included.
    """

    share: float
    slice: float
    part: float


def slices(free: float, wanting: Mapping[str, Wanting]) -> dict[str, Slice]:
    """Return the slices of *free* slot weight and the weight in use, by name of the user.

    A user's slice is (*free* + use of all wanting users) * share - use of the user. Users with a negative slice are
    left out, with their use and share, and the slices are computed again until none is negative.
    """
    if not wanting:
        return {}
    best = min(user.effective_priority for user in wanting.values())
    weights = {name: best / user.effective_priority for name, user in wanting.items()}
    in_all, weight_in_all = free + sum(user.used for user in wanting.values()), sum(weights.values())
    total, weight = in_all, weight_in_all
    # Whoever has most for its share is the first to be left out.
    by_use = sorted(wanting, key=lambda name: -wanting[name].used / weights[name])
    left_out = 0
    for name in by_use:
        if wanting[name].used * weight <= total * weights[name]:
            break
        total -= wanting[name].used
        weight -= weights[name]
        left_out += 1
    found = {}
    for place, name in enumerate(by_use):
        used, share = wanting[name].used, weights[name] / weight_in_all
        if place < left_out:
            found[name] = Slice(share, 0.0, in_all * share)
        else:
            part = total * weights[name] / weight
            found[name] = Slice(share, max(0.0, rounded(part - used)), part)
    return found


class Member(Struct, frozen=True):
    """A submitter of a pie: its effective priority, and the slot weight that it uses or could use."""

    effective_priority: float
    demand: float


def entitlements(pie: float, members: Mapping[str, Member]) -> dict[str, float]:
    """Return the entitlement of each submitter to a *pie*, in slot weight.

    It is the weighted max-min share: in inverse ratio of the effective priorities, where nobody counts for more than
    its demand. A submitter's own demand is no bound of its own entitlement: it has jobs for what it takes, and what
    they weigh is known only of the slots that they get.
    """
    if not members:
        return {}
    best = min(member.effective_priority for member in members.values())
    weights = {name: best / member.effective_priority for name, member in members.items()}
    demands = {name: min(member.demand, pie) for name, member in members.items()}
    # Whoever wants least for its share is satisfied first.
    names = sorted(members, key=lambda name: demands[name] / weights[name])
    taken = [0.0, *accumulate(demands[name] for name in names)]
    given = [0.0, *accumulate(weights[name] for name in names)]
    all_weights = given[-1]

    def part(place: int) -> float:
        """The part of the submitter at *place* if it wants all it can get."""
        name = names[place]
        weight, demand = weights[name], demands[name]

        def level(satisfied: int) -> float:
            """What is left for each unit of weight if so many others are satisfied."""
            is_among = satisfied > place
            left = pie - taken[satisfied + is_among] + (demand if is_among else 0.0)
            return left / (all_weights - given[satisfied + is_among] + (weight if is_among else 0.0))

        def is_enough(satisfied: int) -> bool:
            """Whether the next one wants no less than is left for it."""
            following = names[satisfied + (satisfied >= place)]
            return level(satisfied) <= demands[following] / weights[following]

        satisfied = bisect_left(range(len(names) - 1), True, key=is_enough)
        return max(0.0, level(satisfied) * weight)

    return {name: part(place) for place, name in enumerate(names)}
