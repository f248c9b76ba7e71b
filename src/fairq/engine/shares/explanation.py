"""The calculation of every priority, from the group to the user to the task queue, as data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from fairq.engine.shares.corrector import EntityCorrection
from fairq.engine.shares.division import Recalculation, Share
from fairq.engine.shares.groups import DEFAULT_SHARE, OwnerGroup
from fairq.engine.shares.queues import TaskQueue


class QueueExplanation(Struct, frozen=True):
    """One task queue.

    Attributes:
        queue: its requirements and jobs.
        average: average of its jobs' real priorities; None: it is emptied.
        background: whether it is in the background.
        pool_share, pool_weight: the share of its pool, and the sum of the weights that divide it.
        own: its own part of the share, or the minimum; None: not set.
        family: number of queues in its family, itself included.
        priority: the result; None: not set.
    """

    queue: TaskQueue
    average: float | None
    background: bool
    pool_share: float | None
    pool_weight: float | None
    own: float | None
    family: int
    priority: float | None


class UserExplanation(Struct, frozen=True):
    """One user of a group, or (owner None) all users of a group with job sharing.

    Attributes:
        owner: the user.
        share: the expected share, the result of each corrector, and the corrected share.
        queues: of the user, in the order given.
    """

    owner: str | None
    share: Share
    queues: tuple[QueueExplanation, ...]


class GroupExplanation(Struct, frozen=True):
    """One group.

    Attributes:
        group: its properties.
        share: JobShare, the result of each corrector, and the corrected share.
        users: users with queues, by name; in a group with job sharing, one entry for all.
    """

    group: OwnerGroup
    share: Share
    users: tuple[UserExplanation, ...]


def explain(result: Recalculation, group: str | None = None) -> list[GroupExplanation]:
    """Return the calculation of every priority, or of those of *group*, by group in order of name."""
    queues = _queues(result, group)
    selected = sorted({*result.group_shares, *queues}) if group is None else [group]
    explanations = []
    for name in selected:
        owner_group = result.groups.get(name, OwnerGroup(name))
        share = result.group_shares.get(name, Share(DEFAULT_SHARE, (), DEFAULT_SHARE))
        group_queues = queues.get(name, {})
        users: tuple[UserExplanation, ...]
        if owner_group.job_sharing:
            all_queues = tuple(queue for owner in sorted(group_queues) for queue in group_queues[owner])
            users = (UserExplanation(None, share, all_queues),) if all_queues else ()
        else:
            shares = result.user_shares.get(name, {})
            users = tuple(
                UserExplanation(owner, shares.get(owner, Share(0.0, (), 0.0)), tuple(group_queues.get(owner, ())))
                for owner in sorted({*shares, *group_queues})
            )
        explanations.append(GroupExplanation(owner_group, share, users))
    return explanations


def _queues(result: Recalculation, group: str | None) -> dict[str, dict[str, list[QueueExplanation]]]:
    index_of_row = {row: index for index, row in enumerate(result.rows.tolist())}
    by_owner: dict[str, dict[str, list[QueueExplanation]]] = {}
    queues = result.queues
    rows, selected = (np.arange(len(queues)), queues) if group is None else queues.of_group(group)
    for row, queue in zip(rows.tolist(), selected.tolist(), strict=True):
        explanation = _queue(result, queue, row, index_of_row.get(row))
        by_owner.setdefault(queue.requirements.group, {}).setdefault(queue.requirements.owner, []).append(explanation)
    return by_owner


def _queue(result: Recalculation, queue: TaskQueue, row: int, index: int | None) -> QueueExplanation:
    average = queue.real_priorities / queue.jobs if queue.jobs else None
    if index is None:
        return QueueExplanation(queue, average, False, None, None, None, 0, None)
    division = result.division
    pool, family = int(result.pool[index]), int(result.family[index])
    return QueueExplanation(
        queue,
        average,
        bool(division.background[index]),
        result.pool_shares[pool],
        float(division.totals[pool]),
        float(division.own[index]),
        int(division.families[family]),
        float(result.priorities[row]),
    )


def factor(steps: Sequence[EntityCorrection]) -> float:
    """Return the product of all corrections of a share."""
    product = 1.0
    for step in steps:
        product *= step.factor
    return product
