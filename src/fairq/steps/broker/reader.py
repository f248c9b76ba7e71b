"""Read records of the brokerage from a file and check them one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct, field

from fairq.columns.broker.column import Kind, UnfitError, named_value
from fairq.common.depth import DEEPEST, deeper_than
from fairq.errors.nearest import nearest
from fairq.formats.grid.form import Entries, Form, LeftOut
from fairq.formats.grid.recognition import form_of
from fairq.formats.table import NAME, Repeated, Table, records_of
from fairq.state.broker_data import Row


class Remark(Struct, frozen=True):
    """A remark on an accepted record; *softens*: a value was reinterpreted."""

    text: str
    softens: bool = False


Checked = tuple[Row, frozenset[str], list[Remark]]
"""A record as a row, the columns that it named, and remarks on oddities that could be handled."""

Check = Callable[[Kind, dict[str, Any]], Checked]
"""Checks one record; raises UnfitError."""

Join = Callable[[Entries], Entries]
"""Joins several entries of a file to one record."""


class Found(Struct):
    """What a file holds: rows by the columns that they name, remarks, and what was refused and why.

    Args:
        source: the name of the file.
        form: its published form; None if it has fairq's own columns.
        softened: the remarks on reinterpreted values; they are also in *remarks*.
        left_out: the number of entries that are not records.
    """

    source: str
    form: Form | None = None
    rows: dict[frozenset[str], list[Row]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    softened: list[str] = field(default_factory=list)
    left_out: int = 0

    @property
    def number(self) -> int:
        """Number of usable records."""
        return sum(map(len, self.rows.values()))

    def all_rows(self) -> Iterator[Row]:
        """Yield every usable row."""
        return (row for rows in self.rows.values() for row in rows)


def read_records(kind: Kind, table: Table, check: Check, join: Join | None = None, form: Form | None = None) -> Found:
    """Return the records of *kind* in *table*, in a published form or with the columns of the kind.

    *join* joins several entries to one record; *form* is the published form if already known. Raises InvalidDumpError.
    """
    form = form or (None if table.csv is not None else form_of(table.document, kind))
    found = Found(table.source, form)
    seen: dict[Row, str] = {}
    entries = form.entries(table.document) if form else records_of(table, kind.spellings)
    for where, record in join(entries) if join else entries:
        if isinstance(record, LeftOut):
            found.left_out += 1
            found.remarks.append(f"{where}: left out, {record.reason}")
            continue
        try:
            if not isinstance(record, dict):
                raise UnfitError("not an object")
            if deeper_than(record, DEEPEST):
                raise UnfitError(f"nested too deeply; {DEEPEST} levels are the most")
            if isinstance(record, Repeated):
                raise UnfitError(f"{record.repeated[0][0]} occurs twice")
            row, given, remarks = check(kind, record)
            key = kind.key_of(row)
            if key in seen:
                raise UnfitError(f"occurs twice, first as {seen[key]}")
        except UnfitError as error:
            found.refused.append(f"{where}{_of(kind, record)}: {error}")
            continue
        seen[key] = where
        found.rows.setdefault(given, []).append(row)
        for remark in remarks:
            text = f"{where}{_of(kind, record)}: {remark.text}"
            found.remarks.append(text)
            if remark.softens:
                found.softened.append(text)
    return found


def check_record(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return *record* as a row; an unknown column gets a remark with the likely intended name.

    Raises UnfitError, naming the column.
    """
    values: dict[str, Any] = {}
    remarks = []
    for spelled, value in record.items():
        column = kind.spellings.get(spelled.lower())
        if column is not None:
            values.setdefault(column.name, value)
        elif spelled != NAME:
            remarks.append(Remark(_unknown(kind, spelled)))
    first = kind.columns[0]
    if record.get(NAME) is not None:
        values.setdefault(first.name, record[NAME])
    row = tuple(named_value(column, values.get(column.name)) for column in kind.columns)
    return row, frozenset(values), remarks


def distinct(remarks: Iterable[str]) -> list[str]:
    """Return each remark once, with the place of the first one and the number of others."""
    counted: dict[str, list[str]] = {}
    for remark in remarks:
        where, _, what = remark.partition(": ")
        counted.setdefault(what, []).append(where)
    return [
        f"{places[0]}: {what}" if len(places) == 1 else f"{places[0]} and {len(places) - 1} more: {what}"
        for what, places in counted.items()
    ]


def _unknown(kind: Kind, spelled: str) -> str:
    close = nearest(spelled, kind.spellings)
    meant = f"; did you mean {kind.spellings[close].name}?" if close else ""
    return f"{spelled} is no column and was left out{meant}"


def _of(kind: Kind, record: Any) -> str:
    """Return the name of a record from its first key, if it has one."""
    if not isinstance(record, dict):
        return ""
    for spelled, value in record.items():
        column = kind.spellings.get(spelled.lower())
        if (column is kind.columns[0] or spelled == NAME) and isinstance(value, (str, int)):
            return "" if spelled == NAME else f" ({kind.singular} {str(value)[:60]!r})"
    return ""
