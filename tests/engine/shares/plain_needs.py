"""What one job needs, read from its attributes one after the other: what `needs.read_needs` must find for many jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from fairq.engine.shares.columns import Column
from fairq.engine.shares.needs import JobDefaults, bucket, read_needs
from fairq.engine.shares.queues import Requirements
from fairq.engine.shares.user_priority import in_sum, inserted_priority, read_priority
from fairq.errors.shares import JobRequirement, JobRequirementError

LISTS = {
    "grid_ces": "GridCEs", "platforms": "Platforms", "job_types": "JobTypes", "tags": "Tags", "sites": "Sites",
    "banned_sites": "BannedSites",
}  # fmt: skip


class JobNeeds(NamedTuple):
    """The requirements of a job without owner and group, its UserPriority, and its part of the sum of its queue."""

    requirements: Requirements
    user_priority: float
    real_priority: float


def needs_of(job: Mapping[str, Any], job_priority: int, defaults: JobDefaults) -> JobNeeds:
    """Return the needs of one job as the engine reads them; raises JobRequirementError."""
    first_row, empty = Column.of([0]).codes, Column.of([""])
    columns = {name: Column(first_row, [value]) for name, value in job.items()}
    needs = read_needs(columns, Column(first_row, [job_priority]), defaults)
    for error in needs.priorities.refusal.values:
        raise error
    requirements = needs.requirements(empty, empty).row(0)
    priorities = needs.priorities
    return JobNeeds(requirements, priorities.user.tolist()[0], float(priorities.real[0]))


def plain_needs(job: Mapping[str, Any], job_priority: int, defaults: JobDefaults) -> JobNeeds:
    """Return the needs of one job; raises JobRequirementError for its first invalid value."""
    rules = defaults.rules
    order = ("sites", "banned_sites", "platforms", "job_types", "grid_ces", "tags")
    given = {name: _names(job, name, LISTS[name]) for name in order}
    cpu_time = bucket(_whole("CPUTime", job.get("cputime"), defaults.cpu_time), defaults.segments)
    min_ram, max_ram = _least_ram(job), _whole("MaxRAM", job.get("maxram"), 0)
    if min_ram > max_ram > 0:
        raise JobRequirementError(JobRequirement.RAM_ABOVE_MAXIMUM, what="MinRAM", value=min_ram, maximum=max_ram)
    lists = {}
    for name, label in LISTS.items():
        lists[name] = tuple(sorted({value.strip() for value in given[name]} - {""}))
        if given[name] and not lists[name] and rules.blank_lists == "error":
            raise JobRequirementError(JobRequirement.BLANK, what=label, value=given[name])
    requirements = Requirements("", "", cpu_time, min_ram=min_ram, max_ram=max_ram, **lists)

    if job.get("userpriority") is None and job_priority:
        priority: float = max(0, job_priority if rules.user_priority_weight == "as_given" else min(10, job_priority))
    else:
        priority = inserted_priority(read_priority(job.get("userpriority"), defaults.user_priority, rules), rules)
    real = job.get("realpriority")
    is_own = isinstance(real, int | float) and not isinstance(real, bool) and real > 0
    return JobNeeds(requirements, priority, float(real) if is_own else in_sum(priority, rules))


def _names(job: Mapping[str, Any], name: str, label: str) -> list[str]:
    words = (label.lower(), label.lower()[:-1])
    given = next((job[word] for word in words if job.get(word) is not None), None)
    if given is None or given == "":
        names = []
    elif isinstance(given, str):
        names = [item.strip().strip("'\"") for item in given.strip().strip("{}[]").split(",")]
    elif isinstance(given, list | tuple):
        names = [str(item) for item in given]
    elif isinstance(given, int | float) and not isinstance(given, bool):
        names = [str(given)]
    else:
        raise JobRequirementError(JobRequirement.NOT_NAMES, what=label, value=given)
    if name in ("sites", "platforms", "grid_ces") and any(item.strip().lower() == "any" for item in names):
        return []
    return [*names, *_tags(job)] if name == "tags" else names


def _tags(job: Mapping[str, Any]) -> list[str]:
    cpus, gpus = job.get("requestcpus"), job.get("requestgpus")
    tags = [f"{cpus}Processors", "MultiProcessor"] if isinstance(cpus, int) and cpus > 1 else []
    if job.get("wholenode") is True:
        tags += ["WholeNode", "MultiProcessor"]
    return [*sorted(set(tags)), "GPU"] if isinstance(gpus, int | float) and gpus > 0 else sorted(set(tags))


def _whole(what: str, given: Any, default: int) -> int:
    if given is None:
        return default
    try:
        number = -1 if isinstance(given, bool) else int(given)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0:
        raise JobRequirementError(JobRequirement.NOT_WHOLE, what=what, value=given)
    return number


def _least_ram(job: Mapping[str, Any]) -> int:
    if "minram" in job:
        return _whole("MinRAM", job.get("minram"), 0)
    requested = job.get("requestmemory")
    is_number = isinstance(requested, int | float) and not isinstance(requested, bool) and 0 < requested < math.inf
    max_ram = _whole("MaxRAM", job.get("maxram"), 0)
    min_ram = int(requested) if is_number and requested else 0
    return min(min_ram, max_ram) if max_ram else min_ram
