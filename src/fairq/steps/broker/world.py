"""Load the pool for a brokerage run, as the engine's snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from fairq.columns.broker.column import Kind
from fairq.columns.broker.counts import (
    METRICS,
    OUTCOMES,
    PILOTS,
    SHARES,
    SLOTS,
    STATISTICS,
    TRANSFERRING,
    USERS,
    USERSTATISTICS,
    WORKERS,
)
from fairq.columns.broker.places import CPULEVELS, GPUS, LINKS, QUEUES, RELATIONS, SITES, SOFTWARE, STORAGES, TYPES
from fairq.columns.broker.work import JOBS, REPLICAS, TASKS
from fairq.engine.brokerage.pool.supply import SUMMED
from fairq.engine.brokerage.pool.world import (
    ATLAS_RESOURCE_TYPES,
    Failures,
    LinkMetric,
    Pilots,
    Queue,
    Quota,
    Relation,
    ResourceType,
    Slots,
    Storage,
    UserJobs,
    UserTotals,
    World,
)
from fairq.errors.broker import UnknownQueueError
from fairq.errors.nearest import nearest
from fairq.state import broker_data
from fairq.state.connection import State
from fairq.steps.broker.config import load_config

Numbers = dict[str, dict[str, dict[str, int]]]
"""By queue, share and state; the states that the brokerage reads."""


class Disagreement(NamedTuple):
    """Queues whose statistics differ from their imported jobs: their number, and the first difference."""

    queues: int
    queue: str
    share: str
    state: str
    told: int
    counted: int


def jobs_of_queues(state: State) -> Numbers:
    """Return the numbers of the imported jobs."""
    counts = broker_data.counts(state, JOBS, ["computingSite", "gshare", "jobStatus"])
    return _nested(row for row in counts if row[0] and row[2] in SUMMED)


def disagreement(state: State) -> Disagreement | None:
    """Return where statistics and imported jobs of the same queues disagree; None if they agree."""
    counted = jobs_of_queues(state)
    if not counted:
        return None
    published: Numbers = {}
    for queue, share, _, job_state, number in broker_data.each(state, STATISTICS):
        if queue in counted and job_state in SUMMED:
            states = published.setdefault(queue, {}).setdefault(share, {})
            states[job_state] = states.get(job_state, 0) + number
    differences: dict[str, Disagreement] = {}
    for queue in sorted(published):
        for share in sorted({*published[queue], *counted[queue]}):
            share_states = published[queue].get(share, {}), counted[queue].get(share, {})
            for job_state in SUMMED:
                numbers: tuple[Any, Any] = share_states[0].get(job_state, 0), share_states[1].get(job_state, 0)
                if numbers[0] != numbers[1]:
                    differences.setdefault(queue, Disagreement(0, queue, share, job_state, *numbers))
    return next(iter(differences.values()))._replace(queues=len(differences)) if differences else None


Nested = dict[str, Any]

_OTHER_SHARES = "\n"
"""Stands for all other shares together; no share has this name."""


def load_world(state: State, now: float, datasets: Iterable[str] | None = None, *, share: str | None = None) -> World:
    """Return the pool at *now*, with the replicas of *datasets* (None: of all).

    *share*: sum the jobs of all other shares, which is enough for fairq's own filters and weights.
    """
    metrics = _by_name(state, METRICS)
    users = _by_name(state, USERS)
    outcomes = broker_data.load(state, OUTCOMES)
    jobs, jobs_by_type = _jobs(state) if share is None else _jobs_for(state, share)
    # Count the imported jobs of queues without statistics.
    jobs = {**jobs_of_queues(state), **jobs}
    return World(
        now=now,
        queues=load_queues(state),
        resource_types=load_types(state),
        storages=load_storages(state),
        relations=load_relations(state),
        links=tuple(LinkMetric(*row) for row in broker_data.load(state, LINKS)),
        job_stats=jobs,
        job_stats_by_type=jobs_by_type,
        transferring_by_nucleus=_nested(broker_data.load(state, TRANSFERRING)),
        core_stats={
            queue: {"running": record["running_cores"], "starting": record["starting_cores"]}
            for queue, record in metrics.items()
        },
        disk_io=_present(metrics, "diskio"),
        pilots={row[0]: Pilots(*row[1:]) for row in broker_data.load(state, PILOTS)},
        workers=_nested(broker_data.load(state, WORKERS)),
        slots=tuple(
            Slots(queue, share or None, kind or None, number, expires)
            for queue, share, kind, number, expires in broker_data.load(state, SLOTS)
        ),
        to_running_rates=_present(metrics, "to_running_rate"),
        user_stats=_nested(
            (*keys, UserJobs(queued, running)) for *keys, queued, running in broker_data.load(state, USERSTATISTICS)
        ),
        software=_by_name(state, SOFTWARE),
        gpus=_gpus(state),
        cpu_levels=_nested(broker_data.load(state, CPULEVELS)),
        replicas=_replicas(state, datasets),
        locked=frozenset(queue for queue, record in metrics.items() if record["locked"]),
        site_classes=_present(metrics, "site_class"),
        share_usage=dict(broker_data.load(state, SHARES)),
        user_totals={
            name: UserTotals(record["nQueuedJobs"], record["nQueuedCores"], record["nRunJobs"], record["nRunCores"])
            for name, record in users.items()
        },
        quotas={
            name: Quota(record["quota_ok"], record["quota_near"], frozenset(record["endpoints_over"]))
            for name, record in users.items()
        },
        remaining_slots=_present(users, "rem_slots_A"),
        task_classes=dict(broker_data.load(state, TASKS, ["jediTaskID", "taskClass"], known="taskClass")),
        failures=_nested((task, queue, Failures(*numbers)) for task, queue, *numbers, _, _ in outcomes),
        own_resource_types=_nested(
            (task, queue, frozenset(types)) for task, queue, _, _, _, types, _ in outcomes if types
        ),
        used_queues={
            task: frozenset(queues)
            for task, queues in _nested((task, queue, used) for task, queue, *_, used in outcomes if used).items()
        },
        config=load_config(state),
    )


def unknown_queue(name: str, names: Iterable[str]) -> UnknownQueueError:
    """Return the error for an unknown queue *name*; *names* are the known queues."""
    close = nearest(name, names)
    return UnknownQueueError(queue=name, hint=f"did you mean {close}?" if close else "'fairq broker queues' lists them")


def load_queues(state: State) -> dict[str, Queue]:
    """Return the queues; a queue without a role gets the role of its site."""
    roles: dict[str, str] = dict(broker_data.load(state, SITES))
    # Skip the fields of pseudo queues, which come last.
    names = [name for name in Queue.__struct_fields__ if name in QUEUES.positions]
    fields = broker_data.load_columns(state, QUEUES, names)
    fields["role"] = [role or roles.get(site, "") for role, site in zip(fields["role"], fields["site"], strict=True)]
    fields["releases"] = list(map(tuple, fields["releases"]))
    return dict(zip(fields["name"], map(Queue, *fields.values()), strict=True))


def load_types(state: State) -> tuple[ResourceType, ...]:
    """Return the resource types of the pool, or those of ATLAS if it has none of its own."""
    stored = tuple(ResourceType(*row) for row in broker_data.load(state, TYPES))
    # Narrow ones first, as a task's own type is the first that fits.
    by_width = sorted(
        stored,
        key=lambda resource_type: (
            resource_type.mincore,
            resource_type.maxcore is None,
            resource_type.minrampercore or 0,
            resource_type.name,
        ),
    )
    return tuple(by_width) or ATLAS_RESOURCE_TYPES


def load_storages(state: State) -> dict[str, Storage]:
    """Return the storage endpoints by name."""
    return {row[0]: Storage(*row) for row in broker_data.load(state, STORAGES)}


def load_relations(state: State) -> dict[str, tuple[Relation, ...]]:
    """Return the storage that each queue uses."""
    relations_by_queue: dict[str, list[Relation]] = defaultdict(list)
    for queue, rse, scope, roles, default_read, default_write, order_read, order_write in broker_data.load(
        state, RELATIONS
    ):
        relations_by_queue[queue].append(
            Relation(rse, frozenset(roles), default_read, default_write, scope, order_read, order_write)
        )
    return {queue: tuple(relations) for queue, relations in relations_by_queue.items()}


def _by_name(state: State, kind: Kind) -> dict[str, dict[str, Any]]:
    """Return the other columns of each record by its key."""
    _, *names = kind.positions
    return {key: dict(zip(names, values, strict=True)) for key, *values in broker_data.load(state, kind)}


def _present(records: dict[str, dict[str, Any]], column: str) -> dict[str, Any]:
    return {name: record[column] for name, record in records.items() if record[column] is not None}


def _nested(rows: Iterable[broker_data.Row]) -> dict[Any, dict[Any, Any]]:
    """Return the last value of each row, by its first value, its second one and so on."""
    nested: dict[Any, dict[Any, Any]] = {}
    for *keys, last, value in rows:
        level = nested
        for key in keys:
            level = level.setdefault(key, {})
        level[last] = value
    return nested


def _jobs(state: State) -> tuple[Nested, Nested]:
    """Return the jobs by queue, share and state, and by queue, share, resource type and state."""
    jobs: Nested = {}
    by_type: Nested = {}
    for queue, share, kind, job_state, number in broker_data.each(state, STATISTICS):
        states = jobs.setdefault(queue, {}).setdefault(share, {})
        states[job_state] = states.get(job_state, 0) + number
        if kind:
            by_type.setdefault(queue, {}).setdefault(share, {}).setdefault(kind, {})[job_state] = number
    return jobs, by_type


def _jobs_for(state: State, share: str) -> tuple[Nested, Nested]:
    """Return the jobs as `_jobs` does, for *share* and for all other shares summed, in the states that are read."""
    jobs: Nested = {}
    by_type: Nested = {}
    sums = partial(broker_data.totals, state, STATISTICS, "n", "state", SUMMED)
    for queue, kind, *numbers in sums(["queue", "resource_type"], ("gshare", "=", share)):
        counts = dict(zip(SUMMED, numbers, strict=True))
        others = jobs.setdefault(queue, {}).get(share)
        jobs[queue][share] = (
            counts if others is None else {job_state: others[job_state] + counts[job_state] for job_state in SUMMED}
        )
        if kind:
            by_type.setdefault(queue, {}).setdefault(share, {})[kind] = counts
    for queue, *numbers in sums(["queue"], ("gshare", "<>", share)):
        jobs.setdefault(queue, {})[_OTHER_SHARES] = dict(zip(SUMMED, numbers, strict=True))
    return jobs, by_type


def _gpus(state: State) -> dict[str, tuple[dict[str, Any], ...]]:
    cards_by_queue: dict[str, list[dict[str, Any]]] = defaultdict(list)
    names = list(GPUS.positions)[1:]
    for queue, *values in broker_data.load(state, GPUS):
        fields = zip(names, values, strict=True)
        cards_by_queue[queue].append({name: value for name, value in fields if value not in (None, "")})
    return {queue: tuple(cards) for queue, cards in cards_by_queue.items()}


def _replicas(state: State, datasets: Iterable[str] | None) -> dict[str, dict[str, frozenset[str] | None]]:
    names = None if datasets is None else set(datasets)
    batches = broker_data.columns_of_each(state, REPLICAS, ["dataset", "rse", "files"], names)
    return _nested(
        (dataset, rse, None if files is None else frozenset(files))
        for columns in batches
        for dataset, rse, files in zip(*columns.values(), strict=True)
    )
