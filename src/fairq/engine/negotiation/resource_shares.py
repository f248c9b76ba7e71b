"""Entitlements with dominant weights, by progressive filling: the pie has no single size.

The weights of all submitters rise, inversely proportional to the effective priorities, until a resource is used up;
those who take none of it continue. Ghodsi and others, Dominant Resource Fairness, NSDI 2011, section 4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.dominance import used_by
from fairq.engine.slot_names import SlotNames

Numbers = NDArray[np.float64]


class ResourceTaking(Struct, frozen=True):
    """What a submitter takes: its effective priority, the weight that it uses or could use, and its *resources*.

    *resources* is the weight of each resource in a unit of weight, and last 1, for all resources together.
    """

    effective_priority: float
    demand: float
    resources: Numbers


def fill_progressively(sizes: Numbers, members: Mapping[str, ResourceTaking]) -> dict[str, float]:
    """Return the entitlement of each of *members* in weight.

    *sizes* is the weight of each resource, and last the maximum of all members together. A submitter's own demand does
    not bound its entitlement, as in `slices.entitlements`.
    """
    if not members:
        return {}
    best = min(member.effective_priority for member in members.values())
    weights = np.array([best / member.effective_priority for member in members.values()])
    satisfied_at = np.array([member.demand for member in members.values()]) / weights
    rates = np.array([member.resources for member in members.values()]) * weights[:, None]
    rises = np.ones(len(weights), np.bool_)
    remaining, used_up_at = sizes.astype(np.float64), np.full(len(sizes), np.inf)
    level = 0.0
    while rises.any():
        rate = rates[rises].sum(axis=0)
        lasts = np.where((rate > 0) & np.isinf(used_up_at), remaining / np.where(rate > 0, rate, 1.0), np.inf)
        step = max(0.0, min(float(lasts.min()), float(satisfied_at[rises].min()) - level))
        if not np.isfinite(step):
            break
        level, remaining = level + step, remaining - rate * step
        used_up_at[lasts <= step] = level
        rises &= (satisfied_at > level) & ~(rates[:, np.isfinite(used_up_at)] > 0).any(axis=1)
    entitled = np.where(rates > 0, used_up_at, np.inf).min(axis=1) * weights
    return dict(zip(members, np.minimum(entitled, sizes[:-1].max()).tolist(), strict=True))


class ResourceUse:
    """The use of and demand for each resource, in weight, at the start of a cycle.

    Args:
        rows: the weight of each resource in every slot. *in_pie*: the same, but 0 in slots that do not count.
        users: per slot, the submitter charged for it.
        undivided: per slot, whether a match takes all of it.
    """

    def __init__(self, rows: Numbers, in_pie: Numbers, users: SlotNames, undivided: NDArray[np.bool_]) -> None:
        self._sizes = in_pie.sum(axis=1)
        self._used = used_by(users, rows)
        self._requested: dict[str, Numbers] = {}
        weights = rows.max(axis=0)
        counted = undivided & (weights > 0)
        self._at_least: Numbers = (rows[:, counted] / weights[counted]).max(axis=1, initial=0.0)

    def add_request(self, name: str, resources: Numbers) -> None:
        """Add the *resources* that idle jobs of a submitter request."""
        self._requested[name] = self._requested.get(name, 0.0) + resources

    def sizes_for(self, members: Collection[str], limit: float | None) -> Numbers:
        """Return the weight of each resource that *members* can share, and last the *limit* of all together.

        Without a limit they share what others do not use.
        """
        if limit is not None:
            return np.append(self._sizes, limit)
        others = sum((used for name, used in self._used.items() if name not in members), np.zeros(len(self._sizes)))
        return np.append(np.maximum(self._sizes - others, 0.0), np.inf)

    def taking(self, name: str, priority: float, demand: float, total_demand: float) -> ResourceTaking:
        """Return what a submitter takes whose jobs weigh *total_demand*, of which *demand* counts.

        A job takes all of a slot that is not divided.
        """
        zeros = np.zeros(len(self._sizes))
        resources = self._used.get(name, zeros) + self._requested.get(name, zeros)
        per_weight = resources / total_demand if total_demand > 0 else zeros
        return ResourceTaking(priority, demand, np.append(np.maximum(per_weight, self._at_least), 1.0))
