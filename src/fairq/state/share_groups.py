"""Imported groups: their properties, and reports of usage."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.common.records import ShareGroup, UsageReport
from fairq.state import rows
from fairq.state.connection import State


def load_all(state: State) -> list[ShareGroup]:
    """Return every imported group, in order of name."""
    stored = state.connection.execute("SELECT name, properties FROM share_group ORDER BY name").fetchall()
    properties = rows.loads_all(text for _, text in stored)
    return [ShareGroup(name, read) for (name, _), read in zip(stored, properties, strict=True)]


def replace_all(state: State, groups: Iterable[ShareGroup]) -> None:
    """Replace all imported groups by *groups*."""
    state.connection.execute("DELETE FROM share_group")
    state.connection.executemany(
        "INSERT INTO share_group (name, properties) VALUES (?, ?)",
        ((group.name, rows.dumps(group.properties)) for group in groups),
    )


def load_reports(state: State) -> list[UsageReport]:
    """Return every imported report, by group, span and entity."""
    cursor = state.connection.execute(
        "SELECT owner_group, time_span, entity, average_jobs, time FROM usage_report "
        "ORDER BY owner_group, time_span, entity"
    )
    return [UsageReport(*row) for row in cursor]


def replace_reports(state: State, reports: Iterable[UsageReport]) -> None:
    """Replace all imported reports by *reports*."""
    state.connection.execute("DELETE FROM usage_report")
    state.connection.executemany(
        "INSERT INTO usage_report (owner_group, time_span, entity, average_jobs, time) VALUES (?, ?, ?, ?, ?)",
        ((report.owner_group, report.time_span, report.entity, report.average_jobs, report.time) for report in reports),
    )
