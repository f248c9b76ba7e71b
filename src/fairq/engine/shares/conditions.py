"""Single conditions of a pilot on task queues (DIRAC TaskQueueDB.__generateTQMatchSQL; docs/dirac.md 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from fairq.engine.shares.model import Requirements

SETS: Mapping[str, Callable[[Requirements], tuple[str, ...]]] = {
    "Site": lambda queue: queue.sites,
    "GridCE": lambda queue: queue.grid_ces,
    "Platform": lambda queue: queue.platforms,
    "JobType": lambda queue: queue.job_types,
    "Tag": lambda queue: queue.tags,
}
"""Properties of a pilot, and the lists of queues compared with them."""

SINGLE: Mapping[str, Callable[[Requirements], Any]] = {
    "Owner": lambda queue: queue.owner,
    "OwnerGroup": lambda queue: queue.group,
    "CPUTime": lambda queue: queue.cpu_time,
}


class Terms(NamedTuple):
    """What one side says: *values*, or with *banned* none of them; of owners those in one of *groups*."""

    values: tuple[str, ...]
    groups: tuple[str, ...] = ()
    banned: bool = False


class Condition(Struct, frozen=True):
    """One condition.

    Attributes:
        key: the property of the pilot: CPUTime, Owner, Site, BannedSites, Tag, ...
        offered: its value for the pilot.
        wanted: returns the requirement of the queue.
        holds: returns whether a queue meets it.
    """

    key: str
    offered: Terms
    wanted: Callable[[Requirements], Terms]
    holds: Callable[[Requirements], bool]


def values(given: Any) -> list[str]:
    """Return one value or a list of values as texts."""
    listed = given if isinstance(given, list | tuple | set | frozenset) else [given]
    return [str(value).strip() for value in listed]


def is_any(offered: Iterable[str]) -> bool:
    """Tell whether one of the values is the word "any", whatever its case and punctuation."""
    return any("".join(sign for sign in value if sign.isalnum()).lower() == "any" for value in offered)


def terms(listed: Iterable[Any]) -> Terms:
    """Return the values as what one side says."""
    return Terms(tuple(map(str, listed)))


def cpu_time(given: Any) -> Condition:
    """The queue's CPU time fits into the pilot's (HS06 seconds)."""
    most = max(float(value) for value in values(given))
    return Condition(
        "CPUTime", terms([f"{most:g}"]), lambda queue: terms([queue.cpu_time]), lambda queue: queue.cpu_time <= most
    )


def one_of(key: str, given: Any) -> Condition:
    """The queue's single value is one of those given."""
    read, allowed = SINGLE[key], set(values(given))
    return Condition(
        key, terms(sorted(allowed)), lambda queue: terms([read(queue)]), lambda queue: read(queue) in allowed
    )


def listed(key: str, offered: list[str]) -> Condition:
    """The queue has no list, or lists a value that the pilot has."""
    read, has = SETS[key], frozenset(offered)
    return Condition(
        key,
        terms(offered),
        lambda queue: terms(read(queue)),
        lambda queue: not read(queue) or not has.isdisjoint(read(queue)),
    )


def not_banned_by_queue(offered: list[str]) -> Condition:
    """The queue does not ban the site (at least one, if there are several)."""
    has = frozenset(offered)
    return Condition(
        "BannedSites",
        terms(offered),
        lambda queue: Terms(queue.banned_sites, banned=True),
        lambda queue: not has <= set(queue.banned_sites),
    )


def not_banned_by_pilot(key: str, banned: list[str]) -> Condition:
    """The queue does not list all the sites that the pilot bans."""
    read, bans = SETS[key], frozenset(banned)
    return Condition(
        f"Banned{key}",
        terms(banned),
        lambda queue: terms(read(queue)),
        lambda queue: not bans <= set(read(queue)),
    )


def tags(offered: list[str]) -> Condition:
    """The pilot has all the tags that the queue requires."""
    has = frozenset(offered)
    return Condition(
        "Tag", terms(sorted(has - {""})), lambda queue: terms(queue.tags), lambda queue: has.issuperset(queue.tags)
    )


def required_tags(required: list[str]) -> Condition:
    """The queue requires all the required tags of the pilot."""
    needs = frozenset(required)
    return Condition(
        "RequiredTag", terms(sorted(needs)), lambda queue: terms(queue.tags), lambda queue: needs <= set(queue.tags)
    )


def max_ram(given: Any) -> Condition:
    """The pilot has at least the RAM (MB) that the queue requires."""
    has = max(float(value) for value in values(given))
    return Condition(
        "MaxRAM", terms([f"{has:g}"]), lambda queue: terms([queue.min_ram]), lambda queue: has >= queue.min_ram
    )
