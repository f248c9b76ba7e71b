"""Pools of competing task queues, and families of queues (docs/dirac.md 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.shares.division import Indices
from fairq.engine.shares.model import OwnerGroup, TaskQueue
from fairq.engine.shares.rules import Rules

SINGLE_FIELDS, FAMILY_FIELDS = 3, 7
"""The first fields of `Requirements` define families, without sites, banned sites and RAM; three are not lists."""


class QueuePool(NamedTuple):
    """A group, and the owner whose queues compete in it; None: the queues of all owners do."""

    group: str
    owner: str | None


class QueueCounts(Struct, frozen=True):
    """Number of queues of each owner in each group, in order of name."""

    owners: Mapping[str, Mapping[str, int]]


def count_queues(queues: Sequence[TaskQueue], rules: Rules) -> QueueCounts:
    """Count the queues of each group's owners: those with jobs; under the rules dirac, emptied ones as well."""
    emptied = rules.users_counted == "rows"
    found: dict[tuple[str, str], int] = {}
    for _, requirements, jobs, _ in queues:
        if jobs or emptied:
            key = requirements.group, requirements.owner
            found[key] = found.get(key, 0) + 1
    owners: dict[str, dict[str, int]] = {}
    for group, owner in sorted(found):
        owners.setdefault(group, {})[owner] = found[group, owner]
    return QueueCounts(owners)


def place(
    queues: Sequence[TaskQueue], groups: Mapping[str, OwnerGroup], pools: Mapping[QueuePool, int]
) -> tuple[Indices, Indices]:
    """Return the places of the queues with jobs in one of *pools*, and the pool of each."""
    shared = {name for name, group in groups.items() if group.job_sharing}
    rows, numbers = [], []
    for row, (_, requirements, jobs, _) in enumerate(queues):
        if jobs:
            group = requirements.group
            number = pools.get(QueuePool(group, None if group in shared else requirements.owner))
            if number is not None:
                rows.append(row)
                numbers.append(number)
    return np.array(rows, np.intp), np.array(numbers, np.intp)


def families(queues: Sequence[TaskQueue], rows: Indices, rules: Rules) -> Indices:
    """Return the number of the family of each queue at *rows*: queues that differ only in sites and RAM."""
    if not rules.site_families:
        return np.arange(len(rows))
    known: dict[tuple[object, ...], int] = {}
    in_order: dict[tuple[object, ...], tuple[object, ...]] = {}
    numbers = np.empty(len(rows), np.intp)
    for place, row in enumerate(rows.tolist()):
        requirements = queues[row].requirements
        lists: tuple[object, ...] = requirements[SINGLE_FIELDS:FAMILY_FIELDS]
        if not rules.families_as_listed:
            if lists not in in_order:
                in_order[lists] = tuple(tuple(sorted(part)) for part in requirements[SINGLE_FIELDS:FAMILY_FIELDS])
            lists = in_order[lists]
        numbers[place] = known.setdefault((requirements[:SINGLE_FIELDS], lists), len(known))
    return numbers
