"""Changes that would let a job run, in words."""

from __future__ import annotations

from typing import Any

from fairq.engine.explain.changes import REQUESTS, Change, ChangeKind


def change_words(change: Change) -> str:
    """Return *change* as the end of a sentence that begins with "It would run"."""
    return _filled(_phrases(change)[0], change)


def change_order(change: Change) -> str:
    """Return *change* as an imperative."""
    return _filled(_phrases(change)[1], change)


def _filled(phrase: str, change: Change) -> str:
    name = REQUESTS.get((change.attribute or "").lower(), change.attribute)
    return phrase.format(of=change.of, to=_shown(change.to), name=name, clause=change.clause)


def _phrases(change: Change) -> tuple[str, str]:
    """Return the end of the sentence and the imperative for *change*, with gaps."""
    match change.kind:
        case ChangeKind.REQUIREMENTS_CLAUSE if change.to is None:
            return "without {clause}", "remove {clause}"
        case ChangeKind.SLOT_CLAUSE if change.to is None:
            return "without {clause} of {of}", "remove {clause} of {of}"
        case ChangeKind.ADD_SLOT if isinstance(change.to, int) and change.to > 1:
            return "with {to} more slots like {of}", "add {to} slots like {of}"
        case _:
            return _PHRASES[change.kind]


_PHRASES = {
    ChangeKind.JOB_ATTRIBUTE: ("with {name} = {to}", "set {name} = {to}"),
    ChangeKind.REQUIREMENTS_CLAUSE: ("with {to}", "replace {clause} by {to}"),
    ChangeKind.SLOT_CLAUSE: ("with {to} of {of}", "replace {clause} of {of} by {to}"),
    ChangeKind.JOB_PRIORITY: ("with a job priority of {to}", "set the priority of the job to {to}"),
    ChangeKind.FACTOR: ("with a factor of {to} for {of}", "set the factor of {of} to {to}"),
    ChangeKind.PRIORITY: ("with a priority of {to} for {of}", "set the real priority of {of} to {to}"),
    ChangeKind.FLOOR: ("with a floor of {to} for {of}", "set the floor of {of} to {to}"),
    ChangeKind.CEILING: ("with a ceiling of {to} for {of}", "raise the ceiling of {of} to {to}"),
    ChangeKind.QUOTA: ("with a quota of {to} for {of}", "raise the quota of {of} to {to}"),
    ChangeKind.ACCEPT_SURPLUS: ("with accept_surplus for {of}", "set accept_surplus for {of}"),
    ChangeKind.CONCURRENCY_LIMIT: (
        "with a concurrency limit of {to} for {of}",
        "raise the concurrency limit {of} to {to}",
    ),
    ChangeKind.SETTING: ("without {of}", "unset {of}"),
    ChangeKind.TIME_BUDGET: ("with {of} = {to}", "set {of} = {to}"),
    ChangeKind.FREE_SLOT: ("as soon as {of} is free", "free {of}"),
    ChangeKind.UNDRAIN: ("with {of} not draining", "undrain {of}"),
    ChangeKind.ADD_SLOT: ("with one more slot like {of}", "add one slot like {of}"),
}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
