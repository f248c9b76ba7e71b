"""Check input datasets and their files on import."""

from __future__ import annotations

from typing import Any

from fairq.columns.broker.column import Column, Kind, UnfitError, value_of
from fairq.columns.broker.work import INPUTS
from fairq.formats.grid.form import Entries
from fairq.steps.broker.reader import Checked, check_record

_FILE = (
    Column("lfn", "text", "the file's name", key=True),
    Column("fsize", "integer", "bytes", default=0, minimum=0),
    Column("nEvents", "integer", "events", minimum=0),
    Column("startEvent", "integer", "first event to be read"),
    Column("endEvent", "integer", "last event to be read"),
)
_AT = INPUTS.positions["files"]
_FILE_NAMES = frozenset(column.name.lower() for column in _FILE)


def join_files(entries: Entries) -> Entries:
    """Yield inputs with their files: rows of one file each, as a query returns them, are joined by dataset."""
    datasets: dict[tuple[Any, Any], tuple[str, dict[str, Any]]] = {}
    others = []
    for where, entry in entries:
        names = {name.lower(): name for name in entry} if isinstance(entry, dict) else {}
        if "lfn" not in names:
            others.append((where, entry))
            continue
        file = {name: entry.get(names.get(name.lower(), "")) for name in (column.name for column in _FILE)}
        rest = {name: value for name, value in entry.items() if name.lower() not in _FILE_NAMES}
        keys = [next((rest[name] for name in rest if INPUTS.spellings.get(name.lower()) is key), None)
                for key in INPUTS.keys]  # fmt: skip
        datasets.setdefault((keys[0], keys[1]), (where, {**rest, "files": []}))[1]["files"].append(file)
    yield from others
    yield from datasets.values()


def check_input(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return an input as a row, with only the given values of its files.

    Raises UnfitError, naming the file.
    """
    row, given, remarks = check_record(kind, record)
    files = [_file(number, one) for number, one in enumerate(row[_AT], 1)]
    return (*row[:_AT], files, *row[_AT + 1 :]), given, remarks


def _file(number: int, given: dict[str, Any]) -> dict[str, Any]:
    told = {name.lower(): value for name, value in given.items()}
    found = {}
    for column in _FILE:
        try:
            value = value_of(column, told.get(column.name.lower()))
        except UnfitError as error:
            raise UnfitError(f"files, number {number}: {column.name} {error}") from None
        if value is not None:
            found[column.name] = value
    return found
