"""The decisions for the root part of a host's pool, read from the state with the rights of the pool's account.

`fairq.launch.root` runs `main` as that account. It gets one document of JSON and sends one answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from fairq.common.records import JobEvent
from fairq.launch.interface import Assignment, Condition, Started
from fairq.launch.root.document import FIELDS, LARGEST
from fairq.state import ended_jobs, job_events, jobs, launches
from fairq.state.connection import State, reading, writing
from fairq.state.ended_jobs import Wanted
from fairq.steps.launch.clock import Clock
from fairq.steps.launch.events import by_log
from fairq.steps.launch.faults import Faults
from fairq.steps.launch.launchers import Launchers
from fairq.steps.launch.start import plan, startable

if TYPE_CHECKING:
    from fairq.settings import Settings

_LAUNCHER = "local"
_MB = 1024**2
_ALIVE = (Condition.RUNNING, Condition.STRAY)
_MAX_ENTRIES = 50_000
"""Entries of event logs for one call, and of one event; the rest follows at the next call."""


def main(arguments: list[str]) -> None:
    """Print the decisions in the pool with the settings of a site file and this state file; then read the answer.

    The answer names the logs that were written.
    """
    from fairq.settings import load

    site, path = map(Path, arguments)
    settings = load(site, None, {})
    logs = Logs()
    print(json.dumps(describe(path, settings, logs)), flush=True)  # noqa: T201
    answer = json.loads(sys.stdin.readline() or "{}")
    if written := logs.written(answer.get("written", ())):
        with writing(path) as state:
            job_events.mark_written(state, written)


def describe(path: Path, settings: Settings, logs: Logs) -> dict[str, Any]:
    """Return the runs to start, the event logs to write, the lost runs, and the runs unknown to the state."""
    launchers = Launchers(path, settings, starting=False)
    clock = Clock.at(int(time.time()))
    with reading(path) as state:
        live = [launch.name for launch in launches.live(state) if launch.launcher == _LAUNCHER]
        forgotten = sorted(_runs(Path(settings["launch.run_directory"])) - launches.names(state))
        looks = launchers[_LAUNCHER].look(dict.fromkeys([*live, *forgotten]))
        # A live run that the state does not know: the state was restored, and the same job could be started twice.
        is_blocked = any(looks[run].condition in _ALIVE for run in forgotten)
        # Another call may have begun a run that the state does not show as started yet.
        used_cores = {core for look in looks.values() if isinstance(look.begun, Started) for core in look.begun.cores}
        waiting = [
            launch
            for launch in startable(state)
            if launch.name in looks and looks[launch.name].condition is Condition.WAITING and not is_blocked
        ]
        # A job that cannot be started is left out here; the turn that calls root holds it.
        plans = plan(state, settings, launchers, waiting, clock, Faults(), used_cores)
        entries = logs.take(state)
    keep = settings["launch.keep_output"] * _MB
    return {
        "runs": _bounded([described(item, owner, keep) for _, item, owner in plans if isinstance(item, Assignment)]),
        "logs": entries,
        "lost": sorted(run for run, look in looks.items() if look.condition in (Condition.STRAY, Condition.LOST)),
        "forget": forgotten,
    }


def _bounded(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return as many *runs* as one document may hold; the rest follows at the next call."""
    sizes = accumulate(len(json.dumps(run)) for run in runs)
    return [run for run, size in zip(runs, sizes, strict=True) if size <= LARGEST // 2]


def described(assignment: Assignment, owner: str, keep_output: int) -> dict[str, Any]:
    """Return a run as root takes it: without the fields of the assignment that concern engines only."""
    fields = {name: value for name, value in asdict(assignment).items() if name in FIELDS}
    return {**fields, "run": assignment.run, "owner": owner, "keep_output": keep_output}


def _runs(directory: Path) -> set[str]:
    try:
        return {entry.name for entry in os.scandir(directory) if not entry.name.startswith(".")}
    except OSError:
        return set()


class Logs:
    """The pending events, as entries of the logs of each owner."""

    def __init__(self) -> None:
        self._events: list[list[JobEvent]] = []
        self._hopeless: set[int] = set()

    def take(self, state: State) -> list[dict[str, Any]]:
        """Return the logs to write: owner, path and entries. Events of jobs without a known owner are dropped."""
        owners: dict[tuple[str, int], str | None] = {}
        by_owner: dict[str, list[JobEvent]] = {}
        entries_left = _MAX_ENTRIES
        for event in job_events.unwritten(state):
            key = (event.schedd, event.cluster)
            if key not in owners:
                owners[key] = _owner(state, *key)
            owner = owners[key]
            if owner is None or len(event) > _MAX_ENTRIES:
                self._hopeless.add(event.id)
                continue
            entries_left -= len(event)
            if entries_left < 0:
                break
            by_owner.setdefault(owner, []).append(event)
        logs = []
        for owner, events in by_owner.items():
            for path, entries in by_log(events).items():
                logs.append({"owner": owner, "path": path, "entries": [text.decode("utf-8", "surrogateescape")
                                                                       for _, text in entries]})  # fmt: skip
                self._events.append([event for event, _ in entries])
        return logs

    def written(self, numbers: Any) -> set[int]:
        """Return the events that need no more writing, given the *numbers* of the written logs."""
        done = Counter(event.id for number in numbers for event in self._events[number])
        sizes = {event.id: len(event) for events in self._events for event in events}
        return self._hopeless | {event for event, count in done.items() if count == sizes[event]}


def _owner(state: State, schedd: str, cluster: int) -> str | None:
    for job in jobs.select(state, cluster=cluster, schedd=schedd):
        return job.owner
    for _, ended in ended_jobs.page(state, Wanted(jobs=((cluster, None, None, schedd),)), 1):
        return ended.owner
    return None
