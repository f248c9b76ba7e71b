"""What everybody may have in a spin: weighted max-min fairness in which existing use counts.

HTCondor 8 manual, "Effective User Priority (EUP)": what a user does not take "is repartitioned among remaining users
according to the inverse ratio rule"; layperson's description of the pie spin: "recomputed pie slices".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_DECIMALS = 6
"""Of a slice that count: shares of a third and slots of weight 1 are meant to come out even."""


class Wanting(NamedTuple):
    """A user still in want of slots: its effective priority, and the slot weight that it has in use."""

    effective_priority: float
    used: float


class Entitlement(NamedTuple):
    """What one user may have, in slot weight.

    Args:
        share: its part of what users in want have between them, 0 to 1, in inverse ratio of effective priorities.
        slice: what it may take now; 0 for a user who has more than its part already.
        entitled: what it may have in all: its part, of which existing use is a part.
    """

    share: float
    slice: float
    entitled: float


def entitlements(free: float, wanting: Mapping[str, Wanting]) -> dict[str, Entitlement]:
    """Return what everybody in want may have of *free* slot weight and what they have already, by name.

    A user's slice is (*free* + what the users in want have) * share - what the user has. Users who have more than
    that are left out, with what they have and their share, and the slices computed again until none is negative.
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
            found[name] = Entitlement(share, 0.0, in_all * share)
        else:
            part = total * weights[name] / weight
            found[name] = Entitlement(share, max(0.0, round(part - used, _DECIMALS)), part)
    return found
