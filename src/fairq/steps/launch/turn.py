"""A whole turn (collect ended runs, match, start), or a part of it.

Modules that only a pool with a launcher needs are imported in functions, so that cycles of other pools start sooner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fairq.records import Actor, Launch
from fairq.state import job_events, launches
from fairq.state.connection import State, kept_open, reading
from fairq.state.cycle_lock import cycle_lock
from fairq.steps.cycle.document import Cycle
from fairq.steps.cycle.failures import failures_counted
from fairq.steps.cycle.negotiate import hold_cycle
from fairq.steps.launch import events
from fairq.steps.launch.faults import Faults
from fairq.steps.launch.holding import faults_held
from fairq.steps.launch.launchers import Launchers, is_launching, opened, runs_as_owner
from fairq.steps.launch.unknown import end_unknown

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.steps.launch.outcome import Outcome

_PATIENCE = 2.0
"""Seconds that a turn waits for preempted jobs to end; if they take longer, a later turn starts the new jobs."""


class Turn(Struct):
    """The result of a turn: the *cycle* if one ran, the ended and the started runs, and notes for an administrator."""

    cycle: Cycle | None = None
    ended: list[tuple[Launch, Outcome | None]] = field(default_factory=list)
    started: list[Launch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    launching: bool = False


def turn(
    path: Path,
    settings: Settings,
    actor: Actor,
    *,
    match: bool = True,
    launch: bool = True,
    explain: bool = False,
    launchers: Launchers | None = None,
    record: bool = True,
    doing: Callable[[str], None] = lambda _: None,
) -> Turn:
    """Collect; with *match*, run a cycle; with *launch*, start the matched jobs. *doing* receives the progress.

    Without *record*, the next turn records the starts.

    Raises:
        CycleUnderWayError: another cycle is running on this state.
        UnknownLauncherError: the settings or a slot name an unknown launcher.
    """
    result, faults = Turn(), Faults()
    with failures_counted(path, actor.time), kept_open(), opened(path, settings, starting=True) as own:
        used = launchers or own
        end = partial(_end_ordered, result, path, settings, used, actor, faults, launch)
        with cycle_lock(path), faults_held(path, settings, actor, faults, end):
            _decide(result, path, settings, actor, used, match, explain, doing, faults)
            # Without a cycle, `collect` has already notified the users.
            untold = list(result.ended) if match else []
            if result.launching:
                doing("starting jobs")
                _launch(result, path, settings, used, actor, launch, record, faults)
            else:
                _write_logs(path, settings, used, launch)
        if untold or result.started:
            from fairq.steps.launch.notify import notify

            with faults_held(path, settings, actor, faults, end):
                result.notes += notify(path, settings, untold, result.started, faults=faults)
    return result


def _decide(
    result: Turn,
    path: Path,
    settings: Settings,
    actor: Actor,
    launchers: Launchers,
    match: bool,
    explain: bool,
    doing: Callable[[str], None],
    faults: Faults,
) -> None:
    """Collect; with *match*, run a cycle."""
    result.notes += end_unknown(path, settings, launchers)
    with reading(path) as state:
        result.launching = is_launching(state, settings) or bool(launches.live(state))
    if not result.launching:
        if match:
            result.cycle = hold_cycle(path, settings, actor, explain=explain, doing=doing)
        return
    from fairq.steps.launch.collect import Collecting
    from fairq.steps.launch.periodic import apply_periodic, store_periodic

    if not match:
        _collect(result, path, settings, launchers, actor, faults)
        apply_periodic(path, settings, actor, faults)
        return
    collecting = Collecting(path, settings, launchers, actor, faults, before_cycle=True)

    def first(state: State) -> None:
        if collecting.is_needed:
            collecting.store(state)
        store_periodic(state, settings, actor, faults)

    result.cycle = hold_cycle(path, settings, actor, explain=explain, doing=doing, first=first)
    collecting.finish()
    result.ended += collecting.result.ended
    result.notes += collecting.result.notes


def _launch(
    result: Turn,
    path: Path,
    settings: Settings,
    launchers: Launchers,
    actor: Actor,
    launch: bool,
    record: bool,
    faults: Faults,
) -> None:
    """End preempted runs, start runs, write event logs, and prune old runs."""
    from fairq.steps.launch.prune import prune
    from fairq.steps.launch.start import start

    if result.cycle is not None or launch:
        _make_room(result, path, settings, launchers, actor, faults)
    if launch:
        begun = start(path, settings, launchers, actor, faults, record=record)
        result.started += begun.started
        result.notes += begun.notes
    result.notes += _write_logs(path, settings, launchers, launch)
    prune(path, settings, launchers, actor.time)


def _write_logs(path: Path, settings: Settings, launchers: Launchers, launch: bool) -> list[str]:
    """Write event logs; where only the owners' rights may, leave it to the program that also starts runs."""
    if not runs_as_owner(settings):
        return events.flush(path, settings)
    if not launch:
        return []
    with reading(path) as state:
        is_needed = bool(job_events.unwritten(state))
    problem = launchers.attend() if is_needed else None
    return [] if problem is None else [problem]


def _collect(
    result: Turn,
    path: Path,
    settings: Settings,
    launchers: Launchers,
    actor: Actor,
    faults: Faults,
    only: AbstractSet[str] | None = None,
) -> None:
    from fairq.steps.launch.collect import collect

    found = collect(path, settings, launchers, actor, faults, only)
    result.ended += found.ended
    result.notes += found.notes


def _make_room(
    result: Turn, path: Path, settings: Settings, launchers: Launchers, actor: Actor, faults: Faults
) -> None:
    """End the preempted runs, and wait at most `_PATIENCE` seconds for them."""

    def ending(live: Sequence[Launch]) -> bool:
        names = {one.name for one in live}
        return any(names.intersection(one.after.get("runs", ())) for one in live)

    _collect_while(ending, result, path, settings, launchers, actor, faults)


def _end_ordered(
    result: Turn,
    path: Path,
    settings: Settings,
    launchers: Launchers,
    actor: Actor,
    faults: Faults,
    launch: bool,
    ordered: AbstractSet[str],
) -> None:
    """Collect those runs, of jobs to be held, that end or do not begin; wait at most `_PATIENCE` seconds for it."""

    def ending(live: Sequence[Launch]) -> bool:
        return any(one.name in ordered for one in live)

    _collect_while(ending, result, path, settings, launchers, actor, faults, ordered)
    result.notes += _write_logs(path, settings, launchers, launch)


def _collect_while(
    ending: Callable[[Sequence[Launch]], bool],
    result: Turn,
    path: Path,
    settings: Settings,
    launchers: Launchers,
    actor: Actor,
    faults: Faults,
    only: AbstractSet[str] | None = None,
) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        with reading(path) as state:
            live = launches.live(state)
        if not ending(live):
            return
        _collect(result, path, settings, launchers, actor, faults, only)
        if time.monotonic() >= end:
            return
        time.sleep(launchers.nap(live))
