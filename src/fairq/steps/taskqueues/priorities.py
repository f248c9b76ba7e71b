"""The task queues: list them, and recalculate and store their priorities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.engine.shares.corrector import EntityCorrection
from fairq.engine.shares.explanation import GroupExplanation, QueueExplanation, UserExplanation, explain, factor
from fairq.records import Ad
from fairq.state.connection import reading, writing
from fairq.state.location import exists
from fairq.state.rows import without_collection
from fairq.steps.taskqueues.forming import FormedQueue, fields_of, remember
from fairq.steps.taskqueues.world import ShareWorld, check_group, load_world

if TYPE_CHECKING:
    from fairq.settings import Settings


@dataclass(frozen=True, slots=True)
class QueueList:
    """The task queues as ads, with the rules they were calculated by."""

    rules: str
    queues: list[Ad]
    notes: list[str]
    details: list[str]


@dataclass(frozen=True, slots=True)
class ShareReport:
    """How the shares come about: a record per group, per user (of groups without job sharing), per queue."""

    rules: str
    groups: list[Ad]
    users: list[Ad]
    queues: list[Ad]
    notes: list[str]
    details: list[str]


def list_queues(path: Path, settings: Settings, now: int) -> QueueList:
    """Return the task queues of the idle jobs, with the priority they have at *now*."""
    with without_collection():
        with reading(path) as state:
            world = load_world(state, settings, now)
        priorities = world.priorities
        rules = {"Rules": world.policy.rules.name}
        queues = [{**_queue_ad(queue, priorities[queue.number]), **rules} for queue in world.formed.queues]
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
    """Recalculate all priorities at *now*, store them, and return how they came about (of *group* alone if given).

    With *dry_run* nothing is stored; without a state file none is made. *rules* go before the settings'.

    Raises:
        UnknownShareGroupError: nobody knows *group*.
    """
    with without_collection():
        stored = not dry_run and exists(path)
        with writing(path) if stored else reading(path) as state:
            world = load_world(state, settings, now, rules)
            check_group(world, group, "--group")
            if stored:
                remember(state, world.formed, world.priorities, now)
        explained = explain(world.result, group)
        return ShareReport(
            world.policy.rules.name,
            [_group_ad(one, one.group.name in world.policy.groups) for one in explained],
            [_user_ad(one.group.name, user) for one in explained if not one.group.job_sharing for user in one.users],
            _explained_queues(world, explained),
            world.notes,
            world.details,
        )


def _queue_ad(queue: FormedQueue, priority: float) -> Ad:
    stored = queue.stored
    return {
        "TaskQueue": queue.number,
        **_lists(fields_of(queue.requirements)),
        "Jobs": queue.jobs,
        "AveragePriority": queue.real_priorities / queue.jobs,
        "Priority": priority,
        "StoredPriority": None if stored is None else stored.priority,
        "LastUpdate": None if stored is None else stored.updated,
    }


def _lists(fields: dict[str, Any]) -> Ad:
    """Lists as DIRAC and HTCondor's string functions have them, so that expressions can read them."""
    return {name: ", ".join(value) if isinstance(value, list) else value for name, value in fields.items()}


def _group_ad(one: GroupExplanation, is_configured: bool) -> Ad:
    return {
        "OwnerGroup": one.group.name,
        "Configured": is_configured,
        "JobSharing": one.group.job_sharing,
        "AllowBackgroundTQs": one.group.background,
        "Users": len({queue.queue.requirements.owner for user in one.users for queue in user.queues}),
        "TaskQueues": sum(len(user.queues) for user in one.users),
        "JobShare": one.share.expected,
        "Share": one.share.share,
        **_corrections(one.corrections),
    }


def _user_ad(group: str, one: UserExplanation) -> Ad:
    return {
        "OwnerGroup": group,
        "Owner": one.owner,
        "TaskQueues": len(one.queues),
        "ExpectedShare": one.share.expected,
        "Share": one.share.share,
        **_corrections(one.corrections),
    }


def _corrections(steps: tuple[EntityCorrection, ...]) -> Ad:
    """What correctors did; the bound that cut a number is "upper" (the maximum) or "lower" (1/maximum)."""
    return {
        "Factor": factor(steps),
        "Corrections": [
            {
                "Corrector": step.corrector,
                "Instance": step.instance,
                "Expected": step.expected,
                "Fraction": step.fraction,
                "Slices": [
                    {
                        "Slice": part.name,
                        "TimeSpan": part.span,
                        "Weight": part.weight,
                        "Use": part.use,
                        "UseFraction": part.use_fraction,
                        "RawCorrection": part.raw,
                        "Correction": part.clamped,
                        "Bound": part.bound,
                        "MaxCorrection": part.maximum,
                        "Term": part.term,
                    }
                    for part in step.slices
                ],
                "RawFactor": step.raw,
                "MaxGlobalCorrection": step.maximum,
                "Factor": step.factor,
                "Bound": step.bound,
                "Share": step.share,
            }
            for step in steps
        ],
    }


def _explained_queues(world: ShareWorld, explained: list[GroupExplanation]) -> list[Ad]:
    formed = {queue.number: queue for queue in world.formed.queues}
    kept = world.priorities
    return [
        {**_queue_ad(formed[queue.queue.id], kept[queue.queue.id]), **_division(queue)}
        for one in explained
        for user in one.users
        for queue in user.queues
    ]


def _division(queue: QueueExplanation) -> Ad:
    return {
        "Background": queue.background,
        "PoolShare": queue.pool_share,
        "PoolPriorities": queue.pool_weight,
        "OwnPriority": queue.own,
        "Family": queue.family,
    }
