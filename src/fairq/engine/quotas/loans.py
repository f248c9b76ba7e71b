"""Slots used above the quota of a group are borrowed: other groups are entitled to them and may take them back.

In the order of their starts, the jobs of a group's own users use the group's own quota. The first job that does not
fit, and all that started later, borrow their slots until earlier jobs have ended. As under hard caps, the use may
exceed the quota by up to half a slot (`rounding`). Loans are not stored.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from fairq.engine.accounting.charges import Key, SlotCharge
from fairq.engine.quotas.enforcement import rounding
from fairq.engine.weights import tolerance


class Stay(NamedTuple):
    """The use of a slot of *weight* by a *group* from *start* to *end* (seconds since 1970; None: it continues)."""

    group: str
    weight: float
    start: int
    end: int | None = None


def borrowed_charges(
    charges: Mapping[Key, SlotCharge], group_of: Callable[[str], str], quotas: Mapping[str, float]
) -> dict[Key, Stay]:
    """Return those of *charges* that are borrowed now, as stays; *group_of* returns the group of a submitter."""
    stays = [Stay(group_of(charge.submitter), charge.slot_weight, charge.start_time) for charge in charges.values()]
    ends = borrowed_until(stays, quotas)
    return {slot: stay for slot, stay, until in zip(charges, stays, ends, strict=True) if until is None}


def borrowed_until(stays: Sequence[Stay], quotas: Mapping[str, float]) -> list[int | None]:
    """Return for each of *stays* until when it is borrowed: its start if it never is, None if it still is.

    *quotas* are the own quotas of groups, in slot weight. Stays that start at the same time count in the order given.
    """
    indices_by_group: dict[str, list[int]] = {}
    for index in sorted(range(len(stays)), key=lambda index: stays[index].start):
        indices_by_group.setdefault(stays[index].group, []).append(index)
    ends_of_loans: list[int | None] = [None] * len(stays)
    for group, members in indices_by_group.items():
        ends = _borrowed_in_group([stays[index] for index in members], quotas.get(group, 0.0))
        for index, until in zip(members, ends, strict=True):
            ends_of_loans[index] = until
    return ends_of_loans


def _borrowed_in_group(stays: Sequence[Stay], quota: float) -> list[int | None]:
    """Return `borrowed_until` of the stays of one group, in the order of their starts."""
    end_of_loan: list[int | None] = [None] * len(stays)
    is_own = [False] * len(stays)
    pending_ends: list[tuple[int, int]] = []
    borrowed: deque[int] = deque()
    used, limit = 0.0, quota + tolerance(max(1.0, quota))

    def fits(index: int) -> bool:
        weight = stays[index].weight
        return used + weight <= limit + rounding(weight)

    def pass_to(now: float) -> None:
        """End the stays up to *now*, and give the quota that they leave to borrowed ones."""
        nonlocal used
        while pending_ends and pending_ends[0][0] <= now:
            time, ended = heapq.heappop(pending_ends)
            if is_own[ended]:
                used -= stays[ended].weight
            else:
                end_of_loan[ended] = time
            while borrowed and (end_of_loan[borrowed[0]] is not None or fits(borrowed[0])):
                first = borrowed.popleft()
                if end_of_loan[first] is None:
                    own(first, time)

    def own(index: int, since: int) -> None:
        nonlocal used
        end_of_loan[index], is_own[index] = since, True
        used += stays[index].weight

    for index, stay in enumerate(stays):
        pass_to(stay.start)
        if not borrowed and fits(index):
            own(index, stay.start)
        else:
            borrowed.append(index)
        if stay.end is not None:
            heapq.heappush(pending_ends, (max(stay.start, stay.end), index))
    pass_to(math.inf)
    return end_of_loan
