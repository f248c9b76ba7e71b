"""Ask the launchers how runs are, and stop those that are ordered to end."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.common.records import Launch
from fairq.launch.interface import AT_ONCE, Known, Look, Queued, Started
from fairq.steps.launch.launchers import Launchers


def recorded(launch: Launch) -> Known | None:
    """Return the recorded start of a run that has begun or was accepted by an engine; None if nothing is recorded."""
    if launch.engine_id is not None:
        return Queued(launch.engine_id)
    if launch.pid is None or launch.pid_start is None:
        return None
    return Started(launch.pid, launch.pid_start, launch.boot, tuple(launch.cores.get("cores", ())))


def look(live: Iterable[Launch], launchers: Launchers) -> dict[str, Look]:
    """Return the condition of these runs, by name."""
    by_launcher: dict[str, dict[str, Known | None]] = {}
    for launch in live:
        by_launcher.setdefault(launch.launcher, {})[launch.name] = recorded(launch)
    looks: dict[str, Look] = {}
    for name, runs in by_launcher.items():
        looks |= launchers[name].look(runs)
    return looks


def stop(live: Iterable[Launch], launchers: Launchers) -> None:
    """Stop the runs that are ordered to end; a repeated call is harmless."""
    by_launcher: dict[str, dict[str, str]] = {}
    for launch in live:
        if launch.ordered is not None:
            how = AT_ONCE if launch.ordered.get("fast") else str(launch.ordered.get("how", "stop"))
            by_launcher.setdefault(launch.launcher, {})[launch.name] = how
    for name, runs in by_launcher.items():
        launchers[name].stop(runs)
