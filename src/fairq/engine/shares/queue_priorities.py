"""From group shares to the priorities of task queues.

DIRAC TaskQueueDB.recalculateTQSharesForAll; docs/dirac.md 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from fairq.engine.shares.corrections import Corrections
from fairq.engine.shares.corrector import EntityCorrection
from fairq.engine.shares.division import Division, Floats, Indices, divide
from fairq.engine.shares.groups import DEFAULT_SHARE, OwnerGroup
from fairq.engine.shares.pools import QueueCounts, QueuePool, count_queues, families, place
from fairq.engine.shares.queues import QueueTable
from fairq.engine.shares.rules import Rules

EVERYBODY = "all"
"""The name for all users; DIRAC confuses a real user of this name with it."""


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


class Recalculation(Struct, frozen=True):
    """The priorities of all task queues, and the values behind them.

    Attributes:
        rules: the rules used.
        groups: the configured groups, by name.
        queues: the queues as given.
        priorities: over the queues, full precision; NaN: not set (an emptied queue).
        group_shares: of every configured group, and of every other group with queues.
        user_shares: of the users with queues in the groups without job sharing, by group.
        pools: the numbers of the pools.
        pool_shares: over the pools: the share of each.
        rows, pool, family: over the queues with jobs: place in *queues*, pool, family.
        division: the division of the pools.
    """

    rules: Rules
    groups: Mapping[str, OwnerGroup]
    queues: QueueTable
    priorities: Floats
    group_shares: Mapping[str, Share]
    user_shares: Mapping[str, Mapping[str, Share]]
    pools: Mapping[QueuePool, int]
    pool_shares: Sequence[float]
    rows: Indices
    pool: Indices
    family: Indices
    division: Division

    def kept_priorities(self) -> list[float]:
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
        queues: all task queues, by number.
        groups: the configured groups; other groups have the default share and no properties.
        rules: the rules to use.
        corrections: the active correctors, with their history (`Corrections.update`); None: no correctors.

    Raises DiracStopsError, only under the rules dirac, where DIRAC ends with an error.
    """
    counts = count_queues(queues, rules)
    shares = share_groups(counts, groups, corrections)
    return set_priorities(queues, groups, rules, corrections, counts, shares)


def share_groups(
    counts: QueueCounts, groups: Mapping[str, OwnerGroup], corrections: Corrections | None
) -> dict[str, Share]:
    """Return the share of every configured group; only those that have queues are corrected."""
    expected = {name: group.share for name, group in groups.items()}
    if corrections is None:
        return {name: Share(share, (), share) for name, share in expected.items()}
    corrected = corrections.correct({name: expected[name] for name in counts.owners if name in expected})
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
    pools: dict[QueuePool, int] = {}
    amounts: list[float] = []
    allowed: list[bool] = []
    for name in counts.owners:
        group = groups.get(name, OwnerGroup(name))
        share = all_shares.setdefault(name, Share(DEFAULT_SHARE, (), DEFAULT_SHARE)).share
        if group.job_sharing:
            parts: dict[str | None, float] = {None: share}
        else:
            users = user_shares[name] = share_users(name, share, counts.owners[name], corrections)
            parts = {owner: users[owner].share for owner in _served(counts.owners[name], rules)}
        for owner, part in parts.items():
            pools[QueuePool(name, owner)] = len(pools)
            amounts.append(part)
            allowed.append(group.background)
    places, pool = place(queues, groups, pools)
    family = families(queues, places, rules)
    sums = queues.real_priorities[places]
    averages = sums / queues.jobs[places]
    division = divide(
        weights=averages if rules.consolidation == "average" else sums,
        averages=averages,
        pool=pool,
        shares=np.array(amounts, float),
        allowed=np.array(allowed, bool),
        family=family,
        strict=rules.zero_use == "error",
    )
    priorities = np.full(len(queues), np.nan)
    priorities[places] = division.priority
    return Recalculation(
        rules, groups, queues, priorities, all_shares, user_shares, pools, amounts, places, pool, family, division
    )


def share_users(
    group: str, share: float, owners: Mapping[str, int], corrections: Corrections | None
) -> dict[str, Share]:
    """Divide a group's *share* among its *owners* with queues, and correct their parts."""
    expected = {owner: share / len(owners) for owner in owners}
    if corrections is None:
        return {owner: Share(part, (), part) for owner, part in expected.items()}
    corrected = corrections.correct(expected, group)
    return {
        owner: Share(part, corrected.steps.get(owner, ()), corrected.shares[owner]) for owner, part in expected.items()
    }


def _served(owners: Mapping[str, int], rules: Rules) -> list[str]:
    """Return the owners whose queues are set: all of them, unless a user is called "all" under the rules dirac."""
    return [EVERYBODY] if rules.user_all_bug and owners.get(EVERYBODY, 0) > 1 else list(owners)
