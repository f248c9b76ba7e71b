"""The changes tried for one question, each in a cycle, and the bound on the work of these cycles."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct, field

from fairq.engine.explain.changes import Change

MOST_WORK = 300_000
"""What all cycles that try changes for one question cost, at most (`Outcome.work`). One is always held."""

_EACH = 500
"""What a cycle costs in the smallest pool."""


class Trials(Struct):
    """What was tried for one question. *left* is the part of the work that is left.

    *matched* tells, by what changes make of the pool (`key_of`), whether a cycle matched the job in question.
    """

    left: float = 1.0
    matched: dict[Hashable, bool] = field(default_factory=dict)

    def note(self, key: Hashable, work: int, *, matched: bool) -> None:
        """Note a cycle that cost so much *work*."""
        self.left -= (work + _EACH) / MOST_WORK
        self.matched[key] = matched


def key_of(changes: Sequence[Change]) -> Hashable:
    """Return a key that is equal only for changes that make the same of a pool.

    Of several changes of one thing, the last one counts, whatever the order of others.
    """
    made = {(change.kind, change.of, change.attribute, change.clause): change.to for change in changes}
    return len(changes), frozenset(made.items())
