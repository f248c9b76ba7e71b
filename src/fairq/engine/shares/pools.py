"""Pools of competing task queues, and families of queues (docs/dirac.md 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Column, distinct_rows
from fairq.engine.shares.division import Indices
from fairq.engine.shares.groups import OwnerGroup
from fairq.engine.shares.queues import QueueTable
from fairq.engine.shares.rules import Rules

FAMILY_FIELDS = 7
"""The first fields of `Requirements` define families, without sites, banned sites and RAM."""

_NO_POOL = -1


class QueuePool(NamedTuple):
    """A group, and the owner whose queues compete in it; None: the queues of all owners do."""

    group: str
    owner: str | None


class QueueCounts(Struct, frozen=True):
    """Number of queues of each owner in each group, in order of name."""

    owners: Mapping[str, Mapping[str, int]]


def count_queues(queues: QueueTable, rules: Rules) -> QueueCounts:
    """Count the queues of each group's owners: those with jobs; under the rules dirac, emptied ones as well."""
    known, places = queues.owners
    counted = places if rules.users_counted == "rows" else places[queues.jobs != 0]
    counts = np.bincount(counted, minlength=len(known)).tolist()
    owners: dict[str, dict[str, int]] = {}
    for (group, owner), count in sorted(zip(known, counts, strict=True)):
        if count:
            owners.setdefault(group, {})[owner] = count
    return QueueCounts(owners)


def place(
    queues: QueueTable, groups: Mapping[str, OwnerGroup], pools: Mapping[QueuePool, int]
) -> tuple[Indices, Indices]:
    """Return the places of the queues with jobs in one of *pools*, and the pool of each."""
    shared = {name for name, group in groups.items() if group.job_sharing}
    known, places = queues.owners
    of_owner = [pools.get(QueuePool(group, None if group in shared else owner), _NO_POOL) for group, owner in known]
    numbers = np.array(of_owner, np.intp)[places]
    rows = np.flatnonzero((queues.jobs != 0) & (numbers != _NO_POOL))
    return rows, numbers[rows]


def families(queues: QueueTable, rows: Indices, rules: Rules) -> Indices:
    """Return the number of the family of each queue at *rows*: queues that differ only in sites and RAM."""
    if not rules.site_families:
        return np.arange(len(rows))
    columns: list[Column] = list(queues.requirements.take(rows).columns[:FAMILY_FIELDS])
    if not rules.families_as_listed:
        columns = [
            column.changed(lambda value: tuple(sorted(value)) if isinstance(value, tuple) else value)
            for column in columns
        ]
    return distinct_rows(columns, len(rows))[1]
