"""What a job of fairq's queue asks for, in DIRAC's words, read off its ad.

Owner and OwnerGroup are those of the accounting group; the rest are attributes named as in DIRAC's job
descriptions, or follow from what is requested (docs/dirac.md 1.1 and 2; DIRAC JobScheduling).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from fairq.engine.accounting.identity import ROOT_GROUP
from fairq.engine.shares.identity import derived_tags, requirements, whole_number
from fairq.engine.shares.model import Requirements
from fairq.engine.shares.user_priority import inserted_priority, read_priority
from fairq.errors.base import ExpressionError
from fairq.errors.shares import JobRequirementError
from fairq.records import Ad
from fairq.steps.taskqueues.policy import SharePolicy

_LISTS = {
    "sites": ("sites", "site"),
    "banned_sites": ("bannedsites", "bannedsite"),
    "platforms": ("platforms", "platform"),
    "job_types": ("jobtypes", "jobtype"),
    "grid_ces": ("gridces", "gridce"),
    "tags": ("tags", "tag"),
}
"""The attributes, in lower case, that hold each list."""

_LABELS = {
    "sites": "Sites", "banned_sites": "BannedSites", "platforms": "Platforms", "job_types": "JobTypes",
    "grid_ces": "GridCEs", "tags": "Tags",
}  # fmt: skip

_ANYWHERE = ("sites", "platforms", "grid_ces")
"""Lists in which ANY is no requirement."""

IDENTITY = ("acctgroup", "acctgroupuser", "accountinggroup")
"""The attributes, in lower case, that say who the job is for."""

ATTRIBUTES = frozenset(
    (
        *(name for spellings in _LISTS.values() for name in spellings),
        *IDENTITY,
        *("cputime", "minram", "maxram", "userpriority", "realpriority", "wholenode"),
        *("requestcpus", "requestmemory", "requestgpus"),
    )
)
"""Lower-case names of all attributes that are read."""

GPU = "GPU"
"""The tag of jobs that request GPUs."""


class Needs(NamedTuple):
    """What a job asks for, its UserPriority, and its real priority if it has one of its own.

    It says nothing of who the job is for: owner and group are empty.
    """

    requirements: Requirements
    user_priority: float
    real_priority: float | None = None


def relevant(ad: Ad) -> dict[str, Any]:
    """Return what of *ad* is read, by lower-case name."""
    return {lower: value for name, value in ad.items() if (lower := _read_as(name))}


@cache
def _read_as(name: str) -> str:
    """Return the lower-case name of an attribute that is read, else nothing."""
    lower = name.lower()
    return lower if lower in ATTRIBUTES else ""


def identity_of(ad: Mapping[str, Any], owner: str) -> tuple[str, str]:
    """Return Owner and OwnerGroup of a job; *ad* as `relevant` returns it, *owner* who submitted it."""
    group, user = _text(ad.get("acctgroup")), _text(ad.get("acctgroupuser"))
    whole = _text(ad.get("accountinggroup"))
    if not group and whole and whole != user:
        group, _, last = whole.rpartition(".")
        user = user or last
    return user or owner, group or ROOT_GROUP


def needs_of(ad: Mapping[str, Any], job_priority: int, policy: SharePolicy) -> Needs:
    """Return what a job asks for, whoever it is for; *ad* as `relevant` returns it.

    Raises JobRequirementError for an attribute that cannot be meant.
    """
    lists = {name: _list(ad, name) for name in _LISTS}
    lists["tags"] = [*lists["tags"], *_derived(ad)]
    needed = requirements(
        "",
        "",
        _whole(ad, "cputime", "CPUTime", policy.default_cpu_time),
        policy.rules,
        segments=policy.segments,
        min_ram=_ram(ad),
        max_ram=_whole(ad, "maxram", "MaxRAM", 0),
        **lists,
    )
    real = ad.get("realpriority")
    is_real = isinstance(real, int | float) and not isinstance(real, bool) and real > 0
    return Needs(needed, _user_priority(ad, job_priority, policy), float(real) if is_real and real else None)


def _user_priority(ad: Mapping[str, Any], job_priority: int, policy: SharePolicy) -> float:
    """UserPriority if it is given, else the job's own priority if that is not 0."""
    given = plain_value(ad.get("userpriority"))
    if given is None and job_priority:
        # HTCondor's has no bounds, which DIRAC's has.
        return max(0, job_priority if policy.rules.user_priority_weight == "as_given" else min(10, job_priority))
    return inserted_priority(read_priority(given, policy.default_priority, policy.rules), policy.rules)


def _derived(ad: Mapping[str, Any]) -> list[str]:
    cpus = plain_value(ad.get("requestcpus"))
    count = cpus if isinstance(cpus, int) else 1
    tags = list(derived_tags(count, count, ad.get("wholenode") is True))
    gpus = plain_value(ad.get("requestgpus"))
    return [*tags, GPU] if isinstance(gpus, int | float) and gpus > 0 else tags


def _ram(ad: Mapping[str, Any]) -> int:
    """MinRAM if it is given, else what is requested of memory, in MB."""
    if "minram" in ad:
        return _whole(ad, "minram", "MinRAM", 0)
    requested = plain_value(ad.get("requestmemory"))
    is_number = isinstance(requested, int | float) and not isinstance(requested, bool) and 0 < requested < math.inf
    most = _whole(ad, "maxram", "MaxRAM", 0)
    least = int(requested) if is_number else 0
    return min(least, most) if most else least


def _whole(ad: Mapping[str, Any], name: str, label: str, default: int) -> int:
    return whole_number(label, plain_value(ad.get(name)), default)


def _list(ad: Mapping[str, Any], name: str) -> list[str]:
    given = None
    for word in _LISTS[name]:
        if given is None and word in ad:
            given = plain_value(ad[word])
    if given is None or given == "":
        return []
    if isinstance(given, str):
        items = [item.strip().strip("'\"") for item in given.strip().strip("{}[]").split(",")]
    elif isinstance(given, list | tuple):
        items = [str(item) for item in given]
    elif isinstance(given, int | float) and not isinstance(given, bool):
        items = [str(given)]
    else:
        raise JobRequirementError(
            what=_LABELS[name], value=given, problem="no list of names", cure='give them as "A, B" or { "A", "B" }'
        )
    if name in _ANYWHERE and any(item.strip().lower() == "any" for item in items):
        return []
    return items


def _text(value: Any) -> str:
    return value if isinstance(value, str) and not value.startswith("/Expr(") else ""


def plain_value(value: Any) -> Any:
    """Return a plain value: an expression is evaluated by itself, None if it has no value."""
    if not isinstance(value, str) or not value.startswith("/Expr("):
        return value
    from fairq.engine.classad import ERROR, UNDEFINED, evaluate_alone, parse

    try:
        found = evaluate_alone(parse(value.removeprefix("/Expr(").removesuffix(")/")))
    except ExpressionError:
        return None
    return None if found is UNDEFINED or found is ERROR else found
