"""``fairq undo``: undo the actor's last change, or the change of an entry in the history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.common.records import Actor, Change
from fairq.errors.people import NotAllowedError, UndoError
from fairq.state import history, undo
from fairq.state.connection import State, reading, trying, writing
from fairq.state.history import Entry
from fairq.state.location import elsewhere_of, exists
from fairq.state.undo import Undoable
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.settings_history import UNDO_KIND, complete, undo_settings
from fairq.steps.undo import jobs, pool, records
from fairq.steps.undo.jobs import Problem

if TYPE_CHECKING:
    from fairq.settings import Settings


_OF_JOBS = {"submit", "remove", "hold", "release", "prio", "edit", "rerun"}
"""The kinds of changes that users other than administrators can make."""

_REPLACING = {"jobs": _OF_JOBS, "task queues": _OF_JOBS, "slots": {"slots add", "slots remove", "slots drain"}}
"""The subjects of imports, with the kinds of changes to the data that they replace."""

_DERIVED = {"Priority", "LastUpdate"}
"""Attributes of a record that are computed from others."""


class Undone(Struct, frozen=True):
    """An undone change, with its *entries* in the history."""

    entries: list[Entry]

    def document(self) -> dict[str, Any]:
        """Return the change as plain data."""
        first = self.entries[0]
        return {
            "change": first.number,
            "user": first.user,
            "time": first.time,
            "command": first.command,
            "subjects": [entry.subject for entry in self.entries],
        }


def take_back(path: Path, settings: Settings, actor: Actor, number: int | None, *, dry_run: bool = False) -> Undone:
    """Undo the last change of *actor*, or the change of entry *number* in the history.

    Only an administrator may undo another user's change.

    Raises:
        UndoError: the change does not exist, or a later change depends on it.
        NotAllowedError: the change is another user's.
    """
    if not dry_run:
        complete(path)
    open_state = reading if not exists(path) else trying if dry_run and elsewhere_of(path) else writing
    with open_state(path) as state:
        change = undo.last_of(state, actor.user) if number is None else undo.of_entry(state, number)
        # The older ones are deleted by the next change that can be undone.
        if change is None or change.time < actor.time - settings["pool.undo_kept"]:
            raise _unknown(state, actor, number)
        entries = [entry for entry in history.load(state, after=change.first - 1) if entry.number <= change.last]
        named_change = f"change {change.first} ({entries[0].command})"
        if change.user != actor.user and not actor.administrator:
            who = f"{change.user} and administrators"
            raise NotAllowedError(user=actor.user, action=f"undo {named_change} of {change.user}", who=who)
        if change.undone is not None:
            raise UndoError(change=named_change, reason=f"it was undone by change {change.undone}")
        # A change that can never be undone is reported first, even if later changes depend on it.
        if change.kind == undo.NEVER:
            older = "; name an older change by its number in 'fairq state history'" if number is None else ""
            raise UndoError(change=named_change, reason=f"{change.data['reason']}{older}")
        problem = _dependent(state, change, entries)
        is_of_settings = change.kind == UNDO_KIND
        if problem is None and not is_of_settings:
            problem = _undo(state, settings, change, entries, actor)
        if problem is not None:
            raise UndoError(change=named_change, reason=problem)
        if not is_of_settings:
            mark = Change(f"change {change.first}", {"Command": entries[0].command, "User": change.user}, None)
            numbers = history.record(state, actor, [mark], own=change.kind in _OF_JOBS)
            undo.mark(state, change.first, numbers[0])
        if dry_run:
            raise _DryRunError(Undone(entries))
    if is_of_settings:
        # A file is written, which no transaction of the state can take back.
        undo_settings(path, actor, named_change, change.first, change.data)
    return Undone(entries)


class _DryRunError(Exception):
    """Ends the transaction of a dry run without storing it."""

    def __init__(self, undone: Undone) -> None:
        self.undone = undone


def try_to_take_back(path: Path, settings: Settings, actor: Actor, number: int | None) -> Undone:
    """Do the same as `take_back`, but store nothing."""
    try:
        return take_back(path, settings, actor, number, dry_run=True)
    except _DryRunError as dry_run:
        return dry_run.undone


def _undo(state: State, settings: Settings, change: Undoable, entries: list[Entry], actor: Actor) -> Problem:
    data: dict[str, Any] = change.data
    now = actor.time
    undo_by_kind: dict[str, Callable[[], Problem]] = {
        "submit": lambda: jobs.undo_submit(state, data, entries[0].after["Jobs"]),
        "rerun": lambda: jobs.undo_rerun(state, data, now),
        "remove": lambda: jobs.undo_remove(state, data, change.time, now),
        **dict.fromkeys(("hold", "release", "prio", "edit"), lambda: jobs.undo_change(state, change.kind, data, now)),
        "userprio": lambda: records.undo_edits(state, data, accounting_policy(settings), now, actor.user),
        "slots add": lambda: pool.undo_add(state, data),
        "slots remove": lambda: pool.undo_remove(state, data),
        "slots drain": lambda: pool.undo_drain(state, data),
        "pool pause": lambda: pool.undo_pause(state, data),
        "slots reserve": lambda: pool.undo_reserve(state, data),
    }
    return undo_by_kind[change.kind]()


def _dependent(state: State, change: Undoable, entries: list[Entry]) -> Problem:
    """Return a sentence on a later change of the same jobs, slot or values that is not undone, or None."""
    undone = undo.undone_entries(state)
    subjects = {entry.subject: entry for entry in entries}
    clusters = {_cluster(subject) for subject in subjects} - {None}
    for later in history.load(state, after=change.last):
        if later.number in undone:
            continue
        if change.kind in _REPLACING.get(later.subject, ()):
            return f"change {later.number} ({later.command}) replaced the {later.subject} after it"
        same = subjects.get(later.subject)
        is_dependent = same is not None and (change.kind != "userprio" or _overlap(same, later))
        if is_dependent or _cluster(later.subject) in clusters:
            return f"change {later.number} of {later.subject} ({later.command}) came after it; undo that one first"
    return None


def _overlap(entry: Entry, later: Entry) -> bool:
    """Return whether two changes of a record affect a common value; a new or deleted record affects all values."""
    if None in (entry.before, entry.after, later.before, later.after):
        return True
    names = ({*item.before, *item.after} for item in (entry, later))
    return bool(set.intersection(*names) - _DERIVED)


def _cluster(subject: str) -> str | None:
    kind, _, name = subject.partition(" ")
    return name.partition(".")[0] if kind == "job" else None


def _unknown(state: State, actor: Actor, number: int | None) -> UndoError:
    if number is None:
        reason = "no change that can be undone is kept; 'fairq state history' lists all changes"
        return UndoError(change=f"the last change of {actor.user}", reason=reason)
    exists = any(entry.number == number for entry in history.load(state, 1, after=number - 1)) or bool(
        history.load(state, None, after=number - 1)
    )
    reason = "changes of this kind, or so old, cannot be undone" if exists else "the history has no such entry"
    return UndoError(change=f"change {number}", reason=reason)
