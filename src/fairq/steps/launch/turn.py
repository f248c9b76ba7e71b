"""A whole turn (collect ended runs, match, start), or a part of it.

Modules that only a pool with a launcher needs are imported in functions, so that cycles of other pools start sooner.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fairq.common.records import Actor, Launch
from fairq.state import job_events, launches
from fairq.state import pause as pauses
from fairq.state.connection import State, reading
from fairq.state.cycle_lock import cycle_lock
from fairq.state.idle_connections import kept_open
from fairq.state.pause import Pause
from fairq.steps.cycle.document import Cycle
from fairq.steps.cycle.failures import failures_counted
from fairq.steps.cycle.negotiate import hold_cycle
from fairq.steps.launch import events
from fairq.steps.launch.faults import Faults
from fairq.steps.launch.holds import faults_held
from fairq.steps.launch.launchers import Launchers, is_launching, opened, runs_as_owner
from fairq.steps.launch.unknown import end_unknown
from fairq.steps.pool.pause import pause_sentence
from fairq.steps.settings_history import note_edits

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.steps.launch.collect import Collected
    from fairq.steps.launch.outcome import Outcome

_PATIENCE = 2.0
"""Seconds that a turn waits for preempted jobs to end; if they take longer, a later turn starts the new jobs."""


class Turn(Struct):
    """The result of a turn: the *cycle* if one ran, the ended and the started runs, and notes for an administrator.

    *pause* is why no cycle ran, if the pool is paused.
    """

    cycle: Cycle | None = None
    ended: list[tuple[Launch, Outcome | None]] = field(default_factory=list)
    started: list[Launch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    launching: bool = False
    pause: Pause | None = None


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

    In a paused pool, no cycle is run. Without *record*, the next turn records the starts.

    Raises:
        CycleUnderWayError: another cycle is running on this state.
        UnknownLauncherError: the settings or a slot name an unknown launcher.
    """
    with failures_counted(path, actor.time), kept_open(), opened(path, settings, starting=True) as opened_launchers:
        begun = _Begun(path, settings, actor, launchers or opened_launchers, launch)
        with cycle_lock(path), begun.faults_held():
            may_match, match = match, match and not begun.is_paused()
            begun.decide(match, explain, doing)
            if may_match:  # a cycle that fails changes nothing
                note_edits(path, settings, actor.time)
            # Without a cycle, `collect` has already notified the users.
            unreported = list(begun.result.ended) if match else []
            if begun.result.launching:
                doing("starting jobs")
                begun.start(record)
            else:
                begun.write_logs()
        if unreported or begun.result.started:
            from fairq.steps.launch.notify import notify

            with begun.faults_held():
                begun.result.notes += notify(path, settings, unreported, begun.result.started, faults=begun.faults)
        if match or launch:
            from fairq.steps.launch.summary import report_ended

            begun.result.notes += report_ended(path, settings, actor.time)
    return begun.result


class _Begun(Struct):
    """A turn under way: its pool, who takes it, with *launch* whether it starts jobs, and its *result* until now."""

    path: Path
    settings: Settings
    actor: Actor
    launchers: Launchers
    launch: bool
    faults: Faults = field(default_factory=Faults)
    result: Turn = field(default_factory=Turn)

    def faults_held(self) -> AbstractContextManager[None]:
        """Hold, at the end of the body, the jobs with faults."""
        return faults_held(self.path, self.settings, self.actor, self.faults, self._end_ordered)

    def is_paused(self) -> bool:
        """Return whether the pool is paused; note it."""
        with reading(self.path) as state:
            self.result.pause = pauses.load(state, self.actor.time)
        if self.result.pause is not None:
            self.result.notes.append(f"{pause_sentence(self.result.pause)}: nothing is matched")
        return self.result.pause is not None

    def decide(self, match: bool, explain: bool, doing: Callable[[str], None]) -> None:
        """Collect; with *match*, run a cycle."""
        result = self.result
        result.notes += end_unknown(self.path, self.settings, self.launchers)
        with reading(self.path) as state:
            result.launching = is_launching(state, self.settings) or bool(launches.live(state))
        if not result.launching:
            if match:
                result.cycle = hold_cycle(self.path, self.settings, self.actor, explain=explain, doing=doing)
            return
        from fairq.steps.launch.collect import Collecting
        from fairq.steps.launch.periodic import apply_periodic, store_periodic

        if not match:
            self._collect()
            apply_periodic(self.path, self.settings, self.actor, self.faults)
            return
        collecting = Collecting(self.path, self.settings, self.launchers, self.actor, self.faults, before_cycle=True)

        def first(state: State) -> None:
            if collecting.is_needed:
                collecting.store(state)
            store_periodic(state, self.settings, self.actor, self.faults)

        result.cycle = hold_cycle(self.path, self.settings, self.actor, explain=explain, doing=doing, first=first)
        collecting.finish()
        self._add(collecting.result)

    def start(self, record: bool) -> None:
        """End preempted runs, start runs, write event logs, and prune old runs."""
        from fairq.steps.launch.prune import prune
        from fairq.steps.launch.start import start

        if self.result.cycle is not None or self.launch:
            self._collect_while(_makes_room)
        if self.launch:
            begun = start(self.path, self.settings, self.launchers, self.actor, self.faults, record=record)
            self.result.started += begun.started
            self.result.notes += begun.notes
        self.result.notes += self.write_logs()
        prune(self.path, self.settings, self.launchers, self.actor.time)

    def write_logs(self) -> list[str]:
        """Write event logs; where only the owners' rights may, leave it to the program that also starts runs."""
        if not runs_as_owner(self.settings):
            return events.flush(self.path, self.settings)
        if not self.launch:
            return []
        with reading(self.path) as state:
            is_needed = bool(job_events.unwritten(state))
        problem = self.launchers.attend() if is_needed else None
        return [] if problem is None else [problem]

    def _end_ordered(self, ordered: AbstractSet[str]) -> None:
        """Collect the runs *ordered* to end, until they have ended or the turn's patience is over."""
        self._collect_while(lambda live: any(launch.name in ordered for launch in live), ordered)
        self.result.notes += self.write_logs()

    def _collect_while(self, ending: Callable[[Sequence[Launch]], bool], only: AbstractSet[str] | None = None) -> None:
        """Collect while the live runs are *ending*; wait at most `_PATIENCE` seconds for them."""
        end = time.monotonic() + _PATIENCE
        while True:
            with reading(self.path) as state:
                live = launches.live(state)
            if not ending(live):
                return
            self._collect(only)
            if time.monotonic() >= end:
                return
            time.sleep(self.launchers.nap(live))

    def _collect(self, only: AbstractSet[str] | None = None) -> None:
        from fairq.steps.launch.collect import collect

        self._add(collect(self.path, self.settings, self.launchers, self.actor, self.faults, only))

    def _add(self, collected: Collected) -> None:
        self.result.ended += collected.ended
        self.result.notes += collected.notes


def _makes_room(live: Sequence[Launch]) -> bool:
    """Return whether a run is preempted for another one that waits for its end."""
    names = {launch.name for launch in live}
    return any(names.intersection(launch.after.get("runs", ())) for launch in live)
