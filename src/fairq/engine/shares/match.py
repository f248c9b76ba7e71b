"""The task queues that match a pilot, and the reasons of the others (DIRAC TaskQueueDB.__generateTQMatchSQL;
docs/dirac.md 5.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Mask
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.limits import Negative, excluded
from fairq.engine.shares.pilot import SETS, SINGLE, each, values
from fairq.engine.shares.queues import Requirements, RequirementTable
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import PilotDescription, PilotDescriptionError

LIMITS = "limits"
"""The key of a refusal by the limits of the site."""


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


class Refusal(NamedTuple):
    """One reason why a queue is not offered: property, requirement of the queue, offer of the pilot."""

    key: str
    wanted: Terms
    offered: Terms


class Matcher:
    """Compares the conditions of one pilot with task queues."""

    def __init__(
        self,
        conditions: Mapping[str, Any],
        groups: Mapping[str, OwnerGroup],
        rules: Rules,
        negative: Negative | None = None,
    ) -> None:
        """*conditions* come from `pilot`, *negative* from `limits`.

        Raises PilotDescriptionError if CPUTime is missing or not a number (under dirac: not an integer), if a name is
        not a text, if a list of owners (unless all groups share their jobs) or groups is empty, if MaxRAM is not one
        number, or if a required tag is not offered; DiracStopsError like `limits.excluded`.
        """
        _check_types(conditions, groups, rules)
        self._escapes: list[Condition] = []
        self._conditions = [*self._owners(conditions, groups, rules), *_resources(conditions, rules)]
        self._negative = negative or {}
        self._excluded = excluded(self._negative, rules)

    def _owners(self, conditions: Mapping[str, Any], groups: Mapping[str, OwnerGroup], rules: Rules) -> list[Condition]:
        if "Owner" not in conditions or "OwnerGroup" not in conditions:
            named = {key: set(values(conditions[key])) for key in ("OwnerGroup", "Owner") if key in conditions}
            return [
                _on_field(key, SINGLE[key], sorted(allowed), allowed.__contains__) for key, allowed in named.items()
            ]
        owners = frozenset(values(conditions["Owner"]))
        of_groups = values(conditions["OwnerGroup"])
        sharing = _sharing(of_groups, groups)
        is_bypassed = rules.owner_bypasses_requirements

        if is_bypassed and len(owners) > 1 and not sharing.issuperset(of_groups):
            raise PilotDescriptionError(PilotDescription.SEVERAL_OWNERS, what="Owner")

        def among(allowed: Sequence[str]) -> Condition:
            return Condition(
                "Owner",
                Terms(tuple(sorted(owners)), tuple(allowed)),
                lambda queue: Terms((queue.owner,), (queue.group,)),
                lambda table: (
                    table.group.where(allowed.__contains__)
                    & (table.group.where(sharing.__contains__) | table.owner.where(owners.__contains__))
                ),
            )

        if is_bypassed and len(of_groups) > 1:
            self._escapes = [among(of_groups[:-1])]
            return [among(of_groups[-1:])]
        return [among(of_groups)]

    def matching(self, queues: RequirementTable) -> list[int]:
        """Return the places of the matching *queues*."""
        offered = ~self._excluded(queues)
        for condition in self._conditions:
            offered &= condition.holds(queues)
        for escape in self._escapes:
            offered |= escape.holds(queues)
        places: list[int] = np.flatnonzero(offered).tolist()
        return places

    def refusals(self, queue: Requirements) -> list[Refusal]:
        """Return every reason why *queue* is not offered; empty if it is offered."""
        table = RequirementTable.of([queue])
        if any(condition.holds(table).all() for condition in self._escapes):
            return []
        found = [
            Refusal(condition.key, condition.wanted(queue), condition.offered)
            for condition in self._conditions
            if not condition.holds(table).all()
        ]
        if self._excluded(table).all():
            found.append(Refusal(LIMITS, _terms([queue.group]), _terms(self._negative)))
        return found


def _terms(listed: Iterable[Any]) -> Terms:
    return Terms(tuple(map(str, listed)))


def _on_field(key: str, field: str, offered: Iterable[Any], test: Callable[[Any], bool]) -> Condition:
    """Return the condition that a *field* of the requirements passes *test*."""
    return Condition(
        key,
        _terms(offered),
        lambda queue: _terms(each(getattr(queue, field))),
        lambda table: getattr(table, field).where(test),
    )


def _resources(conditions: Mapping[str, Any], rules: Rules) -> list[Condition]:
    found = [_cpu_time(conditions["CPUTime"])]
    for key in SETS:
        offered = values(conditions[key]) if conditions.get(key) else []
        if key != "Tag" and offered not in ([], [""]) and not _is_any(offered):
            found.append(_listed(key, offered))
            if key == "Site":
                found.append(_not_banned_by_queue(offered))
    found += _tags(conditions, rules)
    for key in SETS:
        banned = values(conditions[f"Banned{key}"]) if conditions.get(f"Banned{key}") else []
        if banned and not _is_any(banned):
            found.append(_not_banned_by_pilot(key, banned))
    if "MaxRAM" in conditions:
        found.append(_max_ram(conditions["MaxRAM"]))
    return found


def _is_any(offered: Iterable[str]) -> bool:
    """Return whether one of the values is the word "any", whatever its case and punctuation."""
    return any("".join(sign for sign in value if sign.isalnum()).lower() == "any" for value in offered)


def _cpu_time(given: Any) -> Condition:
    """The queue's CPU time fits into the pilot's (HS06 seconds)."""
    most = max(map(float, each(given)))
    return _on_field("CPUTime", "cpu_time", [f"{most:.15g}"], lambda needed: bool(needed <= most))


def _listed(key: str, offered: list[str]) -> Condition:
    """The queue has no list, or lists a value that the pilot has."""
    has = frozenset(offered)
    return _on_field(key, SETS[key], offered, lambda names: not names or not has.isdisjoint(names))


def _not_banned_by_queue(offered: list[str]) -> Condition:
    """The queue does not ban the site (at least one, if there are several)."""
    has = frozenset(offered)
    return Condition(
        "BannedSites",
        _terms(offered),
        lambda queue: Terms(queue.banned_sites, banned=True),
        lambda table: ~table.banned_sites.where(has.issubset),
    )


def _not_banned_by_pilot(key: str, banned: list[str]) -> Condition:
    """The queue does not list all the sites that the pilot bans."""
    bans = frozenset(banned)
    return _on_field(f"Banned{key}", SETS[key], banned, lambda names: not bans.issubset(names))


def _tags(conditions: Mapping[str, Any], rules: Rules) -> list[Condition]:
    """The pilot has all the tags that the queue requires, and the queue requires all the required tags of the pilot."""
    offered = values(conditions["Tag"]) if "Tag" in conditions else []
    # DIRAC takes a blank for a tag, which no queue has.
    blank_counts = rules.blank_lists == "error"
    required = frozenset(tag for tag in values(conditions.get("RequiredTag", [])) if tag or blank_counts)
    has = frozenset(offered)
    found = []
    # A pilot that says neither takes queues without tags alone.
    if ("Tag" in conditions or "RequiredTag" not in conditions) and not _is_any(offered):
        found.append(_on_field("Tag", "tags", sorted(has - {""}), has.issuperset))
    if required and not _is_any(required):
        if not required <= has:
            missing = ", ".join(sorted(required - has))
            raise PilotDescriptionError(PilotDescription.TAGS_NOT_OFFERED, what="RequiredTag", tags=missing)
        found.append(_on_field("RequiredTag", "tags", sorted(required), required.issubset))
    return found


def _max_ram(given: Any) -> Condition:
    """The pilot has at least the RAM (MB) that the queue requires."""
    (has,) = map(float, each(given))
    return Condition(
        "MaxRAM",
        _terms([f"{has:.15g}"]),
        lambda queue: _terms([queue.min_ram]),
        # A queue without RAM asks for nothing, not for 0 MB.
        lambda table: (
            table.min_ram.where(lambda least: least <= has)
            | (table.min_ram.where(lambda least: least == 0) & table.max_ram.where(lambda most: most == 0))
        ),
    )


def _check_types(conditions: Mapping[str, Any], groups: Mapping[str, OwnerGroup], rules: Rules) -> None:
    if "CPUTime" not in conditions:
        raise PilotDescriptionError(PilotDescription.NO_CPU_TIME, what="CPUTime")
    named = values(conditions.get("OwnerGroup", []))
    # In groups with job sharing nobody asks for the owner.
    needless = ("Owner",) if named and _sharing(named, groups).issuperset(named) else ()
    texts = ["Owner", "OwnerGroup", *(f"{prefix}{key}" for prefix in ("", "Banned", "Required") for key in SETS)]
    is_amount = _is_whole if rules.whole_numbers else _is_number
    for key, fits, unfit in (
        ("CPUTime", is_amount, PilotDescription.CPU_TIME),
        ("MaxRAM", is_amount, PilotDescription.RAM),
        *((text, _is_text, PilotDescription.NAMES) for text in texts),
    ):
        given = conditions.get(key, [])
        if key in conditions and key in SINGLE and not values(given) and key not in needless:
            empty = PilotDescription.EMPTY_CPU_TIME if key == "CPUTime" else PilotDescription.EMPTY_NAMES
            raise PilotDescriptionError(empty, what=key)
        for value in each(given):
            if not fits(value):
                raise PilotDescriptionError(unfit, what=key, value=value)
    if "MaxRAM" in conditions and len(each(conditions["MaxRAM"])) != 1:
        # DIRAC compares it as one value, and its query fails with any other number of them.
        raise PilotDescriptionError(PilotDescription.SEVERAL_RAM, what="MaxRAM", value=conditions["MaxRAM"])


def _sharing(named: Iterable[str], groups: Mapping[str, OwnerGroup]) -> set[str]:
    """Return those of the groups that share their jobs."""
    return {name for name in named if name in groups and groups[name].job_sharing}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _is_whole(value: object) -> bool:
    return isinstance(value, int)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
