"""The changes tried for one question, each in a cycle, and the bound on the work of these cycles."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from msgspec import Struct, field

from fairq.engine.explain.changes import Change, ChangeKind

MOST_WORK = 300_000
"""Maximum cost of all cycles that try changes for one question (`Outcome.work`). One cycle always runs."""

_CLAUSES = (ChangeKind.REQUIREMENTS_CLAUSE, ChangeKind.SLOT_CLAUSE)

_EACH = 500
"""The cost of a cycle in the smallest pool."""


class Trials(Struct):
    """The changes tried for one question. *work_left* is the remaining part of the work.

    *matched* holds for each set of changes (`key_of`) whether a cycle matched the job in question.
    """

    work_left: float = 1.0
    matched: dict[Hashable, bool] = field(default_factory=dict)

    def record(self, key: Hashable, work: int, *, matched: bool) -> None:
        """Record the cost and result of a cycle."""
        self.work_left -= (work + _EACH) / MOST_WORK
        self.matched[key] = matched


def key_of(changes: Sequence[Change]) -> Hashable:
    """Return a key that is equal only for changes with the same effect on a pool.

    Of several changes of one thing, the last one counts, whatever the order of others. Replacements of clauses have an
    order: a later one may replace the clause that an earlier one made.
    """
    values = {(change.kind, change.of, change.attribute, change.clause): change.to for change in changes}
    replacements = [change for change in changes if change.kind in _CLAUSES]
    in_order = tuple((change.of, change.attribute, change.clause, change.to) for change in replacements)
    return len(changes), frozenset(values.items()), in_order
