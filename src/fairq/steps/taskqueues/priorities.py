"""The task queues: list them, and recalculate and store their priorities."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.records import Ad
from fairq.engine.shares.corrector import EntityCorrection
from fairq.engine.shares.explanation import GroupExplanation, QueueExplanation, UserExplanation, explain, factor
from fairq.engine.shares.options import Note
from fairq.engine.shares.queues import TaskQueue
from fairq.state import task_queues
from fairq.state.connection import reading, writing
from fairq.state.location import exists
from fairq.steps.taskqueues.formation import members_of, store_numbers
from fairq.steps.taskqueues.world import ShareWorld, check_group, load_world

if TYPE_CHECKING:
    from fairq.settings import Settings


class QueueList(Struct, frozen=True):
    """The task queues as ads, with the rules used for the priorities."""

    rules: str
    queues: list[Ad]
    notes: list[Note | str]
    details: list[Note | str]


class ShareReport(Struct, frozen=True):
    """The calculation of shares: a record per group, per user (of groups without job sharing), and per queue."""

    rules: str
    groups: list[Ad]
    users: list[Ad]
    queues: list[Ad]
    notes: list[Note | str]
    details: list[Note | str]


def list_queues(path: Path, settings: Settings, now: int) -> QueueList:
    """Return the task queues of the idle jobs, with the priority they have at *now*."""
    with reading(path) as state:
        world = load_world(state, settings, now)
        stored = task_queues.priorities(state)
    rules = {"rules": world.policy.rules.name}
    queues = [
        {**_queue_ad(queue, priority, stored), **rules}
        for queue, priority in zip(world.formed.queues.tolist(), world.priorities, strict=True)
    ]
    return QueueList(world.policy.rules.name, queues, world.notes, world.details)


def recalculate_shares(
    path: Path,
    settings: Settings,
    now: int,
    *,
    group: str | None = None,
    rules: str | None = None,
    dry_run: bool = False,
) -> ShareReport:
    """Recalculate all priorities at *now*, store them, and return the calculation (only of *group* if given).

    With *dry_run*, nothing is stored; a missing state file is not created. *rules* override those of the settings.

    Raises:
        UnknownShareGroupError: *group* is unknown.
    """
    stores = not dry_run and exists(path)
    with writing(path) if stores else reading(path) as state:
        world = load_world(state, settings, now, rules)
        check_group(state, world, group, "--group")
        stored = task_queues.priorities(state)
        if stores:
            store_numbers(state, world.formed, world.priorities, now)
            world.formed.store_needs(state, world.policy)
    explanations = explain(world.result, group)
    return ShareReport(
        world.policy.rules.name,
        [_group_ad(entry, entry.group.name in world.policy.groups) for entry in explanations],
        [
            _user_ad(entry.group.name, user)
            for entry in explanations
            if not entry.group.job_sharing
            for user in entry.users
        ],
        _explained_queues(world, explanations, stored),
        world.notes,
        world.details,
    )


Stored = Mapping[int, tuple[float | None, int | None]]
"""The stored priorities of queues and when they were stored, by number."""


def _queue_ad(queue: TaskQueue, priority: float, stored: Stored) -> Ad:
    stored_priority, updated = stored.get(queue.id, (None, None))
    return {
        "task_queue": queue.id,
        **members_of(queue.requirements),
        "jobs": queue.jobs,
        "average_priority": queue.real_priorities / queue.jobs,
        "priority": priority,
        "stored_priority": stored_priority,
        "last_update_time": updated,
    }


def _group_ad(explanation: GroupExplanation, is_configured: bool) -> Ad:
    return {
        "owner_group": explanation.group.name,
        "configured": is_configured,
        "job_sharing": explanation.group.job_sharing,
        "allow_background_tqs": explanation.group.background,
        "users": len({queue.queue.requirements.owner for user in explanation.users for queue in user.queues}),
        "task_queues": sum(len(user.queues) for user in explanation.users),
        "job_share": explanation.share.expected,
        "share": explanation.share.share,
        **_corrections(explanation.share.steps),
    }


def _user_ad(group: str, explanation: UserExplanation) -> Ad:
    return {
        "owner_group": group,
        "owner": explanation.owner,
        "task_queues": len(explanation.queues),
        "expected_share": explanation.share.expected,
        "share": explanation.share.share,
        **_corrections(explanation.share.steps),
    }


_SLICE = (
    *("slice", "time_span", "weight", "use", "use_fraction", "raw_correction", "correction", "bound"),
    *("max_correction", "term"),
)
"""The members of a report for the fields of `SliceCorrection`, in order."""


def _corrections(steps: tuple[EntityCorrection, ...]) -> Ad:
    """Return the results of correctors; a bound that applied is "upper" (the maximum) or "lower" (1/maximum)."""
    return {
        "factor": factor(steps),
        "corrections": [
            {
                "corrector": step.corrector,
                "instance": step.instance,
                "expected": step.expected,
                "fraction": step.fraction,
                "slices": [dict(zip(_SLICE, part, strict=True)) for part in step.slices],
                "raw_factor": step.raw,
                "max_global_correction": step.maximum,
                "factor": step.factor,
                "bound": step.bound,
                "share": step.share,
            }
            for step in steps
        ],
    }


def _explained_queues(world: ShareWorld, explanations: list[GroupExplanation], stored: Stored) -> list[Ad]:
    priorities = dict(zip(world.formed.queues.ids.tolist(), world.priorities, strict=True))
    return [
        {**_queue_ad(queue.queue, priorities[queue.queue.id], stored), **_division(queue)}
        for explanation in explanations
        for user in explanation.users
        for queue in user.queues
    ]


def _division(queue: QueueExplanation) -> Ad:
    return {
        "background": queue.background,
        "pool_share": queue.pool_share,
        "pool_priorities": queue.pool_weight,
        "own_priority": queue.own,
        "family": queue.family,
    }
