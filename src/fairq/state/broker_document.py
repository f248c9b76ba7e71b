"""The brokerage's part of the document of the whole state (see `fairq.state.document`)."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fairq.columns.broker.column import Kind, UnfitError, value_of
from fairq.columns.broker.kinds import STORED
from fairq.errors.pool import InvalidDocumentError
from fairq.state import broker_cycles, broker_data
from fairq.state.broker_cycles import BrokerCycle, TaskVerdict
from fairq.state.connection import State
from fairq.state.document_types import as_object, once, read_object, read_records, require

TABLES = ("broker_verdict", "broker_cycle", *(kind.table for kind in STORED))
"""What refers to a record goes before it."""


class _Verdict(Struct):
    """A verdict, its data in base64."""

    task: int
    cycle: int
    status: str
    data: str


def empty() -> dict[str, Any]:
    """Return the part of a state without brokerage data."""
    return {**{kind.name: [] for kind in STORED}, "cycles": [], "verdicts": []}


def export(state: State) -> dict[str, Any]:
    """Return the part: a list of records for each kind, the cycles and the verdicts."""
    kinds: dict[str, Any] = {
        kind.name: [dict(zip(kind.positions, row, strict=True)) for row in broker_data.load(state, kind)]
        for kind in STORED
    }
    verdicts = [
        as_object(_Verdict(verdict.task, verdict.cycle, verdict.status, base64.b64encode(verdict.data).decode()))
        for verdict in broker_cycles.load_verdicts(state)
    ]
    return {**kinds, "cycles": [as_object(verdict) for verdict in broker_cycles.load_all(state)], "verdicts": verdicts}


def read(part: Any) -> dict[str, list[Any]]:
    """Return the part as rows and records; members of later schemas may be missing.

    Raises InvalidDocumentError, naming the place.
    """
    part = read_object(part, "broker")
    members = read_object({**empty(), **part}, "broker", empty())
    cycles = read_records(BrokerCycle, members["cycles"], "broker.cycles")
    verdicts = read_records(_Verdict, members["verdicts"], "broker.verdicts")
    once("broker.cycles", [record.number for record in cycles])
    once("broker.verdicts", [(record.task, record.cycle) for record in verdicts])
    numbers = {record.number for record in cycles}
    for number, record in enumerate(verdicts):
        place = f"broker.verdicts[{number}].cycle"
        require(record.cycle in numbers, place, f"there is no cycle {record.cycle}")
    return {
        **{kind.name: _rows(kind, members[kind.name], f"broker.{kind.name}") for kind in STORED},
        "cycles": cycles,
        "verdicts": [
            TaskVerdict(
                record.task, record.cycle, record.status, _bytes(record.data, f"broker.verdicts[{number}].data")
            )
            for number, record in enumerate(verdicts)
        ],
    }


def store(state: State, part: dict[str, list[Any]]) -> None:
    """Store the result of `read` in a state without brokerage data."""
    for kind in STORED:
        broker_data.store(state, kind, part[kind.name])
    for cycle in part["cycles"]:
        broker_cycles.add(state, cycle)
    broker_cycles.add_verdicts(state, part["verdicts"])


def _rows(kind: Kind, records: Any, place: str) -> list[broker_data.Row]:
    require(isinstance(records, list), place, "must be a list")
    made = [_row(kind, record, f"{place}[{number}]") for number, record in enumerate(records)]
    at = [kind.positions[column.name] for column in kind.keys]
    once(place, [tuple(row[one] for one in at) for row in made])
    return made


def _row(kind: Kind, record: Any, place: str) -> broker_data.Row:
    values = read_object(record, place)
    if unknown := values.keys() - kind.positions.keys():
        raise InvalidDocumentError(place=place, problem=f"{min(unknown)!r} is not known here")
    made = []
    for today in kind.columns:
        column = replace(today, words=())  # the fairq that wrote the document may have known other ones
        value = values.get(column.name)
        try:
            made.append(value_of(column, value))
        except UnfitError as error:
            raise InvalidDocumentError(place=f"{place}.{column.name}", problem=str(error)) from None
    return tuple(made)


def _bytes(text: str, place: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidDocumentError(place=place, problem="is not base64") from None
