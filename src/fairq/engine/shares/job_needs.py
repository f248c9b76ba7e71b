"""The requirements of a job, from its attributes (docs/dirac.md 1.1 and 2; DIRAC JobScheduling).

Attributes have the names of DIRAC's job descriptions, or are derived from HTCondor's requests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from fairq.engine.shares.cpu_time import bucket
from fairq.engine.shares.identity import check_ram, derived_tags, normal_names, requirements, whole_number
from fairq.engine.shares.model import Requirements
from fairq.engine.shares.rules import Rules
from fairq.engine.shares.user_priority import in_sum, inserted_priority, read_priority
from fairq.errors.shares import JobRequirement, JobRequirementError

_LISTS = {
    "sites": ("sites", "site"),
    "banned_sites": ("bannedsites", "bannedsite"),
    "platforms": ("platforms", "platform"),
    "job_types": ("jobtypes", "jobtype"),
    "grid_ces": ("gridces", "gridce"),
    "tags": ("tags", "tag"),
}
"""The attributes of each list, in lower case."""

_LABELS = {
    "sites": "Sites", "banned_sites": "BannedSites", "platforms": "Platforms", "job_types": "JobTypes",
    "grid_ces": "GridCEs", "tags": "Tags",
}  # fmt: skip

_TAGGED = ("requestcpus", "requestgpus", "wholenode")
"""The attributes that add tags."""

LIST_ATTRIBUTES = {name: (*words, *(_TAGGED if name == "tags" else ())) for name, words in _LISTS.items()}
"""The lower-case attributes that `read_list` reads, by list: the names are fields of `Requirements`."""

NAMING_ATTRIBUTES = frozenset(chain.from_iterable(_LISTS.values()))
"""Those of them that name what is in the list."""

RAM_ATTRIBUTES = ("minram", "maxram", "requestmemory")
"""The attributes that `read_ram` reads."""

PRIORITY_ATTRIBUTES = ("userpriority", "realpriority")
"""The attributes that `read_priorities` reads."""

CPU_TIME_ATTRIBUTE = "cputime"
"""The attribute that `read_cpu_time` reads."""

ANYWHERE = ("sites", "platforms", "grid_ces")
"""Lists in which ANY is no requirement."""

ATTRIBUTES = frozenset(
    (*chain.from_iterable(LIST_ATTRIBUTES.values()), CPU_TIME_ATTRIBUTE, *RAM_ATTRIBUTES, *PRIORITY_ATTRIBUTES)
)
"""Lower-case names of all attributes that are read."""

GPU = "GPU"
"""The tag of jobs that request GPUs."""


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


class JobNeeds(NamedTuple):
    """The requirements of a job, its UserPriority, and its part of the sum of its queue.

    Owner and group of *requirements* are empty: the attributes do not contain them.
    """

    requirements: Requirements
    user_priority: float
    real_priority: float
    is_own_real_priority: bool = False


def default_within(default: float, least: float, most: float, rules: Rules) -> float:
    """Return the value that a job without its own gets; the bounds count under the rules dirac only.

    DIRAC (JobManifest.check) computes them for a job's own value as well, but keeps that as it is.
    """
    return max(least, min(default, most)) if rules.bounded_defaults else default


def read_needs(job: Mapping[str, Any], job_priority: int, defaults: JobDefaults) -> JobNeeds:
    """Return the needs of a job.

    Args:
        job: plain values by the lower-case names of `ATTRIBUTES`.
        job_priority: HTCondor's JobPrio.
        defaults: the rules and defaults.

    Raises JobRequirementError for an invalid value.
    """
    lists = {name: _list(job, name) for name in _LISTS}
    needed = requirements(
        "",
        "",
        _cpu_time(job, defaults),
        defaults.rules,
        segments=defaults.segments,
        min_ram=_min_ram(job),
        max_ram=_max_ram(job),
        **lists,
    )
    return JobNeeds(needed, *read_priorities(job, job_priority, defaults))


def read_list(job: Mapping[str, Any], name: str, defaults: JobDefaults) -> tuple[str, ...]:
    """Return the list *name* of a job's requirements, as `read_needs` does; raises JobRequirementError."""
    return normal_names(_LABELS[name], _list(job, name), defaults.rules)


def read_cpu_time(job: Mapping[str, Any], defaults: JobDefaults) -> int:
    """Return the CPU time of a job's requirements, as `read_needs` does; raises JobRequirementError."""
    return bucket(_cpu_time(job, defaults), defaults.segments)


def read_ram(job: Mapping[str, Any]) -> tuple[int, int]:
    """Return MinRAM and MaxRAM of a job's requirements, as `read_needs` does; raises JobRequirementError."""
    least, most = _min_ram(job), _max_ram(job)
    check_ram(least, most)
    return least, most


def read_priorities(job: Mapping[str, Any], job_priority: int, defaults: JobDefaults) -> tuple[float, float, bool]:
    """Return the last three fields of `JobNeeds`; raises JobRequirementError."""
    priority = _user_priority(job, job_priority, defaults)
    real = job.get("realpriority")
    if isinstance(real, int | float) and not isinstance(real, bool) and real > 0:
        return priority, float(real), True
    return priority, in_sum(priority, defaults.rules), False


def _cpu_time(job: Mapping[str, Any], defaults: JobDefaults) -> int:
    return whole_number("CPUTime", job.get("cputime"), defaults.cpu_time)


def _user_priority(job: Mapping[str, Any], job_priority: int, defaults: JobDefaults) -> float:
    """UserPriority if given, otherwise the job priority if it is not 0."""
    rules, given = defaults.rules, job.get("userpriority")
    if given is None and job_priority:
        # HTCondor's has no bounds, which DIRAC's has.
        return max(0, job_priority if rules.user_priority_weight == "as_given" else min(10, job_priority))
    return inserted_priority(read_priority(given, defaults.user_priority, rules), rules)


def _derived_tags(job: Mapping[str, Any]) -> list[str]:
    cpus, gpus = job.get("requestcpus"), job.get("requestgpus")
    count = cpus if isinstance(cpus, int) else 1
    tags = list(derived_tags(count, count, job.get("wholenode") is True))
    return [*tags, GPU] if isinstance(gpus, int | float) and gpus > 0 else tags


def _max_ram(job: Mapping[str, Any]) -> int:
    return whole_number("MaxRAM", job.get("maxram"), 0)


def _min_ram(job: Mapping[str, Any]) -> int:
    """MinRAM if given, otherwise the requested memory, in MB."""
    if "minram" in job:
        return whole_number("MinRAM", job.get("minram"), 0)
    requested = job.get("requestmemory")
    is_number = isinstance(requested, int | float) and not isinstance(requested, bool) and 0 < requested < math.inf
    most = _max_ram(job)
    least = int(requested) if is_number and requested else 0
    return min(least, most) if most else least


def _list(job: Mapping[str, Any], name: str) -> list[str]:
    items = _given_list(job, name)
    return [*items, *_derived_tags(job)] if name == "tags" else items


def _given_list(job: Mapping[str, Any], name: str) -> list[str]:
    given = next((job[word] for word in _LISTS[name] if job.get(word) is not None), None)
    if given is None or given == "":
        return []
    if isinstance(given, str):
        items = list(map(bare_name, split_names(given)))
    elif isinstance(given, list | tuple):
        items = [str(item) for item in given]
    elif isinstance(given, int | float) and not isinstance(given, bool):
        items = [str(given)]
    else:
        raise JobRequirementError(JobRequirement.NOT_NAMES, what=_LABELS[name], value=given)
    if name in ANYWHERE and any(item.strip().lower() == "any" for item in items):
        return []
    return items


def split_names(given: str) -> list[str]:
    """Return the names in a text, as they are written."""
    return [] if given == "" else given.strip().strip("{}[]").split(",")


def bare_name(item: str) -> str:
    """Return one of `split_names` without quotation marks around it."""
    return item.strip().strip("'\"")
