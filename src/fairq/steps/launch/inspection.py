"""Ask the launchers how runs are, and stop those that are ordered to end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fairq.common.records import Launch
from fairq.launch.interface import AT_ONCE, Known, Look, Queued, Started
from fairq.steps.launch.launchers import Launchers


def recorded(launch: Launch) -> Known | None:
    """Return the recorded start of a run that has begun or was accepted by an engine; None if nothing is recorded."""
    if launch.engine_id is not None:
        return Queued(launch.engine_id)
    if launch.process is None:
        return None
    return Started(*launch.process, launch.boot, tuple(launch.cores.get("cores", ())))


def by_launcher(live: Iterable[Launch]) -> dict[str, list[Launch]]:
    """Return these runs by their launcher."""
    runs: dict[str, list[Launch]] = {}
    for launch in live:
        runs.setdefault(launch.launcher, []).append(launch)
    return runs


def look(live: Iterable[Launch], launchers: Launchers) -> dict[str, Look]:
    """Return the condition of these runs, by name."""
    looks: dict[str, Look] = {}
    for name, runs in by_launcher(live).items():
        looks |= launchers[name].look({launch.name: recorded(launch) for launch in runs})
    return looks


def stop(live: Iterable[Launch], launchers: Launchers) -> None:
    """Stop the runs that are ordered to end; a repeated call is harmless."""
    for name, runs in by_launcher(launch for launch in live if launch.ordered is not None).items():
        launchers[name].stop({launch.name: _how(launch.ordered or {}) for launch in runs})


def _how(order: dict[str, Any]) -> str:
    return AT_ONCE if order.get("fast") else str(order.get("how", "stop"))
