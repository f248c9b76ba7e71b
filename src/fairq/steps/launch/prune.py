"""Delete runs that ended long ago: their directories, their records and the events of their jobs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairq.state import job_events, launches
from fairq.state.connection import reading, writing
from fairq.steps.launch.launchers import Launchers

if TYPE_CHECKING:
    from fairq.settings import Settings

_AT_ONCE = 1000
"""Maximum number of runs deleted in one turn, so that it stays short."""


def prune(path: Path, settings: Settings, launchers: Launchers, now: int) -> None:
    """Delete the data of runs older than launch.keep_history; directories first, so that none remains."""
    before = int(now - settings["launch.keep_history"])
    with reading(path) as state:
        old = launches.ended_before(state, before, _AT_ONCE)
    if not old:
        return
    by_launcher: dict[str, list[str]] = {}
    for launcher, name in old:
        by_launcher.setdefault(launcher, []).append(name)
    for launcher, names in by_launcher.items():
        launchers[launcher].forget(names)
    with writing(path) as state:
        launches.delete(state, [name for _, name in old])
        job_events.forget(state, before)
