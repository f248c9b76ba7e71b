"""The search for the smallest change with which a job is matched."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Protocol, Self

from msgspec import Struct

from fairq.common.records import JobRange
from fairq.engine.explain.changes import Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis, Outcome
from fairq.engine.explain.remedies import Remedy, fits, levers, remedies

_DEEPEST = 8
"""So many remedies, at most, are combined."""

_FEW = 3
"""Number of cycles up to which only the first few changes are tried."""

_FOR_EVERYTHING = 20
"""Cycles reserved for removing unnecessary changes."""


class World(Protocol):
    """The pool in its current or a changed state, on which a cycle can be run."""

    def hold(self) -> Outcome:
        """Run a cycle; the world itself stays unchanged."""

    def hold_until_matched(self) -> Outcome:
        """Run a cycle that ends when the job asked about is matched."""

    def is_matched(self) -> bool:
        """Whether a cycle matches the job asked about; it ends when that is told."""

    def is_missed(self) -> bool:
        """Whether such a cycle was held, and ended since no slot was left for the job, or it took too long."""

    def may_try(self) -> bool:
        """Whether another cycle may be held."""

    def changed(self, changes: Sequence[Change]) -> Self:
        """The world after *changes*."""

    def job(self) -> JobRange:
        """The job asked about, as it is in this world."""


class Found(Struct, frozen=True):
    """The changes found; *verified*: a cycle with them matched the job."""

    changes: Remedy
    verified: bool


class Search:
    """Searches for the smallest changes with which a job is matched, in at most *cycles* cycles."""

    def __init__(self, cycles: int) -> None:
        self._left = cycles

    def run(self, world: World, diagnosis: Diagnosis) -> Found:
        """Search from *world*, with the *diagnosis* of its cycle."""
        thorough = self._left > _FEW
        found = self._search(world, diagnosis, _DEEPEST)
        if not found and thorough and world.may_try():
            found = self._everything(world, diagnosis)
        if found:
            return Found(self._without_needless(world, found), True)
        return Found(next(remedies(diagnosis), ()), False)

    def _everything(self, world: World, diagnosis: Diagnosis) -> Remedy | None:
        """All changes at once, for a job with too many obstacles for the search."""
        self._left = max(self._left, _FOR_EVERYTHING)
        fitting: Remedy = ()
        if diagnosis.fits_nowhere:
            fitting = next(fits(diagnosis))
            after = world.changed(fitting)
            diagnosis = Diagnosis(after.hold(), after.job())
        remedy = (*fitting, *levers(diagnosis))
        after = world.changed(remedy)
        return remedy if after.is_matched() else None

    def _without_needless(self, world: World, remedy: Remedy) -> Remedy:
        """Remove every change that is not needed."""
        for change in remedy if len(remedy) > 1 else ():
            fewer = tuple(each for each in remedy if each != change)
            needed = change.kind is ChangeKind.ADD_SLOT and any(each.of == change.to for each in fewer)
            if self._left > 0 and world.may_try() and fewer and not needed:
                self._left -= 1
                if world.changed(fewer).is_matched():
                    remedy = fewer
        return remedy

    def _search(self, world: World, diagnosis: Diagnosis, depth: int) -> Remedy | None:
        """One sufficient change, otherwise the first one that helps and the further changes that it needs."""
        tried: list[tuple[Remedy, World]] = []
        in_vain: list[tuple[Remedy, World]] = []
        for remedy in remedies(diagnosis):
            if self._left <= 0 or not world.may_try():
                break
            self._left -= 1
            after = world.changed(remedy)
            if after.is_matched():
                return remedy
            # Without a slot for the job, the reason mostly stays: such a change comes last, if it is needed at all.
            (in_vain if after.is_missed() else tried).append((remedy, after))
        if depth <= 1 or self._left <= 0 or not world.may_try():
            return None
        partial = [(remedy, after, _diagnosis(after)) for remedy, after in tried]
        partial.sort(key=lambda tried: tried[2].reason is diagnosis.reason)
        for remedy, after, left in chain(partial, ((*one, _diagnosis(one[1])) for one in in_vain if world.may_try())):
            more = self._search(after, left, depth - 1)
            if more is not None:
                return (*remedy, *more)
        return None


def _diagnosis(world: World) -> Diagnosis:
    return Diagnosis(world.hold_until_matched(), world.job())
