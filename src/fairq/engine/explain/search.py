"""The search for the least change after which a job is matched: what is worth trying is tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from fairq.engine.explain.changes import Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis, Outcome
from fairq.engine.explain.remedies import Remedy, fits, levers, remedies
from fairq.records import JobRange

_DEEPEST = 8
"""So many remedies, at most, are combined."""

_FEW = 3
"""With so few cycles the first few changes are tried, and no more."""

_FOR_EVERYTHING = 20
"""Cycles kept for leaving out what is needless of everything."""


class World(Protocol):
    """The pool as it is or might be: a cycle can be held on it, and things changed."""

    def hold(self) -> Outcome:
        """Hold a cycle; the world itself stays as it is."""

    def changed(self, changes: Sequence[Change]) -> Self:
        """The world after *changes*."""

    def job(self) -> JobRange:
        """The job asked about, as it is in this world."""


@dataclass(frozen=True, slots=True)
class Found:
    """The changes found; *verified*: a cycle was held with them, and it matched the job."""

    changes: Remedy
    verified: bool


class Search:
    """Looks for the least changes after which a job is matched, holding at most *cycles* cycles."""

    def __init__(self, cycles: int) -> None:
        self._left = cycles

    def run(self, world: World, diagnosis: Diagnosis) -> Found:
        """Search from *world*, whose cycle left the job as *diagnosis* tells."""
        thorough = self._left > _FEW
        found = self._search(world, diagnosis, _DEEPEST)
        if not found and thorough:
            found = self._everything(world, diagnosis)
        if found:
            return Found(self._without_needless(world, found), True)
        return Found(next(remedies(diagnosis), ()), False)

    def _everything(self, world: World, diagnosis: Diagnosis) -> Remedy | None:
        """All levers at once, for a job that so much stands in the way of that the search gets lost."""
        self._left = max(self._left, _FOR_EVERYTHING)
        fitting: Remedy = ()
        if diagnosis.fits_nowhere:
            fitting = next(fits(diagnosis))
            after = world.changed(fitting)
            diagnosis = Diagnosis(after.hold(), after.job())
        remedy = (*fitting, *levers(diagnosis))
        after = world.changed(remedy)
        return remedy if after.hold().match_of(after.job()) is not None else None

    def _without_needless(self, world: World, remedy: Remedy) -> Remedy:
        """Leave out every change without which the job is matched as well."""
        for change in remedy if len(remedy) > 1 else ():
            fewer = tuple(each for each in remedy if each != change)
            needed = change.kind is ChangeKind.ADD_SLOT and any(each.of == change.to for each in fewer)
            if self._left > 0 and fewer and not needed:
                self._left -= 1
                after = world.changed(fewer)
                if after.hold().match_of(after.job()) is not None:
                    remedy = fewer
        return remedy

    def _search(self, world: World, diagnosis: Diagnosis, depth: int) -> Remedy | None:
        """One remedy that is enough, else the first one that gets further and what that needs besides."""
        partial: list[tuple[Remedy, World, Diagnosis]] = []
        for remedy in remedies(diagnosis):
            if self._left <= 0:
                break
            self._left -= 1
            after = world.changed(remedy)
            outcome = after.hold()
            job = after.job()
            if outcome.match_of(job) is not None:
                return remedy
            partial.append((remedy, after, Diagnosis(outcome, job)))
        if depth <= 1:
            return None
        partial.sort(key=lambda tried: tried[2].reason is diagnosis.reason)
        for remedy, after, left in partial:
            more = self._search(after, left, depth - 1)
            if more is not None:
                return (*remedy, *more)
        return None
