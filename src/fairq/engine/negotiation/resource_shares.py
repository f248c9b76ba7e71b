"""Entitlements with dominant weights: progressive filling, since no number is the size of the pie.

Everybody's weight rises in inverse ratio of the effective priorities until a resource is used up; who takes none of it
goes on. Ghodsi and others, Dominant Resource Fairness, NSDI 2011, section 4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.dominance import used_by
from fairq.engine.slot_names import SlotNames

Numbers = NDArray[np.float64]


class Taking(Struct, frozen=True):
    """What a submitter takes: its effective priority, the weight that it uses or could use, and the *resources* of it.

    *resources* has the weight of each resource in a unit of weight, at last that of all together: 1.
    """

    effective_priority: float
    demand: float
    resources: Numbers


def filled(sizes: Numbers, members: Mapping[str, Taking]) -> dict[str, float]:
    """Return the entitlement of each of *members* in weight.

    *sizes* is the weight of each resource, at last the most that all together may have. A submitter's own demand is no
    bound of its own entitlement, as in `slices.entitlements`.
    """
    if not members:
        return {}
    best = min(one.effective_priority for one in members.values())
    weights = np.array([best / one.effective_priority for one in members.values()])
    satisfied_at = np.array([one.demand for one in members.values()]) / weights
    rates = np.array([one.resources for one in members.values()]) * weights[:, None]
    rises = np.ones(len(weights), np.bool_)
    left, used_up_at = sizes.astype(np.float64), np.full(len(sizes), np.inf)
    level = 0.0
    while rises.any():
        rate = rates[rises].sum(axis=0)
        lasts = np.where((rate > 0) & np.isinf(used_up_at), left / np.where(rate > 0, rate, 1.0), np.inf)
        step = max(0.0, min(float(lasts.min()), float(satisfied_at[rises].min()) - level))
        if not np.isfinite(step):
            break
        level, left = level + step, left - rate * step
        used_up_at[lasts <= step] = level
        rises &= (satisfied_at > level) & ~(rates[:, np.isfinite(used_up_at)] > 0).any(axis=1)
    most = np.where(rates > 0, used_up_at, np.inf).min(axis=1) * weights
    return dict(zip(members, np.minimum(most, sizes[:-1].max()).tolist(), strict=True))


class ResourceUse:
    """Who uses or wants how much of each resource, in weight, as of the start of a cycle.

    Args:
        rows: the weight of each resource in every slot. *in_pie*: the same, 0 in slots that do not count.
        users: per slot, who is charged for it.
        undivided: the slots that a match takes as a whole.
    """

    def __init__(self, rows: Numbers, in_pie: Numbers, users: SlotNames, undivided: NDArray[np.bool_]) -> None:
        self._sizes = in_pie.sum(axis=1)
        self._used = used_by(users, rows)
        self._wanted: dict[str, Numbers] = {}
        weights = rows.max(axis=0)
        whole = undivided & (weights > 0)
        self._at_least: Numbers = (rows[:, whole] / weights[whole]).max(axis=1, initial=0.0)

    def want(self, name: str, resources: Numbers) -> None:
        """Add what idle jobs of a submitter request."""
        self._wanted[name] = self._wanted.get(name, 0.0) + resources

    def sizes_for(self, members: Collection[str], limit: float | None) -> Numbers:
        """Return what *members* can share of each resource, and as a last one the *limit* of all together.

        Without a limit they share what others leave.
        """
        if limit is not None:
            return np.append(self._sizes, limit)
        others = sum((used for name, used in self._used.items() if name not in members), np.zeros(len(self._sizes)))
        return np.append(np.maximum(self._sizes - others, 0.0), np.inf)

    def taking(self, name: str, priority: float, demand: float, wanted: float) -> Taking:
        """Return what a submitter takes whose jobs weigh as much as *wanted*, of which *demand* counts.

        A job takes all of a slot that is not divided.
        """
        nothing = np.zeros(len(self._sizes))
        resources = self._used.get(name, nothing) + self._wanted.get(name, nothing)
        each = resources / wanted if wanted > 0 else nothing
        return Taking(priority, demand, np.append(np.maximum(each, self._at_least), 1.0))
