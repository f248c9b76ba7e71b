"""The edits of ``userprio``: those that a command line requests, and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.cli.confirm import asks, confirm
from fairq.cli.figures import counted
from fairq.cli.invocation import Invocation
from fairq.cli.options import parse_duration, parse_time
from fairq.cli.output import Output, View, emit
from fairq.cli.single_dash import SEPARATOR
from fairq.common.quantities import duration
from fairq.common.records import Actor
from fairq.errors.base import InvalidNumberError, UsageError

if TYPE_CHECKING:
    from fairq.host.client.ask import Door
    from fairq.host.client.changes import RecordedEdits
    from fairq.steps.userprio.edit import Bound, Edited, Editor

_ORDER = (
    "setprio", "setfactor", "setfloor", "setceiling", "cancelceilinglease", "cancelfloorlease",
    "cancelfactorlease", "setaccum", "setbegin", "setlast", "resetusage", "delete", "resetall", "prune",
)  # fmt: skip
"""The order in which the edits of a command line are made (the order in which condor_userprio checks them)."""

_LEASABLE = frozenset({"setfactor", "setfloor", "setceiling"})

_BOUNDS: dict[str, Bound] = {
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


class Edits(Struct, frozen=True):
    """The edit options of one command line.

    *pairs* have names and values, *names* only names. *duration* is as typed, *prune* in seconds.
    """

    pairs: Mapping[str, Sequence[tuple[str, str]]]
    names: Mapping[str, Sequence[str]] = {}
    duration: str | None = None
    reset_all: bool = False
    force: bool = False
    prune: int | None = None

    @property
    def given(self) -> list[str]:
        """The requested kinds of edits, in the order in which they are made."""
        kinds = {name for name, values in (*self.pairs.items(), *self.names.items()) if values}
        if self.reset_all:
            kinds.add("resetall")
        if self.prune is not None:
            kinds.add("prune")
        return [name for name in _ORDER if name in kinds]

    def check_without_edit(self, *, dry_run: bool, reason: str | None) -> None:
        """Refuse options that require an edit; raises UsageError."""
        if self.duration is not None:
            raise UsageError(message="--duration needs --setfactor, --setfloor or --setceiling")
        if self.force:
            raise UsageError(message="--force needs --delete")
        if dry_run:
            raise UsageError(message="--dry-run needs an edit option; without one, nothing is stored")
        if reason is not None:
            raise UsageError(message="--reason needs an edit option; without one, nothing is stored")

    def check(self) -> None:
        """Refuse options that no requested edit uses; raises UsageError."""
        if self.duration is not None and not _LEASABLE.intersection(self.given):
            raise UsageError(
                message=f"--duration needs --setfactor, --setfloor or --setceiling; leave it out with --{self.given[0]}"
            )
        if self.force and "delete" not in self.given:
            raise UsageError(message=f"--force cannot be used with --{self.given[0]}, only with --delete")

    def questions(self) -> list[str]:
        """Return the questions to ask before these edits are made."""
        questions = [f"delete the record of {name}" for name in self.names["delete"]]
        questions += ["reset the accumulated usage of all users"] * self.reset_all
        return questions


def pairs(**options: list[str] | None) -> dict[str, Sequence[tuple[str, str]]]:
    """Return the names and values of the edit *options*, as the parser returns them."""
    by_option: dict[str, Sequence[tuple[str, str]]] = {}
    for option, words in options.items():
        parts = [word.partition(SEPARATOR) for word in words or ()]
        by_option[option] = [(name, value) for name, _, value in parts]
    return by_option


def run_edits(
    invocation: Invocation,
    output: Output,
    edits: Edits,
    actor: Actor,
    now: int | None,
    *,
    yes: bool = False,
    dry_run: bool = False,
) -> None:
    """Make all *edits* or, if one fails, none, and print the result; on a terminal, ask first where required.

    *now* is the value of ``--now``.
    """
    edits.check()
    if not dry_run and asks(yes):
        _ask(invocation, edits, actor)
    door = None if dry_run else invocation.by_program(actor, now)
    edited = make(invocation, edits, actor, door, dry_run=dry_run)
    changes = [{"name": change.subject, "before": change.before, "after": change.after} for change in edited.changes]
    document = {"message": edited.message, "stored": not dry_run, "changes": changes}
    emit(View(document=document, text=edited.message), output)
    for note in edited.notes:
        invocation.note(f"fairq: {note}")
    for name, similar in edited.strangers.items():
        invocation.note(f"fairq: {_new_record(name, similar)}")


def _ask(invocation: Invocation, edits: Edits, actor: Actor) -> None:
    """Ask the required questions about *edits*, after a dry run; without a yes, the command ends."""
    tried = make(invocation, edits, actor, dry_run=True)
    questions = edits.questions()
    if edits.prune is not None and tried.changes:
        questions.append(f"delete {counted(sum(change.after is None for change in tried.changes), 'record')}")
    for name, similar in tried.strangers.items():
        questions.append(f"new record {name}" + (f", not {similar}" if similar else ""))
    for question in questions:
        confirm(invocation, f"{question[:1].upper()}{question[1:]}?")


def _new_record(name: str, similar: str | None) -> str:
    return f"new record {name}" + (f"; did you mean {similar}?" if similar else "")


def make(
    invocation: Invocation, edits: Edits, actor: Actor, door: Door | None = None, *, dry_run: bool = False
) -> Edited:
    """Make all *edits* or, if one fails, none; with a *door*, the program of the pool makes them."""
    from fairq.steps.userprio.edit import Edited, Editor

    if door is not None:
        from fairq.host.client.changes import RecordedEdits

        recorded = RecordedEdits()
        _apply_all(recorded, edits, actor.time)
        return recorded.send(door)
    editor = Editor(invocation.state_path, invocation.settings, actor, dry_run=dry_run)
    total = Edited("")
    with editor.together(create=any(edits.pairs.values())):
        for edited in _apply_all(editor, edits, actor.time):
            total.add(edited)
    return total


def _apply_all(editor: Editor | RecordedEdits, edits: Edits, now: int) -> list[Edited]:
    return [edited for kind in edits.given for edited in _apply(editor, kind, edits, now)]


def _apply(editor: Editor | RecordedEdits, kind: str, edits: Edits, now: int) -> Iterator[Edited]:
    if kind == "resetall":
        yield editor.reset_all()
    elif kind == "prune":
        yield editor.prune(edits.prune or 0)
    elif kind in edits.pairs:
        for name, value in edits.pairs[kind]:
            yield _set(editor, kind, name, value, edits.duration, now)
    else:
        for name in edits.names[kind]:
            yield _apply_by_name(editor, kind, name, force=edits.force)


def _apply_by_name(editor: Editor | RecordedEdits, kind: str, name: str, *, force: bool) -> Edited:
    if kind == "delete":
        return editor.delete(name, force=force)
    return editor.reset_usage(name) if kind == "resetusage" else editor.cancel(name, _BOUNDS[kind])


def _set(editor: Editor | RecordedEdits, kind: str, name: str, text: str, lease: str | None, now: int) -> Edited:
    if kind in _LEASABLE:
        value = (_number if kind == "setfactor" else _integer)(text, f"the {_BOUNDS[kind]}")
        seconds = None if lease is None else parse_duration(lease, "--duration")
        return editor.set_bound(name, _BOUNDS[kind], value, seconds)
    if kind == "setprio":
        return editor.set_priority(name, _number(text, "the priority"))
    if kind == "setaccum":
        return editor.set_usage(name, _usage(text))
    if kind == "setbegin":
        return editor.set_begin(name, parse_time(text, "the begin usage time", now))
    return editor.set_last(name, parse_time(text, "the last usage time", now))


def _usage(text: str) -> float:
    """Return weighted usage in seconds; *text* may be a duration."""
    seconds = duration(text)
    return _number(text, "the accumulated usage") if seconds is None else seconds


def _number(text: str, name: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise InvalidNumberError(what=name, value=text, expected="give a number")
    if not isfinite(float(text)):
        raise InvalidNumberError(what=name, value=text, expected="give one below 1e308")
    return float(text)


def _integer(text: str, name: str) -> float:
    if not _INTEGER.fullmatch(text) or abs(int(text)) > _LARGEST:
        raise InvalidNumberError(what=name, value=text, expected=f"give a whole number up to {_LARGEST}")
    return int(text)
