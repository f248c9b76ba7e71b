"""Start the intended runs that no longer wait for other runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from fairq.common.interactive import TERMINAL
from fairq.common.quantities import counted
from fairq.common.records import Actor, Ad, Launch, LaunchPhase
from fairq.launch.interface import Assignment, Known, Launcher, Queued, Refused, Started
from fairq.state import jobs, launches, waits
from fairq.state.connection import State, reading, writing
from fairq.steps.jobs.conditions import deferral_window
from fairq.steps.launch.assignment import assignment, cores_of, resource_of
from fairq.steps.launch.clock import Clock
from fairq.steps.launch.collect import held_slots, mark_started
from fairq.steps.launch.faults import NOT_OF_JOBS, Faults
from fairq.steps.launch.gpus import missing_gpus, waits_for_gpus
from fairq.steps.launch.launchers import Launchers, of_slot, runs_as_owner
from fairq.steps.launch.values import UnusableValueError, is_given
from fairq.steps.pool.dynamic_slots import load_slots

if TYPE_CHECKING:
    from fairq.settings import Settings


_NOT_AS_OWNER = "jobs of this pool run as their owners (launch.run_as), which {} cannot do; remove its slots"


class Begun(Struct):
    """The runs that began, and notes for an administrator on the others."""

    started: list[Launch] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def start(
    path: Path, settings: Settings, launchers: Launchers, actor: Actor, faults: Faults, *, record: bool = True
) -> Begun:
    """Start all startable runs, and find the *faults* of others; the caller must hold the cycle's lock.

    Without *record*, the next collection records the starts, as after a crash.
    """
    clock = Clock.at(actor.time)
    result = Begun()
    with reading(path) as state:
        waiting = startable(state)
        waiting = [launch for launch in waiting if launch.launcher not in launchers.blocked]
        plans = plan(state, settings, launchers, waiting, clock, faults) if waiting else []
    by_launcher: dict[str, list[Assignment]] = {}
    answers: dict[str, Known | Refused] = {}
    for launch, planned, _ in plans:
        if isinstance(planned, Refused):
            answers[launch.name] = planned
        else:
            by_launcher.setdefault(launch.launcher, []).append(planned)
    for name, assignments in by_launcher.items():
        if runs_as_owner(settings) and launchers[name].is_engine:
            # An engine would run them with the rights of the pool's account, and with power over the pool.
            answers |= dict.fromkeys((item.run for item in assignments), Refused(_NOT_AS_OWNER.format(name)))
        else:
            answers |= _start_runs(launchers[name], assignments, {run.name: run for run in waiting}, faults)
    refused: list[Launch] = []
    for launch, _, _ in plans:
        answer = answers.get(launch.name)
        if isinstance(answer, Refused) and launch.reason != answer.reason:
            launch.reason = answer.reason
            refused.append(launch)
        elif isinstance(answer, Queued):
            launch.phase, launch.engine_id, launch.reason = LaunchPhase.QUEUED, answer.engine_id, None
            result.started.append(launch)
        elif isinstance(answer, Started):
            launch.phase = LaunchPhase.STARTED
            launch.cores |= {"cores": list(answer.cores)} if answer.cores else {}
            launch.pid, launch.pid_start, launch.boot = answer.pid, answer.start, answer.boot
            launch.reason = None
            result.started.append(launch)
    result.notes += _refusals(refused)
    if refused or (result.started and record):
        with writing(path) as state:
            live = {launch.name for launch in launches.live(state)}
            launches.store(state, [launch for launch in refused if launch.name in live], "reason")
            begun = [launch for launch in result.started if record and launch.name in live]
            queued = [launch for launch in begun if launch.phase is LaunchPhase.QUEUED]
            launches.store(state, queued, "phase", "engine_id", "reason")
            processes = [launch for launch in begun if launch.phase is LaunchPhase.STARTED]
            mark_started(state, processes, clock.now, always=True)
    return result


def _start_runs(
    launcher: Launcher, assignments: Sequence[Assignment], runs: Mapping[str, Launch], faults: Faults
) -> dict[str, Known | Refused]:
    """Start runs together; if the launcher fails, start them one by one, so that only the run at fault fails."""
    if len(assignments) > 1:
        try:
            return launcher.start(assignments)
        except NOT_OF_JOBS:
            raise
        except Exception:
            pass
    answers: dict[str, Known | Refused] = {}
    for item in assignments:
        launch = runs[item.run]
        with faults.apart(launch.procs):
            answers |= launcher.start([item])
    return answers


def _refusals(refused: Sequence[Launch]) -> list[str]:
    """Return a note for each reason; an engine that does not answer refuses many runs for the same one."""
    by_reason: dict[str | None, list[str]] = {}
    for launch in refused:
        by_reason.setdefault(launch.reason, []).append(launch.job)
    others = {reason: f" and {counted(len(ids) - 1, 'other')}" if ids[1:] else "" for reason, ids in by_reason.items()}
    return [f"job {ids[0]}{others[reason]} cannot be started yet: {reason}" for reason, ids in by_reason.items()]


def startable(state: State) -> list[Launch]:
    """Return the intended runs that can start: without an order to end, and without earlier runs still alive."""
    live = launches.live(state)
    names = {launch.name for launch in live}
    claims_of_runs = held_slots(state, live)
    return [
        launch
        for launch in live
        if launch.phase is LaunchPhase.INTENDED
        and launch.ordered is None
        and launch.name in claims_of_runs
        and names.isdisjoint(launch.after.get("runs", ()))
    ]


class Plan(NamedTuple):
    """A run that can start, its assignment (or why it must wait), and the owner of its job."""

    launch: Launch
    assignment: Assignment | Refused
    owner: str


def plan(
    state: State,
    settings: Settings,
    launchers: Launchers,
    waiting: Sequence[Launch],
    clock: Clock,
    faults: Faults,
    used_cores: Collection[int] = (),
) -> list[Plan]:
    """Return the assignments of the *waiting* runs; those that cannot be made become *faults*.

    *used_cores* are cores in use that the state does not know of.
    """
    slot_ads = {slot.name: slot.ad for slot in load_slots(state)}
    live = launches.live(state)
    busy = {core for launch in live for core in launch.cores.get("cores", ())}.union(used_cores)
    engines = launchers.engines(live)
    unready = waits_for_gpus([launch for launch in live if launch.launcher not in engines])
    plans = []
    for launch in waiting:
        job, slot = jobs.find(state, *launch.key), slot_ads.get(launch.slot)
        if job is None or slot is None:
            continue
        clock.note_reboot(launch, clock.boot)
        with faults.apart(launch.procs):
            ad = jobs.whole_ad(state, job)
            cores: tuple[int, ...] = ()
            if settings["launch.affinity"] and not launchers[launch.launcher].is_engine:
                available = launchers[launch.launcher].slots().cores
                if _cores_of_slots(slot_ads, settings, launch.launcher, clock.now) <= len(available):
                    cores = _free_cores(available, busy, cores_of(ad, slot, clock.now))
            as_owner = job.owner if runs_as_owner(settings) else None
            ad |= _start_time(state, launch, ad, clock.now)
            if launch.launcher in engines and is_given(ad, "DeferralTime"):
                raise UnusableValueError("DeferralTime", f"{launch.launcher} starts no job at a set time; use begin")
            if launch.launcher in engines and is_given(ad, TERMINAL):
                raise UnusableValueError(TERMINAL, f"{launch.launcher} starts jobs elsewhere")
            planned = assignment(launch, ad, slot, settings, clock.now, cores, job.submitter, as_owner)
            wait = unready.get(launch.name) or (
                None if launch.launcher in engines else missing_gpus(ad, slot, clock.now)
            )
            if wait is None:
                busy.update(cores)
            plans.append(Plan(launch, planned if wait is None else Refused(wait), job.owner))
    return plans


def _free_cores(cores: Sequence[int], busy: Collection[int], count: int) -> tuple[int, ...]:
    """Return *count* of the *cores* that are not *busy*; empty if fewer are free."""
    free = [core for core in cores if core not in busy]
    return tuple(free[:count]) if 0 < count <= len(free) else ()


def _start_time(state: State, launch: Launch, ad: Ad, now: int) -> Ad:
    """Return the start time of a job's program as an attribute; empty if the job has no start time of its own."""
    deadline = None if launch.schedd else waits.deadline_of(state, launch.cluster, launch.proc)
    return {} if deadline is None else {"DeferralTime": deadline - deferral_window(ad, now)}


def _cores_of_slots(slot_ads: Mapping[str, Mapping[str, Any]], settings: Settings, launcher: str, now: int) -> float:
    """Return the total cores of a launcher's slots; a partitionable slot counts what its dynamic slots leave."""
    return sum(resource_of(ad, "Cpus", now) or 0 for ad in slot_ads.values() if of_slot(ad, settings) == launcher)
