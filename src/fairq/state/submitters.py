"""The accountant's records: submitters and accounting groups, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairq.records import AccountingRecord, Lease
from fairq.state import rows
from fairq.state.connection import State

_COLUMNS = 23


def load_all(state: State) -> list[AccountingRecord]:
    """Return every record, in order of name."""
    return [_record(row) for row in state.connection.execute("SELECT * FROM submitter ORDER BY name")]


def load(state: State, name: str) -> AccountingRecord | None:
    """Return the record of one submitter or group, None if there is none."""
    row = state.connection.execute("SELECT * FROM submitter WHERE name = ?", (name,)).fetchone()
    return None if row is None else _record(row)


def store(state: State, records: Iterable[AccountingRecord]) -> None:
    """Store records, each in the place of a former one of its name."""
    state.connection.executemany(
        f"INSERT OR REPLACE INTO submitter VALUES ({', '.join('?' * _COLUMNS)})", map(_row, records)
    )


def delete(state: State, name: str) -> bool:
    """Delete the record of one submitter or group; tell whether there was one."""
    return state.connection.execute("DELETE FROM submitter WHERE name = ?", (name,)).rowcount > 0


def names_starting(state: State, prefix: str, limit: int = 50) -> list[str]:
    """Return the names that start with *prefix*, in order, by one indexed query."""
    return rows.names_starting(state, "submitter", prefix, limit)


def _row(record: AccountingRecord) -> tuple[Any, ...]:
    return (
        record.name,
        record.is_group,
        record.priority,
        record.priority_factor,
        record.resources_used,
        record.weighted_resources_used,
        record.hier_weighted_resources_used,
        record.uncharged_time,
        record.weighted_uncharged_time,
        record.accumulated_usage,
        record.weighted_accumulated_usage,
        record.begin_usage_time,
        record.last_usage_time,
        record.ceiling,
        record.floor,
        *_lease_row(record.ceiling_lease),
        *_lease_row(record.floor_lease),
        *_lease_row(record.factor_lease),
        record.submitter_share,
        record.submitter_limit,
    )


def _lease_row(lease: Lease | None) -> tuple[int | None, float | None]:
    return (None, None) if lease is None else (lease.expiration, lease.prelease_value)


def _record(row: tuple[Any, ...]) -> AccountingRecord:
    name, is_group, *numbers = row[:15]
    leases = (_lease(*row[at : at + 2]) for at in (15, 17, 19))
    return AccountingRecord(*(name, bool(is_group), *numbers, *leases, *row[21:]))


def _lease(expiration: int | None, prelease_value: float | None) -> Lease | None:
    if expiration is None or prelease_value is None:
        return None
    return Lease(expiration, prelease_value)
