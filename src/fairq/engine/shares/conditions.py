"""Single conditions of a pilot on task queues (DIRAC TaskQueueDB.__generateTQMatchSQL; docs/dirac.md 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from fairq.engine.shares.columns import Mask
from fairq.engine.shares.queues import Requirements, RequirementTable

SETS: Mapping[str, str] = {
    "Site": "sites",
    "GridCE": "grid_ces",
    "Platform": "platforms",
    "JobType": "job_types",
    "Tag": "tags",
}
"""Properties of a pilot, and the fields of `Requirements` compared with them: lists."""

SINGLE: Mapping[str, str] = {"Owner": "owner", "OwnerGroup": "group", "CPUTime": "cpu_time"}
"""The same for fields with a single value."""


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
        holds: returns which queues meet it.
    """

    key: str
    offered: Terms
    wanted: Callable[[Requirements], Terms]
    holds: Callable[[RequirementTable], Mask]


def each(given: Any) -> Collection[Any]:
    """Return the values of a list, or one value as a list."""
    return given if isinstance(given, list | tuple | set | frozenset) else [given]


def values(given: Any) -> list[str]:
    """Return one value or a list of values as texts."""
    return [str(value).strip() for value in each(given)]


def is_any(offered: Iterable[str]) -> bool:
    """Tell whether one of the values is the word "any", whatever its case and punctuation."""
    return any("".join(sign for sign in value if sign.isalnum()).lower() == "any" for value in offered)


def terms(listed: Iterable[Any]) -> Terms:
    """Return the values as what one side says."""
    return Terms(tuple(map(str, listed)))


def cpu_time(given: Any) -> Condition:
    """The queue's CPU time fits into the pilot's (HS06 seconds)."""
    most = max(map(float, each(given)))
    return Condition(
        "CPUTime",
        terms([f"{most:.15g}"]),
        lambda queue: terms([queue.cpu_time]),
        lambda table: table.cpu_time.where(lambda needed: needed <= most),
    )


def one_of(key: str, given: Any) -> Condition:
    """The owner or group of the queue is one of those given."""
    field, allowed = SINGLE[key], set(values(given))
    return Condition(
        key,
        terms(sorted(allowed)),
        lambda queue: terms([getattr(queue, field)]),
        lambda table: getattr(table, field).where(allowed.__contains__),
    )


def listed(key: str, offered: list[str]) -> Condition:
    """The queue has no list, or lists a value that the pilot has."""
    field, has = SETS[key], frozenset(offered)
    return Condition(
        key,
        terms(offered),
        lambda queue: terms(getattr(queue, field)),
        lambda table: getattr(table, field).where(lambda names: not names or not has.isdisjoint(names)),
    )


def not_banned_by_queue(offered: list[str]) -> Condition:
    """The queue does not ban the site (at least one, if there are several)."""
    has = frozenset(offered)
    return Condition(
        "BannedSites",
        terms(offered),
        lambda queue: Terms(queue.banned_sites, banned=True),
        lambda table: ~table.banned_sites.where(has.issubset),
    )


def not_banned_by_pilot(key: str, banned: list[str]) -> Condition:
    """The queue does not list all the sites that the pilot bans."""
    field, bans = SETS[key], frozenset(banned)
    return Condition(
        f"Banned{key}",
        terms(banned),
        lambda queue: terms(getattr(queue, field)),
        lambda table: ~getattr(table, field).where(bans.issubset),
    )


def tags(offered: list[str]) -> Condition:
    """The pilot has all the tags that the queue requires."""
    has = frozenset(offered)
    return Condition(
        "Tag",
        terms(sorted(has - {""})),
        lambda queue: terms(queue.tags),
        lambda table: table.tags.where(has.issuperset),
    )


def required_tags(required: list[str]) -> Condition:
    """The queue requires all the required tags of the pilot."""
    needs = frozenset(required)
    return Condition(
        "RequiredTag",
        terms(sorted(needs)),
        lambda queue: terms(queue.tags),
        lambda table: table.tags.where(needs.issubset),
    )


def max_ram(given: Any) -> Condition:
    """The pilot has at least the RAM (MB) that the queue requires."""
    (has,) = map(float, each(given))
    return Condition(
        "MaxRAM",
        terms([f"{has:.15g}"]),
        lambda queue: terms([queue.min_ram]),
        # A queue without RAM asks for nothing, not for 0 MB.
        lambda table: (
            table.min_ram.where(lambda least: least <= has)
            | (table.min_ram.where(lambda least: least == 0) & table.max_ram.where(lambda most: most == 0))
        ),
    )
