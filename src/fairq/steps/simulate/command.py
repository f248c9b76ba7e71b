"""The input of a simulation: the trace, the policies and the pool."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import le
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.quantities import OutsideError, duration, moment
from fairq.common.records import Ad
from fairq.common.reservation import Reservation
from fairq.errors.base import UsageError
from fairq.errors.simulation import InvalidChangeError, NothingToSimulateError
from fairq.formats.trace import Trace
from fairq.formats.trace_table import read_trace
from fairq.steps.quotas.source import read_settings
from fairq.steps.simulate.alteration import read_numbers
from fairq.steps.simulate.past import past_trace
from fairq.steps.simulate.replay import Policy
from fairq.steps.simulate.shapes import AMPLE, MOST, Machines, larger, read_machines, slot_ads

if TYPE_CHECKING:
    from fairq.settings import Settings

FIFO, CURRENT = "fifo", "current"
_FIGURES = 5_000_000
"""Maximum number of windows times users."""

_RESERVE = re.compile(r"([^=@]+)=(all|[0-9]{1,7})@(.+?)\.\.(.+)")

_SWINGS = 10
"""Shares oscillate from cycle to cycle if the cycle interval exceeds the half-life divided by this number."""


class Options(Struct, frozen=True):
    """The options of a simulation as typed; *every* and *window* are in seconds."""

    slots: str | None
    every: int
    window: int
    first: str | None = None
    until: str | None = None
    shake: int | None = None
    seed: int = 1
    factors: Sequence[str] = ()
    reserve: Sequence[str] = ()


class Plan(Struct, frozen=True):
    """The input of a simulation, with warnings for the reader."""

    trace: Trace
    policies: Sequence[Policy]
    slots: Sequence[Ad]
    warnings: Sequence[str]
    reservations: Sequence[Reservation] = ()


def prepare(
    name: str | Path, policies: Sequence[str], options: Options, settings: Settings, environ: Mapping[str, str]
) -> Plan:
    """Read the trace *name*, or the past of the state at that path, and everything else that a simulation needs.

    Raises:
        UsageError: a policy is neither ``NAME=FILE`` nor one of the known names, or a name is given twice.
        InvalidChangeError: a size or time cannot be read.
        NothingToSimulateError: there are no jobs, or the size of the pool is not known.
    """
    factors = read_numbers("factor", options.factors)
    replayed = [replace(policy, factors=factors) for policy in read_policies(policies, settings, environ)]
    past_machines: list[Machines] = []
    if isinstance(name, Path):
        trace, past_machines = past_trace(name)
    else:
        trace = read_trace(name)
    first = _time("--from", options.first, trace.start)
    last = _time("--until", options.until, trace.start)
    if first is not None or last is not None:
        trace = trace.between(first, last)
    if not trace.jobs and first is None and last is None:
        raise NothingToSimulateError(reason="the trace has no jobs that ran", cure="give another trace")
    if not trace.jobs:
        raise NothingToSimulateError(reason="the trace has no jobs in this time", cure="give another --from or --until")
    if options.shake:
        trace = shaken(trace, options.shake, options.seed)
    machines = past_machines if past_machines and options.slots is None else _machines(options.slots, trace)
    slots = slot_ads(machines, trace.start)
    if unknown := factors.keys() - {job.user for job in trace.jobs}:
        raise InvalidChangeError(
            option="--factor", value=min(unknown), problem="the trace has no jobs of this user", cure="correct the name"
        )
    _check_window(options.window, trace, sum(machine.count * machine.cpus for machine in machines))
    warnings = _misfits(machines, trace)
    if longer := sum(job.limit is not None and job.run > job.limit for job in trace.jobs):
        warnings.append(f"limits are not enforced; {longer} of the jobs ran longer than declared")
    if trace.dependent:
        name = "names" if trace.dependent == 1 else "name"
        warnings.append(f"{trace.dependent} of the jobs {name} a preceding job; all arrive at their recorded times")
    for policy in replayed:
        half_life = policy.settings["accounting.priority_halflife"]
        if options.every * _SWINGS > half_life:
            warnings.append(f"{policy.name}: shares swing, as --every is above a tenth of priority_halflife")
    return Plan(trace, replayed, slots, warnings, _reservations(options.reserve, slots, trace.start))


def read_policies(texts: Sequence[str], settings: Settings, environ: Mapping[str, str]) -> list[Policy]:
    """Return the policies that *texts* name; without any, the settings in force."""
    policies: list[Policy] = []
    for text in texts or [CURRENT]:
        name, equals, file = text.partition("=")
        if equals and name and file:
            policy = Policy(name, read_settings(file, environ), one_identity=False)
        elif text == FIFO:
            policy = Policy(FIFO, settings, one_identity=True)
        elif text == CURRENT:
            policy = Policy(CURRENT, settings)
        else:
            raise UsageError(message=f"--policy {text!r} names no settings; give NAME=FILE, {FIFO} or {CURRENT}")
        if any(former.name == policy.name for former in policies):
            raise UsageError(message=f"--policy {policy.name} is given twice; give each policy a name of its own")
        policies.append(policy)
    return policies


def shaken(trace: Trace, maximum: int, seed: int) -> Trace:
    """Return *trace* with all jobs of each user shifted by the same random time, up to *maximum* seconds."""
    draw = random.Random(f"shake {seed}")
    users = sorted({job.user for job in trace.jobs})
    shifts = {user: draw.randint(-maximum, maximum) for user in users}
    jobs = [job._replace(submit=max(trace.start, job.submit + shifts[job.user])) for job in trace.jobs]
    return replace(trace, jobs=sorted(jobs, key=lambda job: job.submit))


def _check_window(window: int, trace: Trace, cores: int) -> None:
    """Refuse windows that are too short to be kept for the expected length of the simulation."""
    first, last = trace.jobs[0].submit, trace.jobs[-1].submit
    work = sum(job.run * job.cpus for job in trace.jobs)
    span = last - first + max(job.run for job in trace.jobs) + work // cores
    shortest = 1 + span * len({job.user for job in trace.jobs}) // _FIGURES
    if window < shortest:
        raise InvalidChangeError(
            option="--window", value=f"{window}s", problem="windows are too short", cure=f"give at least {shortest}s"
        )


def _machines(text: str | None, trace: Trace) -> list[Machines]:
    if text is not None:
        return read_machines(text)
    if trace.slots is None:
        raise NothingToSimulateError(
            reason="the trace does not say how large its machine is", cure="give --slots, such as --slots 1000"
        )
    if trace.slots > MOST:
        raise InvalidChangeError(
            option="MaxProcs", value=str(trace.slots), problem="the size is out of range",
            cure=f"give --slots of 1 to {MOST} cores",
        )  # fmt: skip
    if all(job.cpus == 1 for job in trace.jobs):
        return [Machines(trace.slots)]
    # A log in this format does not say which processors are in one machine; a job may have had any of them.
    return [Machines(1, trace.slots, AMPLE * trace.slots, partitionable=True)]


def _misfits(machines: Sequence[Machines], trace: Trace) -> list[str]:
    """Return a warning if jobs of *trace* never start because they request more than any of *machines* has."""
    capacities = {(machine.cpus, machine.memory or AMPLE, machine.gpus) for machine in machines}
    requests = Counter((job.cpus, job.memory or 0, job.gpus) for job in trace.jobs)
    misfits = [request for request in requests if not any(all(map(le, request, capacity)) for capacity in capacities)]
    if not misfits:
        return []
    count = sum(requests[request] for request in misfits)
    jobs, never = ("1 job asks", "never starts") if count == 1 else (f"{count} jobs ask", "never start")
    needed = larger(machines, *(max(request[column] for request in misfits) for column in range(3)))
    cure = f"give --slots {needed}" if needed else "correct the trace"
    resources = "cores, memory or GPUs" if any(gpus for *_, gpus in misfits) else "cores or memory"
    return [f"{jobs} for more {resources} than any machine has, and {never}; {cure}"]


def _reservations(texts: Sequence[str], slots: Sequence[Ad], start: int) -> list[Reservation]:
    """Return the reservations that *texts* describe: each of the first slots that are not reserved at that time."""
    reservations: list[Reservation] = []
    for number, text in enumerate(texts, 1):
        parts = _RESERVE.fullmatch(text)
        if parts is None:
            raise InvalidChangeError(
                option="--reserve", value=text, problem="not a reservation", cure="give WHO=N@FROM..UNTIL"
            )
        begin, end = (_time("--reserve", part, start) or start for part in (parts[3], parts[4]))
        reserved = {name for earlier in reservations if earlier.overlaps(begin, end) for name in earlier.slots}
        names = [str(slot["Name"]) for slot in slots if slot["Name"] not in reserved]
        count = len(names) if parts[2] == "all" else int(parts[2])
        if end <= begin or not 0 < count <= len(names):
            problem = "it ends before it begins" if end <= begin else f"{len(names)} slots are not reserved then"
            raise InvalidChangeError(option="--reserve", value=text, problem=problem, cure="change it")
        people = [] if parts[1] == "nobody" else parts[1].split(",")
        reservations.append(Reservation(number, names[:count], begin, end, "", start, people, people))
    return reservations


def _time(option: str, text: str | None, start: int) -> int | None:
    """Return a time, given as a date or as a duration since the *start* of the trace."""
    if text is None:
        return None
    seconds = duration(text)
    if seconds is not None and seconds < 100_000_000:
        return start + int(seconds)
    try:
        time = moment(text, start)
    except OutsideError:
        time = None
    if time is None:
        raise InvalidChangeError(
            option=option, value=text, problem="not a time", cure="give a time, or a duration since the start"
        )
    return time
