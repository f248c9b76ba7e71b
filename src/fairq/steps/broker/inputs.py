"""Check input datasets and their files on the way in."""

from __future__ import annotations

from typing import Any

from fairq.brokerdata.column import Column, Kind
from fairq.brokerdata.values import UnfitError, value_of
from fairq.brokerdata.work import INPUTS
from fairq.steps.broker.reading import Checked, check_record

_FILE = (
    Column("lfn", "text", "the file's name", key=True),
    Column("fsize", "integer", "bytes", default=0, minimum=0),
    Column("nEvents", "integer", "events", minimum=0),
    Column("startEvent", "integer", "first event to be read"),
    Column("endEvent", "integer", "last event to be read"),
)
_AT = INPUTS.positions["files"]


def check_input(kind: Kind, record: dict[str, Any]) -> Checked:
    """Return an input as a row, its files with what they tell alone.

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
