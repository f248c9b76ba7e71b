"""The entitlements in a spin: weighted max-min fairness that counts existing use.

HTCondor 8 manual, "Effective User Priority (EUP)": what a user does not take "is repartitioned among remaining users
according to the inverse ratio rule"; layperson's description of the pie spin: "recomputed pie slices".
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

_DECIMALS = 6
"""Precision of a slice, so that shares of a third and slots of weight 1 come out even."""


class Wanting(Struct, frozen=True):
    """A user that wants slots: its effective priority, and its slot weight in use."""

    effective_priority: float
    used: float


class Entitlement(Struct, frozen=True):
    """The entitlement of one user, in slot weight.

    Args:
        share: its part of the total, 0 to 1, inversely proportional to the effective priorities.
        slice: the weight it may take now; 0 for a user that already has more than its part.
        entitled: its part in total, existing use included.
    """

    share: float
    slice: float
    entitled: float


def entitlements(free: float, wanting: Mapping[str, Wanting]) -> dict[str, Entitlement]:
    """Return the entitlements to *free* slot weight and the weight in use, by name of the user.

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
            found[name] = Entitlement(share, 0.0, in_all * share)
        else:
            part = total * weights[name] / weight
            found[name] = Entitlement(share, max(0.0, round(part - used, _DECIMALS)), part)
    return found
