"""Imported groups: their properties, and reports of usage."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.common.records import ShareGroup, UsageReport
from fairq.state import rows
from fairq.state.connection import State

_GROUPS = rows.Records(ShareGroup, "share_group", "properties")
_REPORTS = rows.Records(UsageReport, "usage_report")


def load_all(state: State) -> list[ShareGroup]:
    """Return every imported group, in order of name."""
    return _GROUPS.select(state, "ORDER BY name")


def replace_all(state: State, groups: Iterable[ShareGroup]) -> None:
    """Replace all imported groups by *groups*."""
    state.connection.execute("DELETE FROM share_group")
    _GROUPS.add(state, groups)


def load_reports(state: State) -> list[UsageReport]:
    """Return every imported report, by group, span and entity."""
    return _REPORTS.select(state, "ORDER BY owner_group, time_span, entity")


def replace_reports(state: State, reports: Iterable[UsageReport]) -> None:
    """Replace all imported reports by *reports*."""
    state.connection.execute("DELETE FROM usage_report")
    _REPORTS.add(state, reports)
