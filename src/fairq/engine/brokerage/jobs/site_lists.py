"""The queues that a user includes and excludes."""

from __future__ import annotations

from typing import Any

from fairq.engine.brokerage.jobs.tasks import Task


def included_sites(task: Task) -> tuple[str, ...] | None:
    """Return the queues that the user includes, names or patterns; None includes all."""
    return _words(task.parameters.get("includedSite"))


def excluded_sites(task: Task) -> tuple[str, ...]:
    """Return the queues that the user excludes, names or patterns."""
    return _words(task.parameters.get("excludedSite")) or ()


def _words(value: Any) -> tuple[str, ...] | None:
    # The user's list comes as such or as text with commas; an empty text is no list.
    if value is None or value in ("", [], ()):
        return None
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else tuple(str(value).split(","))
