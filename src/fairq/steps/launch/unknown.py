"""Runs unknown to the state, e.g. after it was deleted or replaced by an older copy."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.state import launches
from fairq.state.connection import reading
from fairq.steps.launch.launchers import Launchers

if TYPE_CHECKING:
    from fairq.launch.interface import Launcher
    from fairq.settings import Settings

_PATIENCE = 2.0
"""Seconds that a turn waits for unknown runs to end."""

_NAP = 0.05


def end_unknown(path: Path, settings: Settings, launchers: Launchers) -> list[str]:
    """End runs unknown to the state, once for each launcher of *launchers*; return a note for each remaining one.

    The caller must hold the cycle's lock, so that no other process starts runs meanwhile. A launcher with an unknown
    run may start nothing: it may be a run of the same job.
    """
    notes: list[str] = []
    for name in launchers.in_use():
        if name in launchers.checked:
            continue
        end = time.monotonic() + _PATIENCE
        while running := _unknown(path, launchers[name]):
            if time.monotonic() >= end:
                notes += running
                launchers.blocked.add(name)
                break
            time.sleep(_NAP)
        else:
            launchers.blocked.discard(name)
            launchers.checked.add(name)
    return notes


def _unknown(path: Path, launcher: Launcher) -> list[str]:
    """Stop the launcher's runs that are unknown to the state; return a note for each one that still exists."""
    runs = launcher.runs()
    if not runs:
        return []
    from fairq.launch.interface import Condition

    with reading(path) as state:
        unknown = sorted(runs - launches.names(state))
    notes = []
    for run, look in launcher.look(dict.fromkeys(unknown)).items() if unknown else ():
        if look.condition is Condition.UNKNOWN:
            notes.append(f"nothing is known of the run {run}, which is not in the state: {look.detail}")
        elif look.condition in (Condition.QUEUED, Condition.RUNNING, Condition.STRAY):
            launcher.stop({run: "unknown"})
            notes.append(f"the run {run} is unknown to the state, which is older than it; it is being ended")
        else:
            launcher.forget([run])
    return notes
