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
    """The terms of one side: one of *values*, or with *banned* none of them; for owners also one of *groups*."""

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
        self._alternatives: list[Condition] = []
        self._conditions = [
            *self._owner_conditions(conditions, groups, rules),
            *_resource_conditions(conditions, rules),
        ]
        self._negative = negative or {}
        self._excluded = excluded(self._negative, rules)

    def _owner_conditions(
        self, conditions: Mapping[str, Any], groups: Mapping[str, OwnerGroup], rules: Rules
    ) -> list[Condition]:
        if "Owner" not in conditions or "OwnerGroup" not in conditions:
            allowed_by_key = {key: set(values(conditions[key])) for key in ("OwnerGroup", "Owner") if key in conditions}
            return [
                _on_field(key, SINGLE[key], sorted(allowed), allowed.__contains__)
                for key, allowed in allowed_by_key.items()
            ]
        owners = frozenset(values(conditions["Owner"]))
        group_names = values(conditions["OwnerGroup"])
        sharing_groups = _job_sharing_groups(group_names, groups)
        is_bypassed = rules.owner_bypasses_requirements

        if is_bypassed and len(owners) > 1 and not sharing_groups.issuperset(group_names):
            raise PilotDescriptionError(PilotDescription.SEVERAL_OWNERS, what="Owner")

        def owned_in(allowed: Sequence[str]) -> Condition:
            return Condition(
                "Owner",
                Terms(tuple(sorted(owners)), tuple(allowed)),
                lambda queue: Terms((queue.owner,), (queue.group,)),
                lambda table: (
                    table.group.where(allowed.__contains__)
                    & (table.group.where(sharing_groups.__contains__) | table.owner.where(owners.__contains__))
                ),
            )

        if is_bypassed and len(group_names) > 1:
            self._alternatives = [owned_in(group_names[:-1])]
            return [owned_in(group_names[-1:])]
        return [owned_in(group_names)]

    def matching(self, queues: RequirementTable) -> list[int]:
        """Return the indices of the matching *queues*."""
        is_offered = ~self._excluded(queues)
        for condition in self._conditions:
            is_offered &= condition.holds(queues)
        for alternative in self._alternatives:
            is_offered |= alternative.holds(queues)
        indices: list[int] = np.flatnonzero(is_offered).tolist()
        return indices

    def refusals(self, queue: Requirements) -> list[Refusal]:
        """Return every reason why *queue* is not offered; empty if it is offered."""
        table = RequirementTable.of([queue])
        if any(condition.holds(table).all() for condition in self._alternatives):
            return []
        refusals = [
            Refusal(condition.key, condition.wanted(queue), condition.offered)
            for condition in self._conditions
            if not condition.holds(table).all()
        ]
        if self._excluded(table).all():
            refusals.append(Refusal(LIMITS, _terms([queue.group]), _terms(self._negative)))
        return refusals


def _terms(texts: Iterable[Any]) -> Terms:
    return Terms(tuple(map(str, texts)))


def _on_field(key: str, field: str, offered: Iterable[Any], test: Callable[[Any], bool]) -> Condition:
    """Return the condition that a *field* of the requirements passes *test*."""
    return Condition(
        key,
        _terms(offered),
        lambda queue: _terms(each(getattr(queue, field))),
        lambda table: getattr(table, field).where(test),
    )


def _resource_conditions(conditions: Mapping[str, Any], rules: Rules) -> list[Condition]:
    conditions_found = [_cpu_time_condition(conditions["CPUTime"])]
    for key in SETS:
        offered = values(conditions[key]) if conditions.get(key) else []
        if key != "Tag" and offered not in ([], [""]) and not _is_any(offered):
            conditions_found.append(_list_condition(key, offered))
            if key == "Site":
                conditions_found.append(_not_banned_by_queue(offered))
    conditions_found += _tag_conditions(conditions, rules)
    for key in SETS:
        banned = values(conditions[f"Banned{key}"]) if conditions.get(f"Banned{key}") else []
        if banned and not _is_any(banned):
            conditions_found.append(_not_banned_by_pilot(key, banned))
    if "MaxRAM" in conditions:
        conditions_found.append(_ram_condition(conditions["MaxRAM"]))
    return conditions_found


def _is_any(offered: Iterable[str]) -> bool:
    """Return whether one of the values is the word "any", ignoring case and punctuation."""
    return any("".join(letter for letter in value if letter.isalnum()).lower() == "any" for value in offered)


def _cpu_time_condition(offered: Any) -> Condition:
    """The queue's CPU time fits into the pilot's (HS06 seconds)."""
    available = max(map(float, each(offered)))
    return _on_field("CPUTime", "cpu_time", [f"{available:.15g}"], lambda needed: bool(needed <= available))


def _list_condition(key: str, offered: list[str]) -> Condition:
    """The queue has no list, or lists a value that the pilot has."""
    offered_names = frozenset(offered)
    return _on_field(key, SETS[key], offered, lambda names: not names or not offered_names.isdisjoint(names))


def _not_banned_by_queue(offered: list[str]) -> Condition:
    """The queue does not ban the site (at least one, if there are several)."""
    sites = frozenset(offered)
    return Condition(
        "BannedSites",
        _terms(offered),
        lambda queue: Terms(queue.banned_sites, banned=True),
        lambda table: ~table.banned_sites.where(sites.issubset),
    )


def _not_banned_by_pilot(key: str, banned: list[str]) -> Condition:
    """The queue does not list all the sites that the pilot bans."""
    banned_names = frozenset(banned)
    return _on_field(f"Banned{key}", SETS[key], banned, lambda names: not banned_names.issubset(names))


def _tag_conditions(conditions: Mapping[str, Any], rules: Rules) -> list[Condition]:
    """The pilot has all the tags that the queue requires, and the queue requires all the required tags of the pilot."""
    offered = values(conditions["Tag"]) if "Tag" in conditions else []
    # DIRAC reads a blank as a tag, which no queue has.
    blank_counts = rules.blank_lists == "error"
    required = frozenset(tag for tag in values(conditions.get("RequiredTag", [])) if tag or blank_counts)
    offered_tags = frozenset(offered)
    found_conditions = []
    # A pilot with neither key takes only queues without tags.
    if ("Tag" in conditions or "RequiredTag" not in conditions) and not _is_any(offered):
        found_conditions.append(_on_field("Tag", "tags", sorted(offered_tags - {""}), offered_tags.issuperset))
    if required and not _is_any(required):
        if not required <= offered_tags:
            missing = ", ".join(sorted(required - offered_tags))
            raise PilotDescriptionError(PilotDescription.TAGS_NOT_OFFERED, what="RequiredTag", tags=missing)
        found_conditions.append(_on_field("RequiredTag", "tags", sorted(required), required.issubset))
    return found_conditions


def _ram_condition(offered: Any) -> Condition:
    """The pilot has at least the RAM (MB) that the queue requires."""
    (available,) = map(float, each(offered))
    return Condition(
        "MaxRAM",
        _terms([f"{available:.15g}"]),
        lambda queue: _terms([queue.min_ram]),
        # A queue without RAM requires nothing, not 0 MB.
        lambda table: (
            table.min_ram.where(lambda min_ram: min_ram <= available)
            | (table.min_ram.where(lambda min_ram: min_ram == 0) & table.max_ram.where(lambda max_ram: max_ram == 0))
        ),
    )


def _check_types(conditions: Mapping[str, Any], groups: Mapping[str, OwnerGroup], rules: Rules) -> None:
    if "CPUTime" not in conditions:
        raise PilotDescriptionError(PilotDescription.NO_CPU_TIME, what="CPUTime")
    group_names = values(conditions.get("OwnerGroup", []))
    # In groups with job sharing, the owner is not checked.
    unchecked_keys = (
        ("Owner",) if group_names and _job_sharing_groups(group_names, groups).issuperset(group_names) else ()
    )
    texts = ["Owner", "OwnerGroup", *(f"{prefix}{key}" for prefix in ("", "Banned", "Required") for key in SETS)]
    is_amount = _is_integer if rules.whole_numbers else _is_number
    for key, is_valid, problem in (
        ("CPUTime", is_amount, PilotDescription.CPU_TIME),
        ("MaxRAM", is_amount, PilotDescription.RAM),
        *((text, _is_text, PilotDescription.NAMES) for text in texts),
    ):
        given_value = conditions.get(key, [])
        if key in conditions and key in SINGLE and not values(given_value) and key not in unchecked_keys:
            empty = PilotDescription.EMPTY_CPU_TIME if key == "CPUTime" else PilotDescription.EMPTY_NAMES
            raise PilotDescriptionError(empty, what=key)
        for value in each(given_value):
            if not is_valid(value):
                raise PilotDescriptionError(problem, what=key, value=value)
    if "MaxRAM" in conditions and len(each(conditions["MaxRAM"])) != 1:
        # DIRAC compares it as one value, so its query fails with none or several.
        raise PilotDescriptionError(PilotDescription.SEVERAL_RAM, what="MaxRAM", value=conditions["MaxRAM"])


def _job_sharing_groups(group_names: Iterable[str], groups: Mapping[str, OwnerGroup]) -> set[str]:
    """Return the named groups that share their jobs."""
    return {name for name in group_names if name in groups and groups[name].job_sharing}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _is_integer(value: object) -> bool:
    return isinstance(value, int)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
