"""The history of settings: changes by fairq commands, and manual edits of the files.

A command stores its intent, replaces the file, and records the change. If it is killed in between, the next command
finds the file old or new, and drops or records the change.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from fairq.common import commit
from fairq.common.records import Actor, Change
from fairq.errors.base import FairqError
from fairq.errors.people import UndoError
from fairq.settings.collect import Collection, parse_document, read_text
from fairq.settings.edit import remove, set_value
from fairq.settings.model import settle
from fairq.settings.writer import exclusive, replace
from fairq.state import history, settings_changes, undo
from fairq.state.connection import State, reading, writing
from fairq.state.location import exists
from fairq.state.settings_changes import Edit, Intent, KnownFile
from fairq.steps.rights import require_administrator

if TYPE_CHECKING:
    from fairq.settings import Settings

UNDO_KIND = "settings"
"""The kind of these changes among those that can be undone."""

BY_HAND = "(the file was edited)"
"""The command of a change that no fairq command made."""

_SEPARATOR = "\x1f"


class Recorder(Struct, frozen=True):
    """The state at *path* that records changes of settings by *actor* in its history."""

    path: Path
    actor: Actor


def replace_recorded(
    file: Path,
    former: str,
    text: str,
    recorder: Recorder | None,
    *,
    undoes: int | None = None,
    keep_former: bool = False,
) -> Path | None:
    """Write *text* to the settings file *file*, which has the text *former*, and record the change.

    The caller has locked the file (`exclusive`). Returns the same as `replace`. Without a *recorder*, or without a
    state, nothing is recorded.

    Raises NotAllowedError unless the actor is an administrator, and the errors of `replace`.
    """
    edits = list(_edits(_values(former), _values(text)))
    if recorder is None or not exists(recorder.path) or not edits:
        former_copy = replace(file, text, keep_former=keep_former)
        commit.mark()
        return former_copy
    actor = recorder.actor
    require_administrator(actor, "change settings of the pool")
    name = str(file.absolute())
    with writing(recorder.path) as state:
        _complete(state)
        settings_changes.store_intent(
            state, Intent(name, _digest(text), edits, actor.user, actor.command, actor.time, actor.reason, undoes)
        )
    try:
        return replace(file, text, keep_former=keep_former)
    finally:
        with writing(recorder.path) as state:
            _complete(state)


def complete(path: Path) -> None:
    """Complete the record of a change of settings whose command was killed."""
    if not exists(path):
        return
    with reading(path) as state:
        intent = settings_changes.load_intent(state)
    if intent is None:
        return
    # The process that holds the file's lock may be between its intent and the change.
    with exclusive(Path(intent.file)), writing(path) as state:
        _complete(state)


def complete_if_possible(path: Path) -> None:
    """Do the same for a reader, who may not be allowed to write the state."""
    with suppress(FairqError, OSError):
        complete(path)


def _complete(state: State) -> None:
    intent = settings_changes.load_intent(state)
    if intent is None:
        return
    settings_changes.store_intent(state, None)
    text = text_of(Path(intent.file))
    if _digest(text) != intent.digest:
        return
    actor = Actor(intent.user, intent.command, intent.time, intent.reason)
    known = settings_changes.load_known(state)
    settings_changes.store_known(state, {**known, intent.file: KnownFile(intent.digest, _values(text))})
    if intent.undoes is None:
        entries = history.record(state, actor, _changes(intent.edits))
        data = {"file": intent.file, "edits": [[edit.name, edit.before, edit.after] for edit in intent.edits]}
        undo.record(state, actor, entries, UNDO_KIND, data, None)
        return
    undone = undo.of_entry(state, intent.undoes)
    if undone is not None and undone.undone is None:
        (first,) = history.load(state, None, after=intent.undoes - 1)[:1]
        mark = Change(f"change {intent.undoes}", {"Command": first.command, "User": first.user}, None)
        undo.mark(state, intent.undoes, history.record(state, actor, [mark])[0])


def note_edits(path: Path, settings: Settings, now: int) -> None:
    """Record, without a user, the manual edits in the files of *settings* since fairq last read them.

    For a file that is read for the first time, nothing is recorded.
    """
    complete(path)
    with reading(path) as state:
        known = settings_changes.load_known(state)
    names = {str(entry.origin.file.absolute()) for entry in settings if entry.origin.file is not None}
    changed_files = {}
    for name in sorted(names | known.keys()):
        text = text_of(Path(name))
        if name not in known or known[name].digest != _digest(text):
            changed_files[name] = KnownFile(_digest(text), _values(text))
    if not changed_files:
        return
    with writing(path) as state:
        known = settings_changes.load_known(state)
        edits = [
            edit
            for name in changed_files
            if name in known
            for edit in _edits(known[name].values, changed_files[name].values)
        ]
        history.record(state, Actor("", BY_HAND, now), _changes(edits))
        settings_changes.store_known(state, {**known, **changed_files})


def undo_settings(path: Path, actor: Actor, named_change: str, first: int, data: Mapping[str, Any]) -> None:
    """Restore the former values of the settings of a change, which begins with entry *first*.

    Raises UndoError, with *named_change* as the change, if a setting has another value now, or the settings would be
    invalid.
    """
    file = Path(data["file"])
    edits = [Edit(*edit) for edit in data["edits"]]
    with exclusive(file):
        former = text = text_of(file)
        values = _values(former)
        for edit in edits:
            if values.get(edit.name) != edit.after:
                raise UndoError(change=named_change, reason=f"{_shown(edit.name)} has another value in {file} now")
            text = _with(text, edit.name, edit.before)
        expected = {name: value for name, value in values.items() if name not in {edit.name for edit in edits}}
        expected |= {edit.name: edit.before for edit in edits if edit.before is not None}
        for name, value in _values(text).items():
            # A table without values declares a group.
            if value == {} and name not in expected:
                text = _with(text, name, None)
        try:
            collection = Collection()
            collection.add_document(parse_document(text, file), file)
            collection.check_parents()
            settle(collection)
        except FairqError as error:
            raise UndoError(change=named_change, reason=f"the settings would be invalid: {error}") from None
        replace_recorded(file, former, text, Recorder(path, actor), undoes=first)


def _with(text: str, name: str, value: Any) -> str:
    keys = tuple(name.split(_SEPARATOR))
    if value is not None:
        return set_value(text, keys, value)[0]
    edited = remove(text, keys)
    return text if edited is None else edited[0]


def _changes(edits: Iterable[Edit]) -> Iterator[Change]:
    for edit in edits:
        before, after = (None if value is None else {"Value": value} for value in (edit.before, edit.after))
        yield Change(f"setting {_shown(edit.name)}", before, after)


def _shown(name: str) -> str:
    return name.replace(_SEPARATOR, ".")


def _edits(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Edit]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield Edit(name, before.get(name), after.get(name))


def _values(text: str) -> dict[str, Any]:
    """Return the values of a settings file by path, for an empty table an empty object; none for an invalid file."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    values: dict[str, Any] = {}
    pending: list[tuple[tuple[str, ...], Any]] = [((), document)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and (value or not path):
            pending += [((*path, key), inner) for key, inner in value.items()]
        else:
            values[_SEPARATOR.join(path)] = value if isinstance(value, str | int | float | list | dict) else str(value)
    return values


def text_of(file: Path) -> str:
    """Return the text of *file*, empty if it cannot be read."""
    try:
        return read_text(file)
    except (FileNotFoundError, FairqError):
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
