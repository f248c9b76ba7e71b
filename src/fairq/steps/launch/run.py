"""Run turns in the foreground whenever something has changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.records import Actor, JobStatus
from fairq.errors.base import CycleUnderWayError, StateFullError, StateLockedError
from fairq.launch.wait import stamp, wait
from fairq.state import history, jobs, launches
from fairq.state.connection import reading, writing
from fairq.state.idle_connections import kept_open
from fairq.state.location import resolve
from fairq.steps.launch import events
from fairq.steps.launch.collect import collect
from fairq.steps.launch.launchers import Launchers, opened
from fairq.steps.launch.settle import settle
from fairq.steps.launch.turn import Turn, turn

if TYPE_CHECKING:
    from fairq.settings import Settings

_SOON = 0.3
"""Seconds to wait for a turn that records the starts of runs; without one, they are then recorded separately."""

_END_DELAY = 0.01
"""Seconds between an end and the turn, so that runs that end together need only one turn."""

_RETRY_DELAY = 5.0
"""Seconds until the next turn if a turn could not store anything, e.g. on a full disk."""

_NOT_BEGUN = 1.0
"""Seconds until the next turn if a run may or may not have begun."""


class QueueCounts(Struct, frozen=True):
    """The numbers of jobs after a turn: idle, *waiting* for another job or a time, held, and running.

    Runs that wait for others to end count as running.
    """

    idle: int
    waiting: int
    held: int
    running: int


def run(
    path: Path,
    settings: Settings,
    actor: Callable[[], Actor],
    report: Callable[[Turn, QueueCounts], None],
    *,
    every: float,
    until_idle: bool = False,
) -> QueueCounts:
    """Run a turn now, whenever the state has changed or a run has ended, and every *every* seconds.

    *report* receives every turn. With *until_idle*, stop when nothing runs and nothing more can be started. A change by
    another command during a turn causes another turn at once, because the turn may have missed it; so does a job that
    the turn held.
    """
    state_file = resolve(path)
    with kept_open(), opened(path, settings, starting=True) as launchers:
        view = _View.of(path, 0, "", launchers)
        while True:
            stamp_before, current_actor = stamp(state_file), actor()
            try:
                settings = settings.now()
                result = turn(path, settings, current_actor, launchers=launchers, record=False)
            except CycleUnderWayError:
                wait(state_file, stamp_before, (), _NOT_BEGUN)
                continue
            except (StateFullError, StateLockedError) as error:
                report(Turn(notes=[f"{error} (the next turn follows in {_RETRY_DELAY:g} seconds)"]), view.counts)
                time.sleep(_RETRY_DELAY)
                continue
            stamp_after = stamp(state_file)
            former_held = view.counts.held
            view = _View.of(path, view.latest, current_actor.command, launchers)
            report(result, view.counts)
            if view.others_changed or view.counts.held > former_held:
                # A job that was held instead of started leaves its slot to others.
                continue
            if until_idle and not view.counts.running:
                return view.counts
            watched = view.watched | {launch.process for launch in result.started if launch.process}
            if result.started and not wait(state_file, stamp_after, watched, _SOON):
                # No turn follows at once that would record the starts.
                collect(path, settings, launchers, actor())
                events.flush(path, settings)
                stamp_after = stamp(state_file)
                view = _View.of(path, view.latest, current_actor.command, launchers)
                if view.others_changed:
                    continue
                watched = view.watched
            if not result.started or not view.unknown:
                longest = min(every, settings["launch.poll"]) if view.engines else every
                wait(state_file, stamp_after, watched, min(every, _NOT_BEGUN) if view.unknown else longest)
            time.sleep(_END_DELAY)


class _View(Struct, frozen=True):
    """The relevant data of the state between two turns.

    Args:
        counts: the numbers of jobs.
        watched: the processes of the runs, each with its start.
        unknown: whether a process may or may not have begun.
        engines: whether an engine has runs; it must be asked whether they have ended.
        latest: the number of the latest change in the history.
        others_changed: whether another command has changed anything since the previous view.
    """

    counts: QueueCounts
    watched: set[tuple[int, int]]
    unknown: bool
    engines: bool
    latest: int
    others_changed: bool

    @classmethod
    def of(cls, path: Path, since: int, command: str, launchers: Launchers) -> _View:
        """Read the state; *since* is the latest change of the previous view, *command* the name of this command."""
        with reading(path) as state:
            live = launches.live(state)
            engines = launchers.engines(live)
            by_status = jobs.counts(state, (JobStatus.IDLE, JobStatus.WAITING, JobStatus.HELD))
            latest, others_changed = history.latest(state), history.others_changed(state, since, command)
        idle, waiting, held = (
            by_status.get(status, 0) for status in (JobStatus.IDLE, JobStatus.WAITING, JobStatus.HELD)
        )
        return cls(
            counts=QueueCounts(idle, waiting, held, len(live)),
            watched={launch.process for launch in live if launch.process},
            unknown=any(launch.pid is None for launch in live if launch.launcher not in engines),
            engines=bool(engines),
            latest=latest,
            others_changed=others_changed,
        )


def queue_counts(path: Path, settings: Settings) -> QueueCounts:
    """Return the current numbers of jobs."""
    with opened(path, settings) as launchers:
        return _View.of(path, 0, "", launchers).counts


def stop_all(path: Path, settings: Settings, actor: Actor) -> None:
    """End every run and make its job idle; wait at most until the grace of all runs is over."""
    with writing(path) as state:
        live = launches.live(state)
        for launch in live:
            launch.ordered = launch.ordered or {"how": "stop", "reason": "fairq run was stopped"}
        launches.store(state, live, "ordered")
    patience = settings["launch.grace"] + 5
    settle(path, settings, actor, {launch.name for launch in live}, patience)
