"""The task queues that match a pilot, and the reasons of the others (DIRAC TaskQueueDB; docs/dirac.md 5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fairq.engine.shares.columns import Mask
from fairq.engine.shares.conditions import (
    SETS,
    SINGLE,
    Condition,
    Terms,
    cpu_time,
    each,
    is_any,
    listed,
    max_ram,
    not_banned_by_pilot,
    not_banned_by_queue,
    one_of,
    required_tags,
    tags,
    terms,
    values,
)
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.negative import Negative, excluded
from fairq.engine.shares.queues import Requirements, RequirementTable
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import PilotDescription, PilotDescriptionError

LIMITS = "limits"
"""The key of a refusal by the limits of the site."""


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
        """*conditions* come from `resource`, *negative* from `limits`.

        Raises PilotDescriptionError if CPUTime is missing or not a number (under dirac: not an integer), if a name is
        not a text, if a list of owners (unless all groups share their jobs) or groups is empty, if MaxRAM is not one
        number, or if a required tag is not offered; DiracStopsError like `negative.excluded`.
        """
        _check_types(conditions, groups, rules)
        self._escapes: list[Condition] = []
        self._conditions = [*self._owners(conditions, groups, rules), *_resources(conditions, rules)]
        self._negative = negative or {}
        self._excluded = excluded(self._negative, rules)

    def _owners(self, conditions: Mapping[str, Any], groups: Mapping[str, OwnerGroup], rules: Rules) -> list[Condition]:
        if "Owner" not in conditions or "OwnerGroup" not in conditions:
            return [one_of(key, conditions[key]) for key in ("OwnerGroup", "Owner") if key in conditions]
        owners = frozenset(values(conditions["Owner"]))
        named = values(conditions["OwnerGroup"])
        sharing = _sharing(named, groups)

        if rules.owner_bypasses_requirements and len(owners) > 1 and not sharing.issuperset(named):
            raise PilotDescriptionError(PilotDescription.SEVERAL_OWNERS, what="Owner")

        def of(allowed: Sequence[str]) -> Condition:
            among = frozenset(allowed)
            return Condition(
                "Owner",
                Terms(tuple(sorted(owners)), tuple(allowed)),
                lambda queue: Terms((queue.owner,), (queue.group,)),
                lambda table: (
                    table.group.where(among.__contains__)
                    & (table.group.where(sharing.__contains__) | table.owner.where(owners.__contains__))
                ),
            )

        if rules.owner_bypasses_requirements and len(named) > 1:
            self._escapes = [of(named[:-1])]
            return [of(named[-1:])]
        return [of(named)]

    def matches(self, queue: Requirements) -> bool:
        """Return whether the pilot may get jobs of *queue*."""
        return bool(self._offered(RequirementTable.of([queue])).all())

    def matching(self, queues: RequirementTable | Iterable[Requirements]) -> list[int]:
        """Return the places of the matching *queues*."""
        table = queues if isinstance(queues, RequirementTable) else RequirementTable.of(queues)
        places: list[int] = np.flatnonzero(self._offered(table)).tolist()
        return places

    def _offered(self, table: RequirementTable) -> Mask:
        offered = ~self._excluded(table)
        for condition in self._conditions:
            offered &= condition.holds(table)
        for escape in self._escapes:
            offered |= escape.holds(table)
        return offered

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
            found.append(Refusal(LIMITS, terms([queue.group]), terms(self._negative)))
        return found


def _resources(conditions: Mapping[str, Any], rules: Rules) -> list[Condition]:
    found = [cpu_time(conditions["CPUTime"])]
    for key in SETS:
        offered = values(conditions[key]) if conditions.get(key) else []
        if key != "Tag" and offered not in ([], [""]) and not is_any(offered):
            found.append(listed(key, offered))
            if key == "Site":
                found.append(not_banned_by_queue(offered))
    found += _tags(conditions, rules)
    for key in SETS:
        banned = values(conditions[f"Banned{key}"]) if conditions.get(f"Banned{key}") else []
        if banned and not is_any(banned):
            found.append(not_banned_by_pilot(key, banned))
    if "MaxRAM" in conditions:
        found.append(max_ram(conditions["MaxRAM"]))
    return found


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


def _tags(conditions: Mapping[str, Any], rules: Rules) -> list[Condition]:
    offered = values(conditions["Tag"]) if "Tag" in conditions else []
    # DIRAC takes a blank for a tag, which no queue has.
    blank_counts = rules.blank_lists == "error"
    required = [tag for tag in values(conditions.get("RequiredTag", [])) if tag or blank_counts]
    found = []
    # A pilot that says neither takes queues without tags alone.
    if ("Tag" in conditions or "RequiredTag" not in conditions) and not is_any(offered):
        found.append(tags(offered))
    if required and not is_any(required):
        if not set(required) <= set(offered):
            missing = ", ".join(sorted(set(required) - set(offered)))
            raise PilotDescriptionError(PilotDescription.TAGS_NOT_OFFERED, what="RequiredTag", tags=missing)
        found.append(required_tags(required))
    return found
