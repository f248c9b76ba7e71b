"""The division of shares: from groups to users to the priorities of task queues (docs/dirac.md 3).

DIRAC TaskQueueDB.recalculateTQSharesForAll, calculate_priority. Sums are computed in the order of the queues, as in
DIRAC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Column, Floats, Integers, Mask, distinct_rows
from fairq.engine.shares.corrector import Corrections, EntityCorrection
from fairq.engine.shares.groups import DEFAULT_SHARE, OwnerGroup
from fairq.engine.shares.queues import QueueTable
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import DiracFailure, DiracStopsError

FLOOR = 0.001
"""The minimum priority of a queue, and the priority of a background queue."""

BACKGROUND_UP_TO = 0.1
"""The largest average priority of a background queue."""

FAMILY_FIELDS = 7
"""The number of leading fields of `Requirements` that define families: all but sites, banned sites and RAM."""

EVERYBODY = "all"
"""The name for all users; DIRAC confuses it with a real user of this name."""

QueueCounts = Mapping[str, Mapping[str, int]]
"""Number of queues of each owner in each group, in order of name."""


class Share(Struct, frozen=True):
    """The share of a group or a user.

    Attributes:
        expected: before corrections.
        steps: the result of each corrector, in order.
        share: after corrections.
    """

    expected: float
    steps: tuple[EntityCorrection, ...]
    share: float


class Division(Struct, frozen=True):
    """The result of a division; arrays are over the queues unless stated otherwise.

    Attributes:
        background: whether the queue is in the background.
        totals: over the pools: the sum of the weights of their queues, without background queues.
        own: the queue's own part of its pool's share.
        priority: the sum of the parts of its family.
        families: over the families: the number of queues.
    """

    background: Mask
    totals: Floats
    own: Floats
    priority: Floats
    families: Integers


class Recalculation(Struct, frozen=True):
    """The priorities of all task queues, and the values behind them.

    Attributes:
        rules: the rules used.
        groups: the configured groups, by name.
        queues: the queues as given.
        priorities: over the queues, full precision; NaN: not set (an emptied queue).
        group_shares: of every configured group, and of every other group with queues.
        user_shares: of the users with queues in the groups without job sharing, by group.
        pool_shares: the share of each pool of competing queues: of a user, or of a group with job sharing.
        rows, pool, family: over the queues with jobs: index in *queues*, pool, family.
        division: the division of the pools.
    """

    rules: Rules
    groups: Mapping[str, OwnerGroup]
    queues: QueueTable
    priorities: Floats
    group_shares: Mapping[str, Share]
    user_shares: Mapping[str, Mapping[str, Share]]
    pool_shares: Sequence[float]
    rows: Integers
    pool: Integers
    family: Integers
    division: Division

    def stored_priorities(self) -> list[float]:
        """Return the priorities to store: under the rules dirac with four decimals."""
        decimals = self.rules.decimals
        values: list[float] = self.priorities.tolist()
        return values if decimals is None else [float(f"{value:.{decimals}f}") for value in values]


def recalculate(
    queues: QueueTable,
    groups: Mapping[str, OwnerGroup],
    rules: Rules,
    corrections: Corrections | None = None,
) -> Recalculation:
    """Return the priorities of all *queues*.

    Args:
        queues: all task queues.
        groups: the configured groups; other groups have the default share and no properties.
        rules: the rules to use.
        corrections: the active correctors, with their history (`Corrections.update`); None: no correctors.

    Raises DiracStopsError, only under the rules dirac, where DIRAC ends with an error.
    """
    counts = count_queues(queues, rules)
    return set_priorities(queues, groups, rules, corrections, counts, share_groups(counts, groups, corrections))


def count_queues(queues: QueueTable, rules: Rules) -> QueueCounts:
    """Count the queues of each group's owners; emptied queues count only under the rules dirac."""
    owners, owner_of_queue = queues.owners
    counted_owners = owner_of_queue if rules.users_counted == "rows" else owner_of_queue[queues.jobs != 0]
    counts: dict[str, dict[str, int]] = {}
    for (group, owner), count in sorted(
        zip(owners, np.bincount(counted_owners, minlength=len(owners)).tolist(), strict=True)
    ):
        if count:
            counts.setdefault(group, {})[owner] = count
    return counts


def share_groups(
    counts: QueueCounts, groups: Mapping[str, OwnerGroup], corrections: Corrections | None
) -> dict[str, Share]:
    """Return the share of every configured group; only groups with queues are corrected."""
    expected = {name: group.share for name, group in groups.items()}
    return _corrected(expected, {name: expected[name] for name in counts if name in expected}, corrections)


def _corrected(
    expected: Mapping[str, float], compared: Mapping[str, float], corrections: Corrections | None, group: str = ""
) -> dict[str, Share]:
    """Return the shares of groups, or of the users of *group*, with the *compared* ones corrected."""
    corrected = None if corrections is None else corrections.correct(compared, group)
    if corrected is None:
        return {name: Share(share, (), share) for name, share in expected.items()}
    return {
        name: Share(share, corrected.steps.get(name, ()), corrected.shares.get(name, share))
        for name, share in expected.items()
    }


def set_priorities(
    queues: QueueTable,
    groups: Mapping[str, OwnerGroup],
    rules: Rules,
    corrections: Corrections | None,
    counts: QueueCounts,
    group_shares: Mapping[str, Share],
) -> Recalculation:
    """Divide the groups' shares among users and queues.

    DIRAC TaskQueueDB.recalculateTQSharesForEntity.
    """
    all_shares = dict(group_shares)
    user_shares: dict[str, Mapping[str, Share]] = {}
    pools: dict[tuple[str, str | None], float] = {}
    for name, owners in counts.items():
        share = all_shares.setdefault(name, Share(DEFAULT_SHARE, (), DEFAULT_SHARE)).share
        if _is_sharing(name, groups):
            pools[name, None] = share
        else:
            parts = {owner: share / len(owners) for owner in owners}
            users = user_shares[name] = _corrected(parts, parts, corrections, name)
            # DIRAC treats a user called "all" as all users, and sets no queues of other users.
            is_confused = rules.user_all_bug and owners.get(EVERYBODY, 0) > 1
            pools |= {(name, owner): users[owner].share for owner in ([EVERYBODY] if is_confused else owners)}

    pool_numbers = dict(zip(pools, range(len(pools)), strict=True))
    owner_pairs, owner_of_queue = queues.owners
    pool_of_owner = [
        pool_numbers.get((group, None if _is_sharing(group, groups) else owner), -1) for group, owner in owner_pairs
    ]
    pool = np.array(pool_of_owner, np.int64)[owner_of_queue]
    rows = np.flatnonzero((queues.jobs != 0) & (pool >= 0))
    family = families(queues, rows, rules)
    sums = queues.real_priorities[rows]
    averages = sums / queues.jobs[rows]
    pool_shares = list(pools.values())
    division = divide(
        weights=averages if rules.consolidation == "average" else sums,
        averages=averages,
        pool=pool[rows],
        shares=np.array(pool_shares, float),
        allowed=np.array([group in groups and groups[group].background for group, _ in pools], bool),
        family=family,
        strict=rules.zero_use == "error",
    )
    priorities = np.full(len(queues), np.nan)
    priorities[rows] = division.priority
    return Recalculation(
        rules, groups, queues, priorities, all_shares, user_shares, pool_shares, rows, pool[rows], family, division
    )


def _is_sharing(group: str, groups: Mapping[str, OwnerGroup]) -> bool:
    return group in groups and groups[group].job_sharing


def families(queues: QueueTable, rows: Integers, rules: Rules) -> Integers:
    """Return the family number of each queue at *rows*: a family's queues differ only in sites and RAM."""
    if not rules.site_families:
        return np.arange(len(rows))
    columns: tuple[Column, ...] = queues.requirements.take(rows).columns[:FAMILY_FIELDS]
    if not rules.families_as_listed:
        columns = tuple(column.mapped(_sorted_if_tuple) for column in columns)
    return distinct_rows(columns, len(rows))[1]


def _sorted_if_tuple(value: object) -> object:
    return tuple(sorted(value)) if isinstance(value, tuple) else value


def divide(
    *,
    weights: Floats,
    averages: Floats,
    pool: Integers,
    shares: Floats,
    allowed: Mask,
    family: Integers,
    strict: bool,
) -> Division:
    """Divide the *shares* of all pools among their queues.

    Args:
        weights: over the queues: the weight of a queue in its pool.
        averages: over the queues: the average real priority of its jobs, which identifies background queues.
        pool, family: over the queues: the numbers of its pool and of its family, from 0.
        shares, allowed: over the pools: the share, and whether background queues are allowed.
        strict: raise DiracStopsError where DIRAC divides by zero; otherwise queues that all have weight 0 get equal
            parts.
    """
    background = allowed[pool] & (averages <= BACKGROUND_UP_TO)
    totals = _sums_by_number(pool, np.where(background, 0.0, weights), len(shares))
    weightless = ~background & (totals[pool] == 0)
    if strict and weightless.any():
        raise DiracStopsError(DiracFailure.NO_PRIORITY)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        parts = (shares / totals)[pool] * weights
    if weightless.any():
        weightless_counts = _sums_by_number(pool, weightless, len(shares))
        parts[weightless] = (shares[pool] / np.maximum(weightless_counts[pool], 1.0))[weightless]
    parts = np.where(background, FLOOR, np.maximum(parts, FLOOR))
    return Division(background, totals, parts, _sums_by_number(family, parts)[family], np.bincount(family))


def _sums_by_number(numbers: Integers, amounts: Floats | Mask, length: int = 0) -> Floats:
    return np.bincount(numbers, amounts, length).astype(np.float64)
