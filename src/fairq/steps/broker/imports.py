"""Import records from one file, or from all files of a directory or an archive, in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from fairq.columns.broker.column import Kind
from fairq.columns.broker.kinds import STORED
from fairq.columns.broker.places import QUEUES
from fairq.common.records import Actor, Change
from fairq.errors.broker import RecordsRefusedError, RecordsSoftenedError, UnknownFilesError
from fairq.errors.pool import InvalidDumpError
from fairq.formats.bundle import files_of
from fairq.formats.grid.places import CRIC_STATES
from fairq.formats.grid.recognition import recognise
from fairq.formats.source import Held, opened
from fairq.formats.table import Table, parse_table
from fairq.state import broker_data, history
from fairq.state.broker_data import Row
from fairq.state.connection import State, reading, writing
from fairq.steps.broker.checks import read, store_relations
from fairq.steps.broker.reader import FileRecords

_ORDER = {kind.name: index for index, kind in enumerate(STORED)}


class Bundle(Struct):
    """An import of many files: the files read, in the order stored, and the files left out."""

    parts: list[FileRecords] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def number(self) -> int:
        """Number of usable records."""
        return sum(part.number for part in self.parts)

    def texts(self, attribute: str) -> list[str]:
        """Return the texts of *attribute* (refused, softened or remarks), each after the name of its file."""
        return [f"{part.source}, {text}" for part in self.parts for text in getattr(part, attribute)]


def import_records(
    path: Path, kind: Kind, name: str | Held, actor: Actor, *, replace: bool = False, dry_run: bool = False
) -> FileRecords:
    """Store the records of a file over those with the same keys; with *replace*, all others are removed.

    Each unusable record is refused on its own. Columns that a record does not name keep their values.

    Raises RecordsRefusedError if no record can be used, and the dumps' errors.
    """
    with opened(name) as source:
        records = read(kind, parse_table(source))
    refused = records.refused
    if refused and not records.number:
        raise RecordsRefusedError(
            source=records.source, refused=refused[0], others=more(refused), fate="nothing was changed"
        )
    _import(path, [records], actor, replace, dry_run)
    return records


def import_bundle(
    path: Path, name: str, actor: Actor, *, replace: bool = False, dry_run: bool = False, lenient: bool = False
) -> Bundle:
    """Store the records of all files of *name* over those with the same keys; all or nothing.

    With *replace*, the other records of each kind that has a file are removed. Each unusable record is refused on its
    own. A file that cannot be identified stops the import, unless *lenient*.

    Raises UnknownFilesError, RecordsRefusedError if no record can be used, and the dumps' errors.
    """
    bundle = read_bundle(name, lenient=lenient)
    if not bundle.number and (refused := bundle.texts("refused")):
        source, _, problem = refused[0].partition(", ")
        raise RecordsRefusedError(source=source, refused=problem, others=more(refused), fate="nothing was changed")
    _import(path, bundle.parts, actor, replace, dry_run, names_files=True)
    return bundle


def read_bundle(name: str, *, lenient: bool = False) -> Bundle:
    """Return the files of *name* as read; raises UnknownFilesError unless *lenient*, and the dumps' errors."""
    bundle = Bundle()
    states: dict[str, Any] = {}
    for file in files_of(name):
        table = _read_table(file)
        recognised = None if table is None else recognise(file.name, table)
        if table is None or recognised is None:
            bundle.unknown.append(file.name)
            continue
        kind, form = recognised
        if form is CRIC_STATES:
            table = _merged_states(states, table)
        bundle.parts.append(read(kind, table, form))
    if bundle.unknown and (not lenient or not bundle.parts):
        raise UnknownFilesError(source=name, what=bundle.unknown[0], others=more(bundle.unknown))
    bundle.parts.sort(key=lambda part: (part.completes, _ORDER[part.kind.name], part.source))
    return bundle


def _read_table(file: Held) -> Table | None:
    """Return a file as a table, None if it is neither JSON nor text; raises the dumps' errors."""
    try:
        with opened(file) as source:
            return parse_table(source)
    except InvalidDumpError:
        if file.name.lower().endswith((".json", ".csv", ".json.gz", ".csv.gz")):
            raise
        return None


def _merged_states(states: dict[str, Any], table: Table) -> Table:
    """Merge CRIC's states of endpoints with those of earlier files: CRIC also publishes them by activity."""
    for name, state in (table.document or {}).items():
        states[name] = {**states.get(name, {}), **state}
    return Table(table.source, dict(states))


def _import(
    path: Path, parts: Sequence[FileRecords], actor: Actor, replace: bool, dry_run: bool, *, names_files: bool = False
) -> None:
    """Store the records of *parts*, and count what each of them adds and removes."""
    kinds = {part.kind.name: part.kind for part in parts}
    replaced = {part.kind.name for part in parts if not part.completes} if replace else set()
    with reading(path) if dry_run else writing(path) as state:
        before = {name: broker_data.keys(state, kind) for name, kind in kinds.items()}
        keys_to_keep = _count(parts, before, replaced)
        if dry_run:
            return
        for name in replaced:
            broker_data.keep(state, kinds[name], keys_to_keep[name])
        changes = []
        for part in parts:
            _store(state, part)
            change = {
                **({"file": part.source} if names_files else {}),
                "records": part.number,
                "added": part.added,
                "removed": part.removed,
                "refused": len(part.refused),
            }
            changes.append(Change(f"broker {part.kind.name}", {"records": len(before[part.kind.name])}, change))
        history.record(state, actor, changes)


def _count(parts: Sequence[FileRecords], before: dict[str, set[Row]], replaced: set[str]) -> dict[str, set[Row]]:
    """Count the records that each file adds and removes, and drop columns for unknown records.

    Return by kind the keys of all records, except those in files that only add columns.
    """
    known_keys = {name: set() if name in replaced else set(keys_before) for name, keys_before in before.items()}
    named_keys: dict[str, set[Row]] = defaultdict(set)
    last_parts: dict[str, FileRecords] = {}
    for part in parts:
        name = part.kind.name
        if part.completes:
            _drop_unknown(part, known_keys[name])
        keys = part.keys()
        part.added = len(keys - known_keys[name] - before[name])
        known_keys[name] |= keys
        if not part.completes:
            last_parts[name] = part
            named_keys[name] |= keys
    for name in replaced:
        last_parts[name].removed = len(before[name] - named_keys[name])
    return named_keys


def _drop_unknown(records: FileRecords, known: Collection[Row]) -> None:
    """Drop the *records* whose keys are not *known*: the file only adds columns to existing records."""
    kind = records.kind
    for columns, rows in records.rows.items():
        records.rows[columns] = [row for row in rows if kind.key_of(row) in known]
        unknown = [row for row in rows if kind.key_of(row) not in known]
        records.left_out += len(unknown)
        records.remarks += [f"record {row[0]!r}: left out, the {kind.singular} is not known" for row in unknown]


def _store(state: State, records: FileRecords) -> None:
    """Store a file's records and the relations of queues; a published form sets the columns of absent records."""
    kind = records.kind
    if records.form is not None and records.form.absent:
        columns, values = list(records.form.absent), tuple(records.form.absent.values())
        broker_data.change(state, kind, columns, ((*values, *key) for key in broker_data.keys(state, kind)))
    for given_columns, rows in records.rows.items():
        broker_data.store(state, kind, rows, sorted(given_columns))
    if kind is QUEUES:
        store_relations(state, records)


def soften(softened: list[str], name: str, *, dry_run: bool = False) -> None:
    """Raise RecordsSoftenedError if some values were reinterpreted, after the records were stored."""
    if softened:
        fate = f"all records {'would be' if dry_run else 'were'} taken"
        raise RecordsSoftenedError(source=name, problem=softened[0], others=more(softened), fate=fate)


def more(texts: Iterable[str]) -> str:
    """Return the number of records beyond the one shown."""
    count = len(list(texts))
    return f" and {count - 1} more" if count > 1 else ""
