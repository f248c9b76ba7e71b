"""What runs above the quota of its group is borrowed: others have a right to these slots, and may take them back.

In the order of their starts, the jobs of a group's own users take the group's own quota. The first one that finds too
little of it left, and all that started later, are borrowed, until earlier ones have ended. As under hard caps, the use
may pass the quota by up to half a slot (`rounding`). Nothing of that is stored.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairq.engine.quotas.enforcement import rounding
from fairq.engine.weights import tolerance


class Stay(NamedTuple):
    """The use of a slot of *weight* by a *group* from *start* to *end* (seconds since 1970; None: it goes on)."""

    group: str
    weight: float
    start: int
    end: int | None = None


def borrowed_until(stays: Sequence[Stay], quotas: Mapping[str, float]) -> list[int | None]:
    """Return for each of *stays* until when it is borrowed: its start if it never is, None if it is and goes on.

    *quotas* are those of the groups' own users, in slot weight. Stays that begin together count in the order given.
    """
    places: dict[str, list[int]] = {}
    for place in sorted(range(len(stays)), key=lambda place: stays[place].start):
        places.setdefault(stays[place].group, []).append(place)
    found: list[int | None] = [None] * len(stays)
    for group, members in places.items():
        ends = _of_group([stays[place] for place in members], quotas.get(group, 0.0))
        for place, until in zip(members, ends, strict=True):
            found[place] = until
    return found


def _of_group(stays: Sequence[Stay], quota: float) -> list[int | None]:
    """Return `borrowed_until` of the stays of one group, in the order of their starts."""
    until: list[int | None] = [None] * len(stays)
    is_own = [False] * len(stays)
    ends: list[tuple[int, int]] = []
    borrowed: deque[int] = deque()
    used, most = 0.0, quota + tolerance(max(1.0, quota))

    def fits(place: int) -> bool:
        weight = stays[place].weight
        return used + weight <= most + rounding(weight)

    def pass_to(now: float) -> None:
        """Let stays end up to *now*, and others take the quota that they leave."""
        nonlocal used
        while ends and ends[0][0] <= now:
            time, ended = heapq.heappop(ends)
            if is_own[ended]:
                used -= stays[ended].weight
            else:
                until[ended] = time
            while borrowed and (until[borrowed[0]] is not None or fits(borrowed[0])):
                first = borrowed.popleft()
                if until[first] is None:
                    own(first, time)

    def own(place: int, since: int) -> None:
        nonlocal used
        until[place], is_own[place] = since, True
        used += stays[place].weight

    for place, stay in enumerate(stays):
        pass_to(stay.start)
        if not borrowed and fits(place):
            own(place, stay.start)
        else:
            borrowed.append(place)
        if stay.end is not None:
            heapq.heappush(ends, (max(stay.start, stay.end), place))
    pass_to(math.inf)
    return until
