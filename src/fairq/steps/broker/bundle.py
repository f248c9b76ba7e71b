"""Import every kind of record from the files of a directory or an archive, in one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from fairq.columns.broker.column import Kind
from fairq.columns.broker.kinds import STORED
from fairq.common.records import Actor, Change
from fairq.errors.broker import RecordsRefusedError, UnknownFilesError
from fairq.errors.pool import InvalidDumpError
from fairq.formats.bundle import files_of
from fairq.formats.grid.places import CRIC_STATES
from fairq.formats.grid.recognition import recognise
from fairq.formats.source import Held, opened
from fairq.formats.table import Table, parse_table
from fairq.state import broker_data, history
from fairq.state.broker_data import Row
from fairq.state.connection import State
from fairq.steps.broker.reader import Found
from fairq.steps.broker.record_import import complete, keys_of, more, open_state, store
from fairq.steps.broker.special import read

_ORDER = {kind.name: place for place, kind in enumerate(STORED)}


class Part(Struct):
    """One file of an import, and its effect: *added* and *removed* records."""

    kind: Kind
    found: Found
    added: int = 0
    removed: int = 0

    @property
    def completes(self) -> bool:
        """Whether the file only adds columns to the records of others."""
        return self.found.form is not None and self.found.form.completes


class Bundle(Struct):
    """An import of many files: the files read, in the order stored, and the files left out."""

    parts: list[Part] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    @property
    def number(self) -> int:
        """Number of usable records."""
        return sum(part.found.number for part in self.parts)

    def told(self, what: str) -> list[str]:
        """Return the texts of the attribute *what* (refused, softened or remarks), each after the name of its file."""
        return [f"{part.found.source}, {text}" for part in self.parts for text in getattr(part.found, what)]


def import_bundle(
    path: Path, name: str, actor: Actor, *, replace: bool = False, dry_run: bool = False, lenient: bool = False
) -> Bundle:
    """Store the records of all files of *name* over those with the same keys; all or nothing.

    With *replace*, the other records of each kind that has a file are removed. Each unusable record is refused on its
    own. A file that cannot be identified stops the import, unless *lenient*.

    Raises UnknownFilesError, RecordsRefusedError if no record can be used, and the dumps' errors.
    """
    bundle = read_bundle(name, lenient=lenient)
    if not bundle.number and (refused := bundle.told("refused")):
        source, _, problem = refused[0].partition(", ")
        raise RecordsRefusedError(source=source, refused=problem, others=more(refused), fate="nothing was changed")
    with open_state(path, dry_run) as state:
        kinds = {part.kind.name: part.kind for part in bundle.parts}
        before = {name: broker_data.keys(state, kind) for name, kind in kinds.items()}
        _plan(bundle.parts, before, replace)
        if not dry_run:
            _store(state, bundle.parts, before, replace, actor)
    return bundle


def read_bundle(name: str, *, lenient: bool = False) -> Bundle:
    """Return the files of *name* as read; raises UnknownFilesError unless *lenient*, and the dumps' errors."""
    bundle = Bundle()
    states: dict[str, Any] = {}
    for held in files_of(name):
        table = _table(held)
        recognised = None if table is None else recognise(held.name, table)
        if table is None or recognised is None:
            bundle.unknown.append(held.name)
            continue
        kind, form = recognised
        if form is CRIC_STATES:
            table = _joined(states, table)
        bundle.parts.append(Part(kind, read(kind, table, form)))
    if bundle.unknown and (not lenient or not bundle.parts):
        raise UnknownFilesError(source=name, what=bundle.unknown[0], others=more(bundle.unknown))
    bundle.parts.sort(key=lambda part: (part.completes, _ORDER[part.kind.name], part.found.source))
    return bundle


def _table(held: Held) -> Table | None:
    """Return a file as a table, None if it is neither JSON nor text; raises the dumps' errors."""
    try:
        with opened(held) as source:
            return parse_table(source)
    except InvalidDumpError:
        if held.name.lower().endswith((".json", ".csv", ".json.gz", ".csv.gz")):
            raise
        return None


def _joined(states: dict[str, Any], table: Table) -> Table:
    """Merge CRIC's states of endpoints with those of earlier files: CRIC also publishes them by activity."""
    for name, told in (table.document or {}).items():
        states[name] = {**states.get(name, {}), **told}
    return Table(table.source, dict(states))


def _plan(parts: Sequence[Part], before: dict[str, set[Row]], replace: bool) -> None:
    """Count the records that each file adds and removes; leave out columns for unknown records."""
    there: dict[str, set[Row]] = defaultdict(set)
    replaced = _replaced(parts) if replace else set()
    for name, known in before.items():
        there[name] = set() if name in replaced else set(known)
    named: dict[str, set[Row]] = defaultdict(set)
    last: dict[str, Part] = {}
    for part in parts:
        name = part.kind.name
        if part.completes:
            complete(part.found, part.kind, there[name])
        else:
            last[name] = part
        keys = keys_of(part.kind, part.found)
        part.added = len(keys - there[name] - before[name])
        there[name] |= keys
        named[name] |= keys
    for name in replaced:
        last[name].removed = len(before[name] - named[name])


def _replaced(parts: Sequence[Part]) -> set[str]:
    return {part.kind.name for part in parts if not part.completes}


def _store(state: State, parts: Sequence[Part], before: dict[str, set[Row]], replace: bool, actor: Actor) -> None:
    if replace:
        wanted: dict[str, set[Row]] = defaultdict(set)
        for part in parts:
            if not part.completes:
                wanted[part.kind.name] |= keys_of(part.kind, part.found)
        for kind in {part.kind.name: part.kind for part in parts if not part.completes}.values():
            broker_data.keep(state, kind, wanted[kind.name])
    changes = []
    for part in parts:
        store(state, part.kind, part.found)
        change = {
            "file": part.found.source,
            "records": part.found.number,
            "added": part.added,
            "removed": part.removed,
            "refused": len(part.found.refused),
        }
        changes.append(Change(f"broker {part.kind.name}", {"records": len(before[part.kind.name])}, change))
    history.record(state, actor, changes)
