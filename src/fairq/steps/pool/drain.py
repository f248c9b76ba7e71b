"""Drain slots: they get no new jobs; running jobs continue or are ended (condor_drain, "-graceful" to "-fast")."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fairq.common.records import Actor, Change, JobStatus, SlotRecord
from fairq.state import claims, history, launches, slots, undo
from fairq.state.connection import State, opened_for
from fairq.steps.jobs.end import requeue
from fairq.steps.pool.slots import named, with_carved

if TYPE_CHECKING:
    from fairq.settings import Settings


class Schedule(Enum):
    """The treatment of jobs that run on a draining slot."""

    GRACEFUL = "graceful"
    """Jobs run to their end."""
    QUICK = "quick"
    """Jobs receive their kill signal, and are killed after their grace."""
    FAST = "fast"
    """Jobs are killed at once."""


class Drained(Struct):
    """The changed slots, and the numbers of jobs returned to the queue and of jobs whose processes still end."""

    slots: list[str] = field(default_factory=list)
    evicted: int = 0
    ending: int = 0


def drain(
    path: Path,
    settings: Settings,
    names: Sequence[str],
    schedule: Schedule,
    actor: Actor,
    *,
    dry_run: bool = False,
) -> Drained:
    """Begin to drain slots and end their jobs according to *schedule*; jobs become idle when their runs have ended.

    Raises UnknownSlotError.
    """
    result = Drained()
    ordered: set[str] = set()
    with opened_for(path, dry_run=dry_run, create=False) as state:
        chosen = [slot for name in dict.fromkeys(names) for slot in named(state, name)]
        result.slots = [slot.name for slot in chosen if not slot.draining]
        if not dry_run:
            _store(state, actor, result.slots, draining=True)
        if schedule is not Schedule.GRACEFUL:
            ordered = _evict(state, settings, with_carved(state, chosen), schedule, actor, result, dry_run=dry_run)
    if ordered and not dry_run:
        from fairq.steps.launch.settle import settle

        result.ending = len(settle(path, settings, actor, ordered))
    return result


def cancel(path: Path, names: Sequence[str], actor: Actor, *, dry_run: bool = False) -> list[str]:
    """Let draining slots take jobs again; return the changed slots. Raises UnknownSlotError."""
    with opened_for(path, dry_run=dry_run, create=False) as state:
        chosen = [slot for name in dict.fromkeys(names) for slot in named(state, name)]
        changed = [slot.name for slot in chosen if slot.draining]
        if not dry_run:
            _store(state, actor, changed, draining=False)
    return changed


def _store(state: State, actor: Actor, names: Sequence[str], *, draining: bool) -> None:
    """Begin or end the draining of slots; the undo does not restart jobs returned to the queue."""
    slots.set_draining(state, names, draining)
    changes = [Change(f"slot {name}", {"Draining": not draining}, {"Draining": draining}) for name in names]
    entries = history.record(state, actor, changes)
    undo.record(state, actor, entries, "slots drain", {"names": list(names), "draining": draining}, None)


def _evict(
    state: State,
    settings: Settings,
    drained: Sequence[SlotRecord],
    schedule: Schedule,
    actor: Actor,
    result: Drained,
    *,
    dry_run: bool,
) -> set[str]:
    """Order the end of the runs on these slots; end jobs without a launcher at once. Return the ordered runs."""
    names = {slot.name for slot in drained}
    live = [launch for launch in launches.live(state) if launch.slot in names]
    for launch in live:
        # An earlier order to remove or hold a job decides its next status; a drain can only end it sooner.
        launch.ordered = launch.ordered or {"how": "drain", "reason": f"slot {launch.slot} is drained"}
        if schedule is Schedule.FAST:
            launch.ordered["fast"] = True
    launched = {launch.key for launch in live}
    numbers = {slot.id for slot in drained}
    rest = [claim for claim in claims.load_all(state) if claim.slot_id in numbers and claim.key not in launched]
    result.evicted = len(live) + len(rest)
    if not dry_run:
        launches.store(state, live, "ordered")
        requeue(state, settings, rest, actor.time, "preempted")
        changes = [
            Change(f"job {launch.job}", {"JobStatus": int(JobStatus.RUNNING)}, {"Evict": schedule.value})
            for launch in live
        ]
        history.record(state, actor, changes)
    return {launch.name for launch in live}
