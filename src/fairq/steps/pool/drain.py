"""Drain slots: they get no new jobs, and what runs there goes on or is ended (condor_drain, "-graceful" to "-fast")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.records import Actor, Change, JobStatus, SlotRecord
from fairq.state import claims, history, jobs, launches, slots, undo
from fairq.state.connection import State
from fairq.state.location import exists
from fairq.steps.jobs.end import end_runs
from fairq.steps.pool.slots import named, opened_for, with_carved

if TYPE_CHECKING:
    from fairq.settings import Settings


class Schedule(Enum):
    """What happens to the jobs that run on a slot that is being drained."""

    GRACEFUL = "graceful"
    """They run to their end."""
    QUICK = "quick"
    """They are told to end, and killed after their grace."""
    FAST = "fast"
    """They are killed at once."""


@dataclass(slots=True)
class Drained:
    """The slots that changed, how many jobs are sent back to the queue, and of how many processes are still there."""

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
    """Begin to drain slots; end their jobs as *schedule* says, which wait again when nothing is left of their runs.

    Raises UnknownSlotError.
    """
    result = Drained()
    ordered: set[str] = set()
    with opened_for(path, dry_run or not exists(path)) as state:
        found = [slot for name in dict.fromkeys(names) for slot in named(state, name)]
        result.slots = [slot.name for slot in found if not slot.draining]
        if not dry_run:
            slots.set_draining(state, result.slots, True)
            changes = [Change(f"slot {name}", {"Draining": False}, {"Draining": True}) for name in result.slots]
            _undoable(state, actor, history.record(state, actor, changes), result.slots, draining=True)
        if schedule is not Schedule.GRACEFUL:
            ordered = _evict(state, settings, with_carved(state, found), schedule, actor, result, dry_run=dry_run)
    if ordered and not dry_run:
        from fairq.steps.launch.settle import settle

        result.ending = len(settle(path, settings, actor, ordered))
    return result


def cancel(path: Path, names: Sequence[str], actor: Actor, *, dry_run: bool = False) -> list[str]:
    """Let slots that are being drained take jobs again; return those that changed. Raises UnknownSlotError."""
    with opened_for(path, dry_run or not exists(path)) as state:
        found = [slot for name in dict.fromkeys(names) for slot in named(state, name)]
        changed = [slot.name for slot in found if slot.draining]
        if not dry_run:
            slots.set_draining(state, changed, False)
            changes = [Change(f"slot {name}", {"Draining": True}, {"Draining": False}) for name in changed]
            _undoable(state, actor, history.record(state, actor, changes), changed, draining=False)
    return changed


def _undoable(state: State, actor: Actor, entries: range, names: Sequence[str], *, draining: bool) -> None:
    """Keep what it takes to undo the draining itself; jobs that were sent back stay so."""
    undo.record(state, actor, entries, "slots drain", {"names": list(names), "draining": draining}, None)


def _evict(
    state: State,
    settings: Settings,
    found: Sequence[SlotRecord],
    schedule: Schedule,
    actor: Actor,
    result: Drained,
    *,
    dry_run: bool,
) -> set[str]:
    """Order the end of the runs on these slots, and end at once what no launcher has; return the runs ordered."""
    names = {slot.name for slot in found}
    live = [launch for launch in launches.live(state) if launch.slot in names]
    for launch in live:
        # Who removes or holds a job decides what becomes of it; a drain can only make its end come sooner.
        launch.ordered = launch.ordered or {"how": "drain", "reason": f"slot {launch.slot} is drained"}
        if schedule is Schedule.FAST:
            launch.ordered["fast"] = True
    launched = {launch.key for launch in live}
    numbers = {slot.id for slot in found}
    rest = [
        claim
        for claim in claims.load_all(state)
        if claim.slot_id in numbers and (claim.schedd or "", claim.cluster or 0, claim.proc or 0) not in launched
    ]
    result.evicted = len(live) + len(rest)
    if not dry_run:
        launches.store(state, live, "ordered")
        runs = end_runs(state, settings, rest, actor.time, "preempted")
        procs = [jobs.Procs(run.schedd, run.cluster, run.proc, run.proc) for run in runs]
        jobs.set_status(state, procs, JobStatus.IDLE, actor.time)
        changes = [
            Change(f"job {launch.job}", {"JobStatus": int(JobStatus.RUNNING)}, {"Evict": schedule.value})
            for launch in live
        ]
        history.record(state, actor, changes)
    return {launch.name for launch in live}
