"""Import brokerage records from one file: read, check each record, store in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec import Struct

from fairq.columns.broker.column import Kind
from fairq.common.records import Actor, Change
from fairq.errors.broker import RecordsRefusedError, RecordsSoftenedError
from fairq.formats.source import Held, opened
from fairq.formats.table import parse_table
from fairq.state import broker_data, history
from fairq.state.broker_data import Row
from fairq.state.connection import State, reading, writing
from fairq.steps.broker.reader import Found
from fairq.steps.broker.special import read, relate


class Imported(Struct, frozen=True):
    """The result of an import: the numbers of records read, added and removed, and the remarks on them."""

    number: int
    added: int
    removed: int
    remarks: list[str]
    refused: list[str]
    softened: list[str]


def import_records(
    path: Path, kind: Kind, name: str | Held, actor: Actor, *, replace: bool = False, dry_run: bool = False
) -> Imported:
    """Store the records of a file over those with the same keys; with *replace*, all others are removed.

    Each unusable record is refused on its own. Columns that a record does not name keep their values.

    Raises RecordsRefusedError if no record can be used, and the dumps' errors.
    """
    with opened(name) as source:
        found = read(kind, parse_table(source))
    if found.refused and not found.number:
        raise RecordsRefusedError(
            source=found.source, refused=found.refused[0], others=more(found.refused), fate="nothing was changed"
        )
    with open_state(path, dry_run) as state:
        before = broker_data.keys(state, kind)
        if found.form is not None and found.form.completes:
            complete(found, kind, before)
        after = keys_of(kind, found)
        replaces = replace and not (found.form is not None and found.form.completes)
        removed = len(before - after) if replaces else 0
        added = len(after - before)
        if not dry_run:
            if replaces:
                broker_data.keep(state, kind, after)
            store(state, kind, found)
            change = {"records": found.number, "added": added, "removed": removed, "refused": len(found.refused)}
            history.record(state, actor, [Change(f"broker {kind.name}", {"records": len(before)}, change)])
    return Imported(found.number, added, removed, found.remarks, found.refused, found.softened)


def open_state(path: Path, read_only: bool) -> AbstractContextManager[State]:
    """Open the state at *path*, for writing unless *read_only*."""
    return reading(path) if read_only else writing(path)


def keys_of(kind: Kind, found: Found) -> set[Row]:
    """Return the keys of the records that *found* holds."""
    places = [kind.positions[column.name] for column in kind.keys]
    return {tuple(row[place] for place in places) for row in found.all_rows()}


def complete(found: Found, kind: Kind, known: Collection[Row]) -> None:
    """Drop the records of *found* whose keys are not *known*: the file only adds columns to existing records."""
    places = [kind.positions[column.name] for column in kind.keys]
    for given, rows in found.rows.items():
        kept = [row for row in rows if tuple(row[place] for place in places) in known]
        for row in rows:
            if tuple(row[place] for place in places) not in known:
                found.left_out += 1
                found.remarks.append(f"record {row[0]!r}: left out, the {kind.one} is not known")
        found.rows[given] = kept


def store(state: State, kind: Kind, found: Found) -> None:
    """Store a file's records and the relations of queues; a published form sets the columns of absent records."""
    if found.form is not None and found.form.absent:
        columns, values = list(found.form.absent), tuple(found.form.absent.values())
        broker_data.change(state, kind, columns, ((*values, *key) for key in broker_data.keys(state, kind)))
    for given, rows in found.rows.items():
        broker_data.store(state, kind, rows, sorted(given))
    relate(state, kind, found)


def refuse(kind: Kind, imported: Imported, name: str) -> None:
    """Raise RecordsRefusedError if some records were refused, after the others were stored."""
    if imported.refused:
        number = imported.number
        fate = f"the other {number} {kind.name} were taken" if number > 1 else "the other one was taken"
        raise RecordsRefusedError(source=name, refused=imported.refused[0], others=more(imported.refused), fate=fate)


def soften(softened: list[str], name: str, *, dry_run: bool = False) -> None:
    """Raise RecordsSoftenedError if some values were reinterpreted, after the records were stored."""
    if softened:
        fate = f"all records {'would be' if dry_run else 'were'} taken"
        raise RecordsSoftenedError(source=name, problem=softened[0], others=more(softened), fate=fate)


def more(told: Iterable[str]) -> str:
    """Return the number of records beyond the one shown."""
    number = len(list(told))
    return f" and {number - 1} more" if number > 1 else ""
