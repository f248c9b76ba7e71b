"""The edits of ``userprio``: which one a command line asks for, and its values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from fairq.cli.invocation import Invocation
from fairq.cli.options import parse_duration, parse_time
from fairq.cli.output import Output, View, emit
from fairq.errors.base import InvalidNumberError, UsageError
from fairq.quantities import duration

if TYPE_CHECKING:
    from fairq.steps.userprio.edit import Bound, Edited, Editor

_ORDER = (
    "setprio", "setfactor", "setfloor", "setceiling", "cancelceilinglease", "cancelfloorlease",
    "cancelfactorlease", "setaccum", "setbegin", "setlast", "resetusage", "delete", "resetall", "prune",
)  # fmt: skip
"""Which edit is done if a command line has several (condor_userprio's order)."""

_LEASABLE = frozenset({"setfactor", "setfloor", "setceiling"})

_WHAT: dict[str, Bound] = {
    "setfactor": "factor",
    "setfloor": "floor",
    "setceiling": "ceiling",
    "cancelfactorlease": "factor",
    "cancelfloorlease": "floor",
    "cancelceilinglease": "ceiling",
}

_LARGEST = 2**31 - 1
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[-+]?\d{1,30}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Edits:
    """The edit options of one command line.

    *pairs* have a name and a value each, *names* a name; what was not given is None. *duration* is as typed, *prune* in
    seconds.
    """

    pairs: Mapping[str, tuple[str, str] | None]
    names: Mapping[str, str | None]
    duration: str | None
    reset_all: bool
    force: bool
    prune: int | None

    @property
    def given(self) -> list[str]:
        """The edits asked for, the one to be done first."""
        asked = {name for name, value in (*self.pairs.items(), *self.names.items()) if value is not None}
        if self.reset_all:
            asked.add("resetall")
        if self.prune is not None:
            asked.add("prune")
        return [name for name in _ORDER if name in asked]

    @property
    def chosen(self) -> str | None:
        """The edit to be done, None if there is none."""
        return next(iter(self.given), None)

    def check_without_edit(self, *, dry_run: bool) -> None:
        """Refuse the options that only serve an edit; raises UsageError."""
        if self.duration is not None:
            raise UsageError(message="--duration needs --setfactor, --setfloor or --setceiling")
        if self.force:
            raise UsageError(message="--force needs --delete")
        if dry_run:
            raise UsageError(message="--dry-run needs an edit option; without one, nothing is stored")


def run_edit(invocation: Invocation, output: Output, edits: Edits, now: int, *, dry_run: bool) -> None:
    """Do the edit that comes first among *edits* and say what was done."""
    from fairq.steps.userprio.edit import Editor

    chosen, *others = edits.given
    if edits.duration is not None and chosen not in _LEASABLE:
        raise UsageError(
            message=f"--duration needs --setfactor, --setfloor or --setceiling; leave it out with --{chosen}"
        )
    if edits.force and chosen != "delete":
        raise UsageError(message=f"--force cannot be used with --{chosen}, only with --delete")
    editor = Editor(invocation.state_path, invocation.settings, invocation.actor(now), dry_run=dry_run)
    edited = _apply(editor, chosen, edits, now)
    changes = [{"name": one.subject, "before": one.before, "after": one.after} for one in edited.changes]
    document = {"message": edited.message, "stored": not dry_run, "changes": changes}
    emit(View(document=document, text=edited.message), output)
    if others:
        invocation.note(f"fairq: not done, one edit at a time: --{', --'.join(others)}")


def _apply(editor: Editor, chosen: str, edits: Edits, now: int) -> Edited:
    if chosen == "resetall":
        return editor.reset_all()
    if chosen == "prune":
        return editor.prune(edits.prune or 0)
    pair = edits.pairs.get(chosen)
    if pair is not None:
        return _set(editor, chosen, *pair, edits.duration, now)
    name = edits.names[chosen] or ""
    if chosen == "delete":
        return editor.delete(name, force=edits.force)
    if chosen == "resetusage":
        return editor.reset_usage(name)
    return editor.cancel(name, _WHAT[chosen])


def _set(editor: Editor, chosen: str, name: str, text: str, lease: str | None, now: int) -> Edited:
    if chosen in _LEASABLE:
        value = (_number if chosen == "setfactor" else _whole)(text, f"the {_WHAT[chosen]}")
        seconds = None if lease is None else parse_duration(lease, "--duration")
        return editor.set_bound(name, _WHAT[chosen], value, seconds)
    if chosen == "setprio":
        return editor.set_priority(name, _number(text, "the priority"))
    if chosen == "setaccum":
        return editor.set_usage(name, _usage(text))
    if chosen == "setbegin":
        return editor.set_begin(name, parse_time(text, "the begin usage time", now))
    return editor.set_last(name, parse_time(text, "the last usage time", now))


def _usage(text: str) -> float:
    """Return seconds of weighted use, which may be written as a duration."""
    seconds = duration(text)
    return _number(text, "the accumulated usage") if seconds is None else seconds


def _number(text: str, what: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise InvalidNumberError(what=what, value=text, expected="give a number")
    if not isfinite(float(text)):
        raise InvalidNumberError(what=what, value=text, expected="give one below 1e308")
    return float(text)


def _whole(text: str, what: str) -> float:
    if not _INTEGER.fullmatch(text) or abs(int(text)) > _LARGEST:
        raise InvalidNumberError(what=what, value=text, expected=f"give a whole number up to {_LARGEST}")
    return int(text)
