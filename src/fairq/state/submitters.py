"""The accountant's records: submitters and accounting groups, by name."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from itertools import chain
from typing import Any

from msgspec.structs import astuple

from fairq.common.past import Charge
from fairq.common.records import AccountingRecord, Lease
from fairq.state import meta, rows, usage
from fairq.state.connection import State
from fairq.state.usage import LONGEST_GAP, SAMPLE, Booking

_COLUMNS = 23
_LEASES = AccountingRecord.__struct_fields__.index("ceiling_lease")
_MANY = 100
"""So many names are looked up one by one."""


def load_all(state: State) -> list[AccountingRecord]:
    """Return every record, in order of name."""
    return [_record(row) for row in state.connection.execute("SELECT * FROM submitter ORDER BY name")]


def load(state: State, name: str) -> AccountingRecord | None:
    """Return the record of one submitter or group, None if there is none."""
    row = state.connection.execute("SELECT * FROM submitter WHERE name = ?", (name,)).fetchone()
    return None if row is None else _record(row)


def store(
    state: State, records: Iterable[AccountingRecord], booked: Iterable[Charge] = (), booking: Booking | None = None
) -> None:
    """Store records, each in the place of a former one of its name, and book in the ledger what changes their usage.

    *booked* are charges of the time since they were loaded; the rest is booked as *booking* says, else as an edit.
    """
    records = list(records)
    after = {record.name: (record.accumulated_usage, record.weighted_accumulated_usage) for record in records}
    usage.book(state, _usage(state, after), after, booked, booking or _edit(state), _wanting(state))
    put(state, records)


def put(state: State, records: Iterable[AccountingRecord]) -> None:
    """Store records, and leave the ledger as it is."""
    state.connection.executemany(
        f"INSERT OR REPLACE INTO submitter VALUES ({', '.join('?' * _COLUMNS)})", map(_row, records)
    )


def delete(state: State, name: str, booking: Booking | None = None) -> bool:
    """Delete the record of one submitter or group, which the ledger notes; return whether there was one."""
    usage.book(state, _usage(state, [name]), {name: (0.0, 0.0)}, (), booking or _edit(state, "delete"), {})
    return state.connection.execute("DELETE FROM submitter WHERE name = ?", (name,)).rowcount > 0


def names_starting(state: State, prefix: str, limit: int = 50) -> list[str]:
    """Return the names that start with *prefix*, in order, by one indexed query."""
    return rows.names_starting(state, "submitter", prefix, limit)


def _usage(state: State, names: Collection[str]) -> dict[str, tuple[float, float]]:
    """Return the usage, plain and weighted, of those of these names that have a record."""
    select = "SELECT name, accumulated_usage, weighted_accumulated_usage FROM submitter"
    if len(names) > _MANY:
        stored = state.connection.execute(select).fetchall()
    else:
        stored = [row for name in names for row in state.connection.execute(f"{select} WHERE name = ?", (name,))]
    return {name: (plain, weighted) for name, plain, weighted in stored}


def _edit(state: State, kind: str = "edit") -> Booking:
    return Booking(kind, meta.number(state, "last_update"))


def _wanting(state: State) -> dict[str, tuple[int, int]]:
    """Return who wants more than it has, as the last cycle found it, and from when to when that is taken to last."""
    stored = meta.get(state, SAMPLE)
    if stored is None:
        return {}
    sample = json.loads(stored)
    times = sample["time"], sample["time"] + LONGEST_GAP
    return {name: times for name, (_, wants, *_) in sample["of"].items() if wants}


def _row(record: AccountingRecord) -> tuple[Any, ...]:
    values = astuple(record)
    leases = (_lease_row(lease) for lease in (record.ceiling_lease, record.floor_lease, record.factor_lease))
    return (*values[:_LEASES], *chain.from_iterable(leases), record.submitter_share, record.submitter_limit)


def _lease_row(lease: Lease | None) -> tuple[int | None, float | None]:
    return (None, None) if lease is None else (lease.expiration, lease.prelease_value)


def _record(row: tuple[Any, ...]) -> AccountingRecord:
    name, is_group, *numbers, ceiling_end, ceiling, floor_end, floor, factor_end, factor, share, limit = row
    leases = (_lease(ceiling_end, ceiling), _lease(floor_end, floor), _lease(factor_end, factor))
    return AccountingRecord(*(name, bool(is_group), *numbers, *leases, share, limit))


def _lease(expiration: int | None, prelease_value: float | None) -> Lease | None:
    if expiration is None or prelease_value is None:
        return None
    return Lease(expiration, prelease_value)
