"""Which task queues compete in one pool, and which count as variants of one (docs/dirac.md 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairq.engine.shares.division import Places
from fairq.engine.shares.model import Group, TaskQueue
from fairq.engine.shares.rules import Rules

SINGLE_FIELDS, FAMILY_FIELDS = 3, 7
"""The first fields of `Requirements` tell families apart, not sites, banned sites and RAM; three are no lists."""

Pool = tuple[str, str | None]
"""A group, and the owner whose queues compete in it; None: all owners' do."""


@dataclass(frozen=True)
class Rows:
    """How many rows every owner has in every group, in order of their names."""

    owners: Mapping[str, Mapping[str, int]]


def count_rows(queues: Sequence[TaskQueue], rules: Rules) -> Rows:
    """Count the queues of each group's owners: those with jobs, or under DIRAC's rules the emptied ones, too."""
    emptied = rules.users_counted == "rows"
    found: dict[tuple[str, str], int] = {}
    for _, requirements, jobs, _ in queues:
        if jobs or emptied:
            key = requirements[1], requirements[0]
            found[key] = found.get(key, 0) + 1
    owners: dict[str, dict[str, int]] = {}
    for group, owner in sorted(found):
        owners.setdefault(group, {})[owner] = found[group, owner]
    return Rows(owners)


def place(queues: Sequence[TaskQueue], groups: Mapping[str, Group], pools: Mapping[Pool, int]) -> tuple[Places, Places]:
    """Return the places of the queues that hold jobs and are in one of *pools*, and each one's pool."""
    shared = {name for name, group in groups.items() if group.job_sharing}
    rows, numbers = [], []
    for row, (_, requirements, jobs, _) in enumerate(queues):
        if jobs:
            group = requirements[1]
            number = pools.get((group, None if group in shared else requirements[0]))
            if number is not None:
                rows.append(row)
                numbers.append(number)
    return np.array(rows, np.intp), np.array(numbers, np.intp)


def families(queues: Sequence[TaskQueue], rows: Places, rules: Rules) -> Places:
    """Return the number of the family of each queue at *rows*: those that differ only in sites and RAM."""
    if not rules.site_families:
        return np.arange(len(rows))
    known: dict[tuple[object, ...], int] = {}
    in_order: dict[tuple[object, ...], tuple[object, ...]] = {}
    numbers = np.empty(len(rows), np.intp)
    for place, row in enumerate(rows.tolist()):
        requirements = queues[row][1]
        lists: tuple[object, ...] = requirements[SINGLE_FIELDS:FAMILY_FIELDS]
        if not rules.families_as_listed:
            if lists not in in_order:
                in_order[lists] = tuple(tuple(sorted(part)) for part in requirements[SINGLE_FIELDS:FAMILY_FIELDS])
            lists = in_order[lists]
        numbers[place] = known.setdefault((requirements[:SINGLE_FIELDS], lists), len(known))
    return numbers
