"""Pools of competing task queues, and families of queues (docs/dirac.md 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Integers, ListColumn, NumberColumn, TextColumn
from fairq.engine.shares.division import Indices
from fairq.engine.shares.model import OwnerGroup, TaskQueue
from fairq.engine.shares.queue_table import QueueTable
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


def count_queues(queues: Sequence[TaskQueue], rules: Rules) -> QueueCounts:
    """Count the queues of each group's owners: those with jobs; under the rules dirac, emptied ones as well."""
    table = QueueTable.of(queues)
    known, places = table.owners
    counted = places if rules.users_counted == "rows" else places[table.jobs != 0]
    counts = np.bincount(counted, minlength=len(known)).tolist()
    owners: dict[str, dict[str, int]] = {}
    for (group, owner), count in sorted(zip(known, counts, strict=True)):
        if count:
            owners.setdefault(group, {})[owner] = count
    return QueueCounts(owners)


def place(
    queues: Sequence[TaskQueue], groups: Mapping[str, OwnerGroup], pools: Mapping[QueuePool, int]
) -> tuple[Indices, Indices]:
    """Return the places of the queues with jobs in one of *pools*, and the pool of each."""
    table = QueueTable.of(queues)
    shared = {name for name, group in groups.items() if group.job_sharing}
    known, places = table.owners
    of_owner = [pools.get(QueuePool(group, None if group in shared else owner), _NO_POOL) for group, owner in known]
    numbers = np.array(of_owner, np.intp)[places]
    rows = np.flatnonzero((table.jobs != 0) & (numbers != _NO_POOL))
    return rows, numbers[rows]


def families(queues: Sequence[TaskQueue], rows: Indices, rules: Rules) -> Indices:
    """Return the number of the family of each queue at *rows*: queues that differ only in sites and RAM."""
    if not rules.site_families:
        return np.arange(len(rows))
    columns = QueueTable.of(queues).requirements.take(rows).columns[:FAMILY_FIELDS]
    numbers = np.zeros(len(rows), np.intp)
    for column in columns:
        codes = _codes(column, in_any_order=not rules.families_as_listed)
        if len(codes) and codes.any():
            # The numbers stay below the number of rows, so that this never overflows.
            numbers = _numbered(numbers * (int(codes.max()) + 1) + codes)
    return numbers


def _codes(column: TextColumn | NumberColumn | ListColumn, *, in_any_order: bool) -> Integers:
    """Return a number for each value of *column*: equal values have the same; *in_any_order*: of a list's names."""
    if isinstance(column, NumberColumn):
        known: dict[object, int] = {}
        return np.fromiter((known.setdefault(value, len(known)) for value in column.tolist()), np.int64)
    if isinstance(column, ListColumn) and in_any_order:
        alike: dict[tuple[str, ...], int] = {}
        of_list = [alike.setdefault(tuple(sorted(names)), len(alike)) for names in column.distinct()]
        return np.array(of_list, np.int64)[column.codes]
    return column.codes


def _numbered(keys: Integers) -> Indices:
    """Return the number of each key; they are numbered in the order in which they first occur."""
    _, firsts, places = np.unique(keys, return_index=True, return_inverse=True)
    numbers = np.empty(len(firsts), np.intp)
    numbers[np.argsort(firsts)] = np.arange(len(firsts))
    return numbers[places]
