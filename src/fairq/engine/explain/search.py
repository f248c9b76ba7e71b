"""The search for the smallest change with which a job is matched: changes are tried in cycles of bounded work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from msgspec import Struct

from fairq.common.records import JobRange
from fairq.engine.explain.changes import Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis, Outcome
from fairq.engine.explain.remedies import Remedy, fits, levers, remedies

_DEEPEST = 8
"""So many remedies, at most, are combined."""

_FOR_EVERYTHING = 0.5
"""The part of the work that is kept for a job with many obstacles: all changes at once, then without needless ones."""


class World(Protocol):
    """The pool in its current or a changed state, on which a cycle can be run."""

    def tried(self) -> Outcome | None:
        """Run a cycle; the world itself stays unchanged. None if that was done already, or no work is left."""

    def is_matched(self) -> bool:
        """Return whether a cycle matches the job asked about; False also if no work is left to find out."""

    def work_left(self) -> float:
        """Return the part of the work for all cycles that is left; not above 0: none is tried any more."""

    def changed(self, changes: Sequence[Change]) -> Self:
        """The world after *changes*."""

    def job(self) -> JobRange:
        """The job asked about, as it is in this world."""


class Found(Struct, frozen=True):
    """The changes found; *verified*: a cycle with them matched the job."""

    changes: Remedy
    verified: bool


def search(world: World, diagnosis: Diagnosis) -> Found:
    """Find the smallest changes with which the job asked about is matched, from *world* with its *diagnosis*."""
    smallest = _smallest(world, diagnosis, _DEEPEST)
    found = _everything(world, diagnosis) if smallest is None else _without_needless(world, smallest)
    return Found(next(remedies(diagnosis), ()), False) if found is None else Found(found, True)


def _smallest(world: World, diagnosis: Diagnosis, depth: int) -> Remedy | None:
    """One sufficient change, otherwise the first one that helps and the further changes that it needs."""
    tried: list[tuple[Remedy, World, Outcome]] = []
    for remedy in remedies(diagnosis):
        if world.work_left() <= _FOR_EVERYTHING:
            return None
        after = world.changed(remedy)
        outcome = after.tried()
        if after.is_matched():
            return remedy
        if outcome is not None:
            tried.append((remedy, after, outcome))
    if depth <= 1:
        return None
    partial = [(remedy, after, Diagnosis(outcome, after.job())) for remedy, after, outcome in tried]
    partial.sort(key=lambda one: one[2].reason is diagnosis.reason)
    for remedy, after, left in partial:
        more = _smallest(after, left, depth - 1)
        if more is not None:
            return (*remedy, *more)
    return None


def _everything(world: World, diagnosis: Diagnosis) -> Remedy | None:
    """What is needed of all changes at once, for a job with many obstacles; None if that remains open."""
    fitting: Remedy = ()
    if diagnosis.fits_nowhere:
        fitting = next(fits(diagnosis))
        after = world.changed(fitting)
        outcome = after.tried()
        if outcome is None:
            return None
        diagnosis = Diagnosis(outcome, after.job())
    remedy = (*fitting, *levers(diagnosis))
    if not world.changed(remedy).is_matched():
        return None
    found = _without_needless(world, remedy)
    return found if world.work_left() > 0 else None


def _without_needless(world: World, remedy: Remedy) -> Remedy:
    """Remove every change that is not needed."""
    for change in remedy if len(remedy) > 1 else ():
        fewer = tuple(each for each in remedy if each != change)
        needed = change.kind is ChangeKind.ADD_SLOT and any(each.of == change.to for each in fewer)
        if fewer and not needed and world.changed(fewer).is_matched():
            remedy = fewer
    return remedy
