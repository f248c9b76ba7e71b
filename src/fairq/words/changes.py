"""Changes that would let a job run, in words."""

from __future__ import annotations

from typing import Any

from fairq.engine.explain.changes import OWNERS, REQUESTS, Change, ChangeKind


def change_words(change: Change) -> str:  # noqa: PLR0911 - one per kind
    """Return *change* as the end of a sentence that begins with "It would run"."""
    match change.kind:
        case ChangeKind.JOB_ATTRIBUTE:
            name = REQUESTS.get((change.attribute or "").lower(), change.attribute)
            return f"with {name} = {_shown(change.to)}"
        case ChangeKind.REQUIREMENTS_CLAUSE | ChangeKind.SLOT_CLAUSE:
            whose = "" if change.kind is ChangeKind.REQUIREMENTS_CLAUSE else f" of {change.of}"
            return f"without {change.clause}{whose}" if change.to is None else f"with {change.to}{whose}"
        case ChangeKind.FREE_SLOT:
            return f"as soon as {change.of} is free"
        case ChangeKind.UNDRAIN:
            return f"with {change.of} not draining"
        case ChangeKind.ADD_SLOT:
            more = "one more slot" if change.to == 1 or isinstance(change.to, str) else f"{change.to} more slots"
            return f"with {more} like {change.of}"
        case ChangeKind.SETTING:
            return f"without {change.of}"
        case ChangeKind.TIME_BUDGET:
            return f"with {change.of} = {_shown(change.to)}"
        case ChangeKind.ACCEPT_SURPLUS:
            return f"with accept_surplus for {change.of}"
        case _:
            whose = "" if change.kind is ChangeKind.JOB_PRIORITY else f" for {change.of}"
            return f"with a {change.kind} of {_shown(change.to)}{whose}"


def is_owners(change: Change) -> bool:
    """Say whether the job's owner can make *change*; other changes need an administrator."""
    return change.kind in OWNERS


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
