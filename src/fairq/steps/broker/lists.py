"""List stored records of the brokerage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairq.columns.broker.column import Kind, UnfitError, value_of
from fairq.errors.broker import NoSuchRecordError
from fairq.state import broker_data
from fairq.state.connection import State, reading


def look(path: Path, kind: Kind, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return all records, or those whose first column is one of *keys*, in order.

    Raises NoSuchRecordError for a key without a record.
    """
    with reading(path) as state:
        found = _rows(state, kind, keys) if keys else broker_data.load(state, kind)
    return [dict(zip(kind.positions, row, strict=True)) for row in found]


def _rows(state: State, kind: Kind, keys: Sequence[str]) -> list[broker_data.Row]:
    first = kind.columns[0]
    rows = []
    for key in dict.fromkeys(keys):
        try:
            found = broker_data.select(state, kind, first.name, [value_of(first, key)])
        except UnfitError:
            found = []
        if not found:
            raise NoSuchRecordError(kind=kind.name, column=first.name, key=key)
        rows += found
    return rows
