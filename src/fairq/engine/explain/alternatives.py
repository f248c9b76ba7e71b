"""Several changes, each of which alone lets a job run: what its owner can do, and what an administrator can."""

from __future__ import annotations

from msgspec import Struct

from fairq.engine.explain.changes import OWNERS, Change, ChangeKind
from fairq.engine.explain.diagnosis import Diagnosis
from fairq.engine.explain.remedies import Remedy, remedies
from fairq.engine.explain.search import World

_OF_EACH = 2


class Alternatives(Struct, frozen=True):
    """Changes that were tried in a cycle, which matched the job: any of *owners*, or any of *administrators*."""

    owners: tuple[Remedy, ...]
    administrators: tuple[Remedy, ...]


def alternatives(world: World, diagnosis: Diagnosis, cycles: int) -> Alternatives:
    """Try single remedies, at most *cycles* of them; waiting for a slot and asking for nothing are none."""
    owners: list[Remedy] = []
    administrators: list[Remedy] = []
    for remedy in remedies(diagnosis):
        kinds = {change.kind for change in remedy}
        if ChangeKind.FREE_SLOT in kinds or any(map(asks_for_nothing, remedy)):
            continue
        found = owners if kinds <= OWNERS else administrators
        if len(found) >= _OF_EACH or any(_same_targets(remedy, other) for other in found):
            continue
        if cycles > 0 and world.may_try():
            cycles -= 1
            if world.changed(remedy).is_matched():
                found.append(remedy)
    return Alternatives(tuple(owners), tuple(administrators))


def _same_targets(remedy: Remedy, other: Remedy) -> bool:
    """Say whether two remedies change the same to different values: the first, the smallest change, is enough."""

    def targets(changes: Remedy) -> list[tuple[object, ...]]:
        return [(change.kind, change.of, change.attribute, change.clause) for change in changes]

    return targets(remedy) == targets(other)


def asks_for_nothing(change: Change) -> bool:
    """Say whether a job would have to ask for nothing of a resource: what is left of a machine that is full."""
    is_request = change.kind is ChangeKind.JOB_ATTRIBUTE and (change.attribute or "").lower().startswith("request")
    return is_request and isinstance(change.to, int | float) and change.to <= 0
