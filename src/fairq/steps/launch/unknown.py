"""Runs unknown to the state, e.g. after it was deleted or replaced by an older copy."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.state import launches
from fairq.state.connection import reading
from fairq.steps.launch.launchers import Launchers

if TYPE_CHECKING:
    from fairq.settings import Settings


_PATIENCE = 2.0
"""Seconds that a turn waits for unknown runs to end."""

_NAP = 0.05


def end_unknown(path: Path, settings: Settings, launchers: Launchers) -> list[str]:
    """End runs unknown to the state, once for each opening of *launchers*; return a note for each one left.

    The caller must hold the cycle's lock, so that no other process starts runs meanwhile. While an unknown run is left,
    nothing may be started, because it may be a run of the same job.
    """
    if launchers.are_checked:
        return []
    end = time.monotonic() + _PATIENCE
    while running := _unknown(path, settings, launchers):
        if time.monotonic() >= end:
            return [f"the run {run} is unknown to the state, which is older than it; it is being ended"
                    for run in running]  # fmt: skip
        time.sleep(_NAP)
    launchers.are_checked = True
    return []


def _unknown(path: Path, settings: Settings, launchers: Launchers) -> list[str]:
    """Stop the runs unknown to the state; return those that still exist."""
    running = []
    for name in launchers.in_use(settings["launch.kind"]):
        launcher = launchers[name]
        found = launcher.runs()
        if not found:
            continue
        from fairq.launch.interface import Condition

        with reading(path) as state:
            unknown = sorted(found - launches.names(state))
        for run, look in launcher.look(dict.fromkeys(unknown)).items():
            if look.condition in (Condition.RUNNING, Condition.STRAY):
                launcher.stop({run: "unknown"})
                running.append(run)
            else:
                launcher.forget([run])
    return running
