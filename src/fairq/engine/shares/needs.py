"""What jobs need, from their attributes (docs/dirac.md 1.1 and 2; DIRAC JobScheduling, TaskQueueDB).

Attributes have the names of DIRAC's job descriptions, or are derived from HTCondor's requests. What decides a need is
read once for all jobs in which it is equal.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Column, Floats, Integers, distinct_rows
from fairq.engine.shares.queues import Requirements, RequirementTable
from fairq.engine.shares.rules import Rules
from fairq.engine.shares.user_priority import in_sum, inserted_priority, read_priority
from fairq.errors.shares import DiracFailure, DiracStopsError, JobRequirement, JobRequirementError

SEGMENTS = (
    360, 1800, 3600, 21600, 43200, 86400, 172800, 259200, 345600, 518400, 691200, 864000, 1080000,
)  # fmt: skip
"""DIRAC's own segments, in HS06 seconds."""

LISTS = {
    "sites": "Sites", "banned_sites": "BannedSites", "platforms": "Platforms", "job_types": "JobTypes",
    "grid_ces": "GridCEs", "tags": "Tags",
}  # fmt: skip
"""DIRAC's names for the lists of requirements: attributes of jobs, also without the last letter."""

ANYWHERE = ("sites", "platforms", "grid_ces")
"""Lists in which ANY is no requirement."""

_TAGGED = ("requestcpus", "requestgpus", "wholenode")
"""The attributes that add tags."""

_RAM = ("minram", "maxram", "requestmemory")

PRIORITY = ("userpriority", "realpriority")
"""The attributes that give priorities."""

_JOB_PRIORITY = "jobprio"

GPU = "GPU"
"""The tag of jobs that request GPUs."""


def _words(name: str) -> tuple[str, ...]:
    """Return the lower-case attributes that give the list *name*; the first one that a job has counts."""
    label = LISTS[name].lower()
    return label, label[:-1]


ATTRIBUTES = frozenset((*chain.from_iterable(map(_words, LISTS)), *_TAGGED, "cputime", *_RAM, *PRIORITY))
"""Lower-case names of all attributes that are read."""


class JobDefaults(NamedTuple):
    """Rules for reading jobs, and defaults.

    Attributes:
        rules: the rules in use.
        segments: bounds of the CPU time steps, in HS06 seconds.
        cpu_time: in HS06 seconds.
        user_priority: as UserPriority.
    """

    rules: Rules
    segments: Sequence[int]
    cpu_time: int
    user_priority: float


class Priorities(NamedTuple):
    """The priorities of many jobs; those of a refused job mean nothing.

    Attributes:
        user: their UserPriorities.
        real: the part of each job in the sum of its queue.
        refusal: the first error of each job with an invalid value; the code -1 is for other jobs.
    """

    user: Column
    real: Floats
    refusal: Column


class Needs(Struct, frozen=True):
    """The needs of many jobs; those of a job whose priorities are refused mean nothing.

    *lists*, *cpu_time*, *min_ram* and *max_ram* are their requirements, apart from owner and group (`Requirements`).
    """

    lists: Mapping[str, Column]
    cpu_time: Column
    min_ram: Column
    max_ram: Column
    priorities: Priorities

    def requirements(self, owner: Column, group: Column) -> RequirementTable:
        """Return the requirements of the jobs, which have these owners and groups."""
        return RequirementTable(
            owner=owner,
            group=group,
            cpu_time=self.cpu_time,
            min_ram=self.min_ram,
            max_ram=self.max_ram,
            **self.lists,
        )


def read_segments(text: str | None, rules: Rules) -> tuple[int, ...]:
    """Return the segments that *text* (option taskQueueCPUTimeIntervals, a comma list) names, or DIRAC's own.

    As in DIRAC, one item that is no integer or not larger than the one before it (the first: than 0) voids the
    whole list.

    Raises DiracStopsError, only under the rules dirac, for a list without items: no job can be inserted.
    """
    if text is not None and not text.replace(",", "").strip() and not rules.checked_settings:
        raise DiracStopsError(DiracFailure.NO_INTERVALS)
    try:
        segments = tuple(int(item) for item in (text or "").split(",") if item.strip())
    except ValueError:
        return SEGMENTS
    rising = all(low < high for low, high in zip((0, *segments), segments, strict=False))
    return segments if segments and rising else SEGMENTS


def bucket(seconds: float, segments: Sequence[int] = SEGMENTS) -> int:
    """Return the smallest segment of at least *seconds*, or the last segment."""
    return segments[min(bisect_left(segments, seconds), len(segments) - 1)]


def default_within(default: float, least: float, most: float, rules: Rules) -> float:
    """Return the value that a job without its own gets; the bounds count under the rules dirac only.

    DIRAC (JobManifest.check) computes them for a job's own value as well, but keeps that as it is.
    """
    return max(least, min(default, most)) if rules.bounded_defaults else default


def read_needs(jobs: Mapping[str, Column], job_priority: Column, defaults: JobDefaults) -> Needs:
    """Return the needs of *jobs*.

    Args:
        jobs: plain values by the lower-case names of `ATTRIBUTES`; the code -1 is for jobs without the attribute, which
            is left out if no job has it.
        job_priority: HTCondor's JobPrio of each job.
        defaults: the rules and defaults.
    """
    reader = _Reader({**jobs, _JOB_PRIORITY: job_priority}, len(job_priority))
    given = {name: reader.read(partial(given_names, name=name), _list_attributes(name), ()) for name in LISTS}
    cpu_time = reader.read(partial(_cpu_time, defaults=defaults), ("cputime",), 0)
    ram = reader.read(_ram, _RAM, (0, 0))
    lists = {
        name: reader.changed(partial(normal_names, LISTS[name], rules=defaults.rules), given[name], ())
        for name in Requirements._fields
        if name in LISTS
    }
    return Needs(
        lists,
        cpu_time,
        ram.changed(lambda bounds: bounds[0]),
        ram.changed(lambda bounds: bounds[1]),
        _priorities_of(reader, defaults),
    )


def read_priorities(jobs: Mapping[str, Column], job_priority: Column, defaults: JobDefaults) -> Priorities:
    """Return the priorities of *jobs*; the arguments are those of `read_needs`."""
    return _priorities_of(_Reader({**jobs, _JOB_PRIORITY: job_priority}, len(job_priority)), defaults)


class _Reader:
    """Reads what jobs have in common once; remembers the first error of each job.

    Attributes:
        refused: over the jobs: the place of the error in *refusals*, where each text is once; -1: none.
    """

    def __init__(self, jobs: Mapping[str, Column], size: int) -> None:
        self._jobs = jobs
        self.refused: Integers = np.full(size, -1)
        self.refusals: list[JobRequirementError] = []
        self._places: dict[str, int] = {}

    def read(self, read: Callable[[Mapping[str, Any]], Any], names: Collection[str], refused: Any) -> Column:
        """Return what *read* makes of the attributes *names* of each job; *refused* where it raises an error."""
        return self.changed(read, Column(*kinds_of(self._jobs, names, len(self.refused))), refused)

    def changed(self, read: Callable[[Any], Any], column: Column, refused: Any) -> Column:
        """Return what *read* makes of the values of *column*; *refused* where it raises an error."""
        found, errors = [], np.full(len(column.values), -1)
        for place, value in enumerate(column.values):
            try:
                found.append(read(value))
            except JobRequirementError as error:
                found.append(refused)
                errors[place] = self._places.setdefault(str(error), len(self.refusals))
                if errors[place] == len(self.refusals):
                    self.refusals.append(error)
        of_job = errors[column.codes]
        self.refused = np.where(self.refused < 0, of_job, self.refused)
        return Column.of(found).take(column.codes)


def kinds_of(jobs: Mapping[str, Column], names: Iterable[str], size: int) -> tuple[Integers, list[dict[str, Any]]]:
    """Return the different combinations of the attributes *names* of *size* jobs, and the place of each job's one."""
    given = {name: jobs[name] for name in names if name in jobs}
    first, kinds = distinct_rows(given.values(), size)
    found: list[dict[str, Any]] = [{} for _ in range(len(first))]
    for name, column in given.items():
        for kind, code in zip(found, column.codes[first].tolist(), strict=True):
            if code >= 0:
                kind[name] = column.values[code]
    return kinds, found


def _list_attributes(name: str) -> tuple[str, ...]:
    return (*_words(name), *_TAGGED) if name == "tags" else _words(name)


def given_names(job: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the names in a list of a job as they are given, with the tags of its requests."""
    given = next((job[word] for word in _words(name) if job.get(word) is not None), "")
    names: Iterable[str]
    if isinstance(given, str):
        names = [item.strip().strip("'\"") for item in given.strip().strip("{}[]").split(",")] if given else []
    elif isinstance(given, list | tuple):
        names = list(map(str, given))
    elif isinstance(given, int | float) and not isinstance(given, bool):
        names = [str(given)]
    else:
        raise JobRequirementError(JobRequirement.NOT_NAMES, what=LISTS[name], value=given)
    if name in ANYWHERE and any(item.strip().lower() == "any" for item in names):
        return ()
    return (*names, *_requested_tags(job)) if name == "tags" else tuple(names)


def normal_names(what: str, given: Collection[str], rules: Rules) -> tuple[str, ...]:
    """Return the names *given* for the list *what* stripped, sorted and unique.

    Raises JobRequirementError, only under the rules dirac, for a list of only blanks.
    """
    kept = tuple(sorted({name.strip() for name in given} - {""}))
    if given and not kept and rules.blank_lists == "error":
        raise JobRequirementError(JobRequirement.BLANK, what=what, value=list(given))
    return kept


def _requested_tags(job: Mapping[str, Any]) -> list[str]:
    cpus, gpus = job.get("requestcpus"), job.get("requestgpus")
    tags = processor_tags(cpus if isinstance(cpus, int) else 1, job.get("wholenode") is True)
    return [*tags, GPU] if isinstance(gpus, int | float) and gpus > 0 else tags


def processor_tags(processors: int, whole_node: bool = False) -> list[str]:
    """Return the tags of a job for the processors that it requests."""
    numbered = [f"{processors}Processors"] if processors > 1 else []
    whole = ["WholeNode"] if whole_node else []
    return [*numbered, "MultiProcessor", *whole] if numbered or whole else []


def _cpu_time(job: Mapping[str, Any], defaults: JobDefaults) -> int:
    return bucket(whole_number("CPUTime", job.get("cputime"), defaults.cpu_time), defaults.segments)


def whole_number(what: str, given: Any, default: int) -> int:
    """Return the number, at least 0, that a job gives for *what*; *default* if it gives none (None).

    Raises JobRequirementError for an invalid number; decimals are truncated.
    """
    if given is None:
        return default
    try:
        if isinstance(given, bool):
            raise ValueError
        number = int(given)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0:
        raise JobRequirementError(JobRequirement.NOT_WHOLE, what=what, value=given)
    return number


def _ram(job: Mapping[str, Any]) -> tuple[int, int]:
    """Return MinRAM and MaxRAM in MB; without MinRAM, the requested memory counts."""
    least, requested = whole_number("MinRAM", job.get("minram"), 0), job.get("requestmemory")
    most = whole_number("MaxRAM", job.get("maxram"), 0)
    if "minram" not in job and isinstance(requested, int | float) and not isinstance(requested, bool):
        least = int(requested) if 0 < requested < math.inf else 0
        least = min(least, most) if most else least
    if least > most > 0:
        raise JobRequirementError(JobRequirement.RAM_ABOVE_MAXIMUM, what="MinRAM", value=least, maximum=most)
    return least, most


def _priorities_of(reader: _Reader, defaults: JobDefaults) -> Priorities:
    """Read the priorities last: of several errors of a job, the first one counts."""
    pairs = reader.read(partial(_priorities, defaults=defaults), (_JOB_PRIORITY, *PRIORITY), (0, 0.0))
    return Priorities(
        pairs.changed(lambda pair: pair[0]),
        np.array([real for _, real in pairs.values], float)[pairs.codes],
        Column(reader.refused, reader.refusals),
    )


def _priorities(job: Mapping[str, Any], defaults: JobDefaults) -> tuple[float, float]:
    """Return UserPriority (without it, the job priority if that is not 0) and real priority, which may be given."""
    rules, given, job_priority = defaults.rules, job.get("userpriority"), job[_JOB_PRIORITY]
    if given is None and job_priority:
        # HTCondor's has no bounds, which DIRAC's has.
        priority = max(0, job_priority if rules.user_priority_weight == "as_given" else min(10, job_priority))
    else:
        priority = inserted_priority(read_priority(given, defaults.user_priority, rules), rules)
    real = job.get("realpriority")
    if isinstance(real, int | float) and not isinstance(real, bool) and real > 0:
        return priority, float(real)
    return priority, in_sum(priority, rules)
