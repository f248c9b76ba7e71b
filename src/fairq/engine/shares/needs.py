"""The needs of jobs, from their attributes (docs/dirac.md 1.1 and 2; DIRAC JobScheduling, TaskQueueDB).

Attributes have the names of DIRAC's job descriptions, or are derived from HTCondor's requests. Equal attributes of
several jobs are read once.
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
"""DIRAC's names for the lists of requirements. Jobs have them as attributes, with or without the last letter."""

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


def _attribute_names(name: str) -> tuple[str, ...]:
    """Return the lower-case attributes for the list *name*; the first one that a job has counts."""
    label = LISTS[name].lower()
    return label, label[:-1]


ATTRIBUTES = frozenset((*chain.from_iterable(map(_attribute_names, LISTS)), *_TAGGED, "cputime", *_RAM, *PRIORITY))
"""Lower-case names of all attributes that are read."""


class JobDefaults(NamedTuple):
    """Rules for reading jobs, and defaults.

    Attributes:
        rules: the rules in use.
        segments: upper bounds of the CPU time steps, in HS06 seconds.
        cpu_time: the default CPU time, in HS06 seconds.
        user_priority: the default UserPriority.
    """

    rules: Rules
    segments: Sequence[int]
    cpu_time: int
    user_priority: float


class Priorities(NamedTuple):
    """The priorities of many jobs; the values of a refused job have no meaning.

    Attributes:
        user: their UserPriorities.
        real: the part of each job in the sum of its queue.
        refusal: the first error of each job with an invalid value; the code -1 is for other jobs.
    """

    user: Column
    real: Floats
    refusal: Column


class Needs(Struct, frozen=True):
    """The needs of many jobs; the values of a job with refused priorities have no meaning.

    *lists*, *cpu_time*, *min_ram* and *max_ram* are the requirements without owner and group (`Requirements`).
    """

    lists: Mapping[str, Column]
    cpu_time: Column
    min_ram: Column
    max_ram: Column
    priorities: Priorities

    def requirements(self, owner: Column, group: Column) -> RequirementTable:
        """Return the requirements of the jobs with these owners and groups."""
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

    As in DIRAC, the entire list is ignored if an item is not an integer, or not larger than the one before it (for the
    first item, than 0).

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


def default_within(default: float, minimum: float, maximum: float, rules: Rules) -> float:
    """Return the default for jobs without a value; the bounds apply only under the rules dirac.

    DIRAC (JobManifest.check) also computes the bounded value of a job's own value, but does not use it.
    """
    return max(minimum, min(default, maximum)) if rules.bounded_defaults else default


def read_needs(jobs: Mapping[str, Column], job_priority: Column, defaults: JobDefaults) -> Needs:
    """Return the needs of *jobs*.

    Args:
        jobs: plain values by the lower-case names of `ATTRIBUTES`; the code -1 is for jobs without the attribute.
            Attributes that no job has are left out.
        job_priority: HTCondor's JobPrio of each job.
        defaults: the rules and defaults.
    """
    reader = _JobReader({**jobs, _JOB_PRIORITY: job_priority}, len(job_priority))
    given_lists = {name: reader.read(partial(given_names, name=name), _list_attributes(name), ()) for name in LISTS}
    cpu_time = reader.read(partial(_cpu_time, defaults=defaults), ("cputime",), 0)
    ram = reader.read(_ram, _RAM, (0, 0))
    lists = {
        name: reader.mapped(partial(normal_names, LISTS[name], rules=defaults.rules), given_lists[name], ())
        for name in Requirements._fields
        if name in LISTS
    }
    return Needs(
        lists,
        cpu_time,
        ram.mapped(lambda bounds: bounds[0]),
        ram.mapped(lambda bounds: bounds[1]),
        _priorities_of(reader, defaults),
    )


def read_priorities(jobs: Mapping[str, Column], job_priority: Column, defaults: JobDefaults) -> Priorities:
    """Return the priorities of *jobs*; the arguments are those of `read_needs`."""
    return _priorities_of(_JobReader({**jobs, _JOB_PRIORITY: job_priority}, len(job_priority)), defaults)


class _JobReader:
    """Reads each distinct combination of attributes once, and records the first error of each job.

    Attributes:
        refused: over the jobs: the index of the error in *refusals*, which has each text once; -1: none.
    """

    def __init__(self, jobs: Mapping[str, Column], size: int) -> None:
        self._jobs = jobs
        self.refused: Integers = np.full(size, -1)
        self.refusals: list[JobRequirementError] = []
        self._index_of_text: dict[str, int] = {}

    def read(self, read: Callable[[Mapping[str, Any]], Any], names: Collection[str], refused: Any) -> Column:
        """Return the result of *read* for the attributes *names* of each job; *refused* where it raises an error."""
        return self.mapped(read, Column(*combinations_of(self._jobs, names, len(self.refused))), refused)

    def mapped(self, read: Callable[[Any], Any], column: Column, refused: Any) -> Column:
        """Return the result of *read* for the values of *column*; *refused* where it raises an error."""
        results, errors = [], np.full(len(column.values), -1)
        for index, value in enumerate(column.values):
            try:
                results.append(read(value))
            except JobRequirementError as error:
                results.append(refused)
                errors[index] = self._index_of_text.setdefault(str(error), len(self.refusals))
                if errors[index] == len(self.refusals):
                    self.refusals.append(error)
        error_of_job = errors[column.codes]
        self.refused = np.where(self.refused < 0, error_of_job, self.refused)
        return Column.of(results).take(column.codes)


def combinations_of(
    jobs: Mapping[str, Column], names: Iterable[str], size: int
) -> tuple[Integers, list[dict[str, Any]]]:
    """Return for each of *size* jobs the index of its combination of the attributes *names*, and the combinations."""
    columns = {name: jobs[name] for name in names if name in jobs}
    first_rows, combination_of_job = distinct_rows(columns.values(), size)
    combinations: list[dict[str, Any]] = [{} for _ in range(len(first_rows))]
    for name, column in columns.items():
        for combination, code in zip(combinations, column.codes[first_rows].tolist(), strict=True):
            if code >= 0:
                combination[name] = column.values[code]
    return combination_of_job, combinations


def _list_attributes(name: str) -> tuple[str, ...]:
    return (*_attribute_names(name), *_TAGGED) if name == "tags" else _attribute_names(name)


def given_names(job: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the names in a list of a job as given, with the tags of its requests."""
    value = next((job[word] for word in _attribute_names(name) if job.get(word) is not None), "")
    names: Iterable[str]
    if isinstance(value, str):
        names = [item.strip().strip("'\"") for item in value.strip().strip("{}[]").split(",")] if value else []
    elif isinstance(value, list | tuple):
        names = list(map(str, value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        names = [str(value)]
    else:
        raise JobRequirementError(JobRequirement.NOT_NAMES, what=LISTS[name], value=value)
    if name in ANYWHERE and any(item.strip().lower() == "any" for item in names):
        return ()
    return (*names, *_requested_tags(job)) if name == "tags" else tuple(names)


def normal_names(label: str, raw_names: Collection[str], rules: Rules) -> tuple[str, ...]:
    """Return the *raw_names* of the list *label*, stripped, sorted and unique.

    Raises JobRequirementError, only under the rules dirac, for a list of only blanks.
    """
    normal = tuple(sorted({name.strip() for name in raw_names} - {""}))
    if raw_names and not normal and rules.blank_lists == "error":
        raise JobRequirementError(JobRequirement.BLANK, what=label, value=list(raw_names))
    return normal


def _requested_tags(job: Mapping[str, Any]) -> list[str]:
    cpus, gpus = job.get("requestcpus"), job.get("requestgpus")
    tags = processor_tags(cpus if isinstance(cpus, int) else 1, job.get("wholenode") is True)
    return [*tags, GPU] if isinstance(gpus, int | float) and gpus > 0 else tags


def processor_tags(processors: int, whole_node: bool = False) -> list[str]:
    """Return the tags of a job for the processors that it requests."""
    count_tags = [f"{processors}Processors"] if processors > 1 else []
    node_tags = ["WholeNode"] if whole_node else []
    return [*count_tags, "MultiProcessor", *node_tags] if count_tags or node_tags else []


def _cpu_time(job: Mapping[str, Any], defaults: JobDefaults) -> int:
    return bucket(whole_number("CPUTime", job.get("cputime"), defaults.cpu_time), defaults.segments)


def whole_number(label: str, value: Any, default: int) -> int:
    """Return the number, at least 0, that a job gives for *label*; *default* if it gives none (None).

    Raises JobRequirementError for an invalid number; decimals are truncated.
    """
    if value is None:
        return default
    try:
        if isinstance(value, bool):
            raise ValueError
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0:
        raise JobRequirementError(JobRequirement.NOT_WHOLE, what=label, value=value)
    return number


def _ram(job: Mapping[str, Any]) -> tuple[int, int]:
    """Return MinRAM and MaxRAM in MB; without MinRAM, the requested memory counts."""
    minimum, requested = whole_number("MinRAM", job.get("minram"), 0), job.get("requestmemory")
    maximum = whole_number("MaxRAM", job.get("maxram"), 0)
    if "minram" not in job and isinstance(requested, int | float) and not isinstance(requested, bool):
        minimum = int(requested) if 0 < requested < math.inf else 0
        minimum = min(minimum, maximum) if maximum else minimum
    if minimum > maximum > 0:
        raise JobRequirementError(JobRequirement.RAM_ABOVE_MAXIMUM, what="MinRAM", value=minimum, maximum=maximum)
    return minimum, maximum


def _priorities_of(reader: _JobReader, defaults: JobDefaults) -> Priorities:
    """Return the priorities of all jobs. They are read last: of several errors of a job, the first one counts."""
    pairs = reader.read(partial(_priorities, defaults=defaults), (_JOB_PRIORITY, *PRIORITY), (0, 0.0))
    return Priorities(
        pairs.mapped(lambda pair: pair[0]),
        np.array([real for _, real in pairs.values], float)[pairs.codes],
        Column(reader.refused, reader.refusals),
    )


def _priorities(job: Mapping[str, Any], defaults: JobDefaults) -> tuple[float, float]:
    """Return the UserPriority and the real priority; without UserPriority, a job priority other than 0 counts."""
    rules, user_priority, job_priority = defaults.rules, job.get("userpriority"), job[_JOB_PRIORITY]
    if user_priority is None and job_priority:
        # HTCondor's job priority has no bounds, DIRAC's has.
        priority = max(0, job_priority if rules.user_priority_weight == "as_given" else min(10, job_priority))
    else:
        priority = inserted_priority(read_priority(user_priority, defaults.user_priority, rules), rules)
    stated_weight = job.get("realpriority")
    if isinstance(stated_weight, int | float) and not isinstance(stated_weight, bool) and stated_weight > 0:
        return priority, float(stated_weight)
    return priority, in_sum(priority, rules)
