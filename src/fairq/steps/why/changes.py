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


def change_order(change: Change) -> str:
    """Return *change* as an imperative."""
    to = _shown(change.to)
    if change.kind is ChangeKind.JOB_ATTRIBUTE:
        return f"set {REQUESTS.get((change.attribute or '').lower(), change.attribute)} = {to}"
    if change.kind is ChangeKind.REQUIREMENTS_CLAUSE:
        return f"remove {change.clause}" if change.to is None else f"replace {change.clause} by {to}"
    if change.kind is ChangeKind.SLOT_CLAUSE:
        return f"{'remove' if change.to is None else 'replace'} {change.clause} of {change.of}" + (
            "" if change.to is None else f" by {to}"
        )
    if change.kind is ChangeKind.ADD_SLOT:
        several = isinstance(change.to, int) and change.to > 1
        return f"add {change.to if several else 'one'} slot{'s' if several else ''} like {change.of}"
    return _ORDERS[change.kind].format(of=change.of, to=to)


_ORDERS = {
    ChangeKind.JOB_PRIORITY: "set the priority of the job to {to}",
    ChangeKind.FACTOR: "set the factor of {of} to {to}",
    ChangeKind.PRIORITY: "set the real priority of {of} to {to}",
    ChangeKind.FLOOR: "set the floor of {of} to {to}",
    ChangeKind.CEILING: "raise the ceiling of {of} to {to}",
    ChangeKind.QUOTA: "raise the quota of {of} to {to}",
    ChangeKind.ACCEPT_SURPLUS: "set accept_surplus for {of}",
    ChangeKind.CONCURRENCY_LIMIT: "raise the concurrency limit {of} to {to}",
    ChangeKind.SETTING: "unset {of}",
    ChangeKind.TIME_BUDGET: "set {of} = {to}",
    ChangeKind.FREE_SLOT: "free {of}",
    ChangeKind.UNDRAIN: "undrain {of}",
}


def is_owners(change: Change) -> bool:
    """Return whether the job's owner can make *change*; other changes need an administrator."""
    return change.kind in OWNERS


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
