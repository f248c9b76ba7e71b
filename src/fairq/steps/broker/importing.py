"""Take records of the brokerage from a file: read, checked one by one, stored in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from fairq.brokerdata.column import Kind
from fairq.brokerdata.values import UnfitError, value_of
from fairq.dumps.source import opened
from fairq.dumps.table import NAME, Repeated, read_table
from fairq.errors.broker import RecordsRefusedError
from fairq.nesting import DEEPEST, deeper_than
from fairq.records import Actor, Change
from fairq.state import broker_data, history
from fairq.state.broker_data import Row
from fairq.state.connection import State, reading, writing

Checked = tuple[Row, frozenset[str], list[str]]
"""A record as a row, the columns that it named, and what was odd about it but could be handled."""

Check = Callable[[Kind, dict[str, Any]], Checked]
"""Checks one record; raises UnfitError."""


@dataclass
class Found:
    """What a file holds: rows by the columns that they name, remarks, and what was refused and why."""

    source: str
    rows: dict[frozenset[str], list[Row]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def number(self) -> int:
        """How many records can be used."""
        return sum(map(len, self.rows.values()))


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: how many records came, how many were added or removed, and what was said of them."""

    number: int
    added: int
    removed: int
    remarks: list[str]
    refused: list[str]


def read_records(kind: Kind, name: str, check: Check) -> Found:
    """Read the file *name* (``-``: standard input); raises the dumps' errors."""
    with opened(name) as source:
        found = Found(source.name)
        seen: dict[Row, str] = {}
        places = [kind.positions[column.name] for column in kind.keys]
        for where, record in read_table(source, kind.spellings):
            try:
                if not isinstance(record, dict):
                    raise UnfitError("not an object")
                if deeper_than(record, DEEPEST):
                    raise UnfitError(f"nested too deeply; {DEEPEST} levels are the most")
                if isinstance(record, Repeated):
                    raise UnfitError(f"{record.again[0][0]} stands there twice")
                row, given, remarks = check(kind, record)
                key = tuple(row[place] for place in places)
                if key in seen:
                    raise UnfitError(f"stands there twice, first as {seen[key]}")
            except UnfitError as error:
                found.refused.append(f"{where}{_of(kind, record)}: {error}")
                continue
            seen[key] = where
            found.rows.setdefault(given, []).append(row)
            found.remarks += [f"{where}{_of(kind, record)}: {remark}" for remark in remarks]
    return found


def import_records(
    path: Path,
    kind: Kind,
    name: str,
    actor: Actor,
    *,
    check: Check | None = None,
    then: Callable[[State, Found], None] | None = None,
    replace: bool = False,
    dry_run: bool = False,
) -> Imported:
    """Store the records of a file over those with the same keys; with *replace*, all others are removed.

    What cannot be used is refused, a record at a time; *then* is called in the same transaction. Columns that a record
    does not name keep their values.

    Raises RecordsRefusedError if no record can be used, and the dumps' errors.
    """
    found = read_records(kind, name, check or check_record)
    if found.refused and not found.number:
        raise RecordsRefusedError(
            source=found.source, refused=found.refused[0], others=_others(found), fate="nothing was changed"
        )
    with _open(path, dry_run) as state:
        before = broker_data.keys(state, kind)
        places = [kind.positions[column.name] for column in kind.keys]
        after = {tuple(row[place] for place in places) for rows in found.rows.values() for row in rows}
        removed = len(before - after) if replace else 0
        added = len(after - before)
        if not dry_run:
            if replace:
                broker_data.clear(state, kind)
            for given, rows in found.rows.items():
                broker_data.store(state, kind, rows, sorted(given))
            if then is not None:
                then(state, found)
            change = {"records": found.number, "added": added, "removed": removed, "refused": len(found.refused)}
            history.record(state, actor, [Change(f"broker {kind.name}", {"records": len(before)}, change)])
    return Imported(found.number, added, removed, found.remarks, found.refused)


def refuse(kind: Kind, imported: Imported, name: str) -> None:
    """Raise RecordsRefusedError if some records were refused, after the others were stored."""
    if imported.refused:
        number = imported.number
        fate = f"the other {number} {kind.name} were taken" if number > 1 else "the other one was taken"
        others = f" and {len(imported.refused) - 1} more" if len(imported.refused) > 1 else ""
        raise RecordsRefusedError(source=name, refused=imported.refused[0], others=others, fate=fate)


def check_record(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return *record* as a row; columns that are not known are remarked upon, with what may have been meant.

    Raises UnfitError, naming the column.
    """
    values: dict[str, Any] = {}
    remarks = []
    for spelled, value in record.items():
        column = kind.spellings.get(spelled.lower())
        if column is not None:
            values.setdefault(column.name, value)
        elif spelled != NAME:
            remarks.append(_unknown(kind, spelled))
    first = kind.columns[0]
    if record.get(NAME) is not None:
        values.setdefault(first.name, record[NAME])
    row = []
    for column in kind.columns:
        try:
            row.append(value_of(column, values.get(column.name)))
        except UnfitError as error:
            raise UnfitError(f"{column.name} {error}") from None
    return tuple(row), frozenset(values), remarks


def _unknown(kind: Kind, spelled: str) -> str:
    close = get_close_matches(spelled.lower(), kind.spellings, 1)
    meant = f"; did you mean {kind.spellings[close[0]].name}?" if close else ""
    return f"{spelled} is no column and was left out{meant}"


def _of(kind: Kind, record: Any) -> str:
    """Name a record by its first key, as far as it has one."""
    if not isinstance(record, dict):
        return ""
    for spelled, value in record.items():
        column = kind.spellings.get(spelled.lower())
        if (column is kind.columns[0] or spelled == NAME) and isinstance(value, (str, int)):
            return "" if spelled == NAME else f" ({kind.one} {str(value)[:60]!r})"
    return ""


def _others(found: Found) -> str:
    return f" and {len(found.refused) - 1} more" if len(found.refused) > 1 else ""


def _open(path: Path, read_only: bool) -> AbstractContextManager[State]:
    return reading(path) if read_only else writing(path)


def distinct(remarks: Iterable[str]) -> list[str]:
    """Return remarks without where they stand, each once, with how often it was made."""
    counted: dict[str, list[str]] = {}
    for remark in remarks:
        where, _, what = remark.partition(": ")
        counted.setdefault(what, []).append(where)
    return [
        f"{places[0]}: {what}" if len(places) == 1 else f"{places[0]} and {len(places) - 1} more: {what}"
        for what, places in counted.items()
    ]
