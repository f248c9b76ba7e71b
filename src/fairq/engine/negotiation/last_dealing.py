"""The last dealing of a pie: the rest that the slices leave is handed out one match at a time.

HTCondor 8 manual, layperson's description of the pie spin: it goes on "until it runs out of machines or all the
condor_schedd daemons say they have no more jobs". Slices smaller than a slot end the spins before that.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from fairq.engine.weights import rounded


class Party(Protocol):
    """Who takes part: a submitter at one schedd."""

    name: str

    @property
    def effective_priority(self) -> float:
        """Lower is better; the share is inversely proportional to it."""


P = TypeVar("P", bound=Party)


class Line(Generic[P]):
    """Submitters that get one match at a time: always the one with the least weight for its share.

    Ties are decided by effective priority, then by name.

    Args:
        parties: in the order of their turns.
        held: current slot weight of a submitter.
        deal: makes one match and returns whether there was one; a submitter without a match takes no further part.
        by_priority: a better effective priority comes before less weight.
    """

    def __init__(
        self,
        parties: Sequence[P],
        held: Callable[[str], float],
        deal: Callable[[P], bool],
        *,
        by_priority: bool = False,
    ) -> None:
        self._parties = parties
        self._held = held
        self._deal = deal
        self._by_priority = by_priority
        self._line = [self._entry(place) for place in range(len(parties))]
        heapq.heapify(self._line)

    def deal_one(self) -> bool:
        """Give one match to the first submitter that takes one; False if none does."""
        line = self._line
        while line:
            place = line[0][-1]
            now = self._entry(place)
            # At another schedd the same submitter may have been dealt one since.
            if now > line[0]:
                heapq.heapreplace(line, now)
            elif self._deal(self._parties[place]):
                heapq.heapreplace(line, self._entry(place))
                return True
            else:
                heapq.heappop(line)
        return False

    def _entry(self, place: int) -> tuple[float, float, str, int]:
        party = self._parties[place]
        priority = party.effective_priority
        ratio = rounded(self._held(party.name) * priority)
        first, second = (priority, ratio) if self._by_priority else (ratio, priority)
        return first, second, party.name, place


class SingleMatches(Protocol):
    """The interface of a `Line`: it hands out one match at a time."""

    def deal_one(self) -> bool:
        """Give one match; False if no submitter takes one."""


def deal_among_groups(lines: Mapping[str, SingleMatches], used_part: Callable[[str], float]) -> None:
    """Give one match at a time to the group that uses the smallest part of its quota, until none takes one.

    *lines* are those of the groups, in the order of their turns; *used_part* returns the used part of a group's quota.
    """
    left = dict(lines)
    while left:
        group = min(left, key=used_part)
        if not left[group].deal_one():
            del left[group]
