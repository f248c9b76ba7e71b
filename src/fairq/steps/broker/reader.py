"""Read records of the brokerage from a file and check them one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
"""Joins several entries of a file into one record."""


class FileRecords(Struct):
    """The records of a file: rows by the columns that they name, remarks, and refused records with the reasons.

    Args:
        kind: their kind.
        source: the name of the file.
        form: its published form; None if it has fairq's own columns.
        softened: the remarks on reinterpreted values; they are also in *remarks*.
        left_out: the number of entries that are not records.
        added, removed: the numbers of records that an import of the file adds and removes.
    """

    kind: Kind
    source: str
    form: Form | None = None
    rows: dict[frozenset[str], list[Row]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    softened: list[str] = field(default_factory=list)
    left_out: int = 0
    added: int = 0
    removed: int = 0

    @property
    def completes(self) -> bool:
        """Whether the file only adds columns to the records of others."""
        return self.form is not None and self.form.completes

    @property
    def number(self) -> int:
        """Number of usable records."""
        return sum(map(len, self.rows.values()))

    def keys(self) -> set[Row]:
        """Return the keys of the usable records."""
        return {self.kind.key_of(row) for rows in self.rows.values() for row in rows}


def read_records(
    kind: Kind, table: Table, check: Check, join: Join | None = None, form: Form | None = None
) -> FileRecords:
    """Return the records of *kind* in *table*, in a published form or with the columns of the kind.

    *join* joins several entries to one record; *form* is the published form if already known. Raises InvalidDumpError.
    """
    form = form or (None if table.csv is not None else form_of(table.document, kind))
    records = FileRecords(kind, table.source, form)
    first_places: dict[Row, str] = {}
    entries = form.entries(table.document) if form else records_of(table, kind.spellings)
    for position, record in join(entries) if join else entries:
        if isinstance(record, LeftOut):
            records.left_out += 1
            records.remarks.append(f"{position}: left out, {record.reason}")
            continue
        try:
            if not isinstance(record, dict):
                raise UnfitError("not an object")
            if deeper_than(record, DEEPEST):
                raise UnfitError(f"nested too deeply; {DEEPEST} levels are the most")
            if isinstance(record, Repeated):
                raise UnfitError(f"{record.repeated[0][0]} occurs twice")
            row, given_columns, remarks = check(kind, record)
            key = kind.key_of(row)
            if key in first_places:
                raise UnfitError(f"occurs twice, first as {first_places[key]}")
        except UnfitError as error:
            records.refused.append(f"{position}{_record_name(kind, record)}: {error}")
            continue
        first_places[key] = position
        records.rows.setdefault(given_columns, []).append(row)
        for remark in remarks:
            text = f"{position}{_record_name(kind, record)}: {remark.text}"
            records.remarks.append(text)
            if remark.softens:
                records.softened.append(text)
    return records


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
            remarks.append(Remark(_unknown_column(kind, spelled)))
    first = kind.columns[0]
    if record.get(NAME) is not None:
        values.setdefault(first.name, record[NAME])
    row = tuple(named_value(column, values.get(column.name)) for column in kind.columns)
    return row, frozenset(values), remarks


def distinct(remarks: Iterable[str]) -> list[str]:
    """Return each remark once, with the place of the first one and the number of others."""
    positions_by_text: dict[str, list[str]] = {}
    for remark in remarks:
        position, _, text = remark.partition(": ")
        positions_by_text.setdefault(text, []).append(position)
    return [
        f"{positions[0]}: {text}" if len(positions) == 1 else f"{positions[0]} and {len(positions) - 1} more: {text}"
        for text, positions in positions_by_text.items()
    ]


def _unknown_column(kind: Kind, spelled: str) -> str:
    close = nearest(spelled, kind.spellings)
    hint = f"; did you mean {kind.spellings[close].name}?" if close else ""
    return f"{spelled} is no column and was left out{hint}"


def _record_name(kind: Kind, record: Any) -> str:
    """Return the name of a record from its first key, if it has one."""
    if not isinstance(record, dict):
        return ""
    for spelled, value in record.items():
        column = kind.spellings.get(spelled.lower())
        if (column is kind.columns[0] or spelled == NAME) and isinstance(value, (str, int)):
            return "" if spelled == NAME else f" ({kind.singular} {str(value)[:60]!r})"
    return ""
