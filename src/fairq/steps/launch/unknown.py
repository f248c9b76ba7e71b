"""Runs that the state does not know: those of a state that was replaced by an older copy, or deleted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairq.launch.interface import Condition
from fairq.state import launches
from fairq.state.connection import reading
from fairq.steps.launch.launchers import Launchers

if TYPE_CHECKING:
    from fairq.settings import Settings


def end_unknown(path: Path, settings: Settings, launchers: Launchers) -> list[str]:
    """End what runs unknown to the state, once for each opening of *launchers*; return a note for each run.

    The caller has the cycle's lock: nobody intends to start anything meanwhile.
    """
    if launchers.are_checked:
        return []
    launchers.are_checked = True
    notes = []
    for name in launchers.in_use(settings["launch.kind"]):
        launcher = launchers[name]
        found = launcher.runs()
        if not found:
            continue
        with reading(path) as state:
            unknown = sorted(found - launches.names(state))
        for run, look in launcher.look(dict.fromkeys(unknown)).items():
            if look.condition in (Condition.RUNNING, Condition.STRAY):
                launcher.stop({run: "unknown"})
                notes.append(f"the run {run} is unknown to the state, which is older than it; it is being ended")
            else:
                launcher.forget([run])
    return notes
