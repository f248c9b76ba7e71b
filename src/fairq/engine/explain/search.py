"""The search for the smallest change with which a job is matched: changes are tried in cycles of bounded work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from msgspec import Struct

from fairq.common.records import JobRange
from fairq.engine.explain.changes import Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis, Outcome
from fairq.engine.explain.remedies import Remedy, all_favourable_changes, fitting_changes, remedies

_DEEPEST = 8
"""Maximum number of remedies that are combined."""

_RESERVED_WORK = 0.5
"""The part of the work reserved for jobs with many obstacles: try all changes at once, then drop needless ones."""


class World(Protocol):
    """The pool in its current or a changed state, on which a cycle can be run."""

    def try_cycle(self) -> Outcome | None:
        """Run a cycle without changing the world. None if these changes were tried already, or no work is left."""

    def is_matched(self) -> bool:
        """Return whether a cycle matches the job asked about; False also if no work is left to find out."""

    def work_left(self) -> float:
        """Return the part of the work for all cycles that is left; at 0 or below, no cycle runs."""

    def changed(self, changes: Sequence[Change]) -> Self:
        """Return the world after *changes*."""

    def job(self) -> JobRange:
        """Return the job asked about, as it is in this world."""


class SearchResult(Struct, frozen=True):
    """The changes found; *verified*: a cycle with them matched the job."""

    changes: Remedy
    verified: bool


def search(world: World, diagnosis: Diagnosis) -> SearchResult:
    """Find the smallest changes with which the job asked about is matched, from *world* with its *diagnosis*."""
    smallest_remedy = _smallest(world, diagnosis, _DEEPEST)
    sufficient = _everything(world, diagnosis) if smallest_remedy is None else _drop_needless(world, smallest_remedy)
    return SearchResult(next(remedies(diagnosis), ()), False) if sufficient is None else SearchResult(sufficient, True)


def _smallest(world: World, diagnosis: Diagnosis, depth: int) -> Remedy | None:
    """Return one sufficient remedy, else the first one that helps with the further changes that it needs."""
    insufficient: list[tuple[Remedy, World, Outcome]] = []
    for remedy in remedies(diagnosis):
        if world.work_left() <= _RESERVED_WORK:
            return None
        changed_world = world.changed(remedy)
        outcome = changed_world.try_cycle()
        if changed_world.is_matched():
            return remedy
        if outcome is not None:
            insufficient.append((remedy, changed_world, outcome))
    if depth <= 1:
        return None
    partial = [
        (remedy, changed_world, Diagnosis(outcome, changed_world.job()))
        for remedy, changed_world, outcome in insufficient
    ]
    partial.sort(key=lambda entry: entry[2].reason is diagnosis.reason)
    for remedy, changed_world, remaining in partial:
        further = _smallest(changed_world, remaining, depth - 1)
        if further is not None:
            return (*remedy, *further)
    return None


def _everything(world: World, diagnosis: Diagnosis) -> Remedy | None:
    """Return the needed part of all changes at once, for jobs with many obstacles; None if not found."""
    matching_changes: Remedy = ()
    if diagnosis.fits_nowhere:
        matching_changes = next(fitting_changes(diagnosis))
        changed_world = world.changed(matching_changes)
        outcome = changed_world.try_cycle()
        if outcome is None:
            return None
        diagnosis = Diagnosis(outcome, changed_world.job())
    remedy = (*matching_changes, *all_favourable_changes(diagnosis))
    if not world.changed(remedy).is_matched():
        return None
    needed = _drop_needless(world, remedy)
    return needed if world.work_left() > 0 else None


def _drop_needless(world: World, remedy: Remedy) -> Remedy:
    """Remove every change that is not needed."""
    for change in remedy if len(remedy) > 1 else ():
        fewer = tuple(other for other in remedy if other != change)
        is_needed = change.kind is ChangeKind.ADD_SLOT and any(other.of == change.to for other in fewer)
        if fewer and not is_needed and world.changed(fewer).is_matched():
            remedy = fewer
    return remedy
