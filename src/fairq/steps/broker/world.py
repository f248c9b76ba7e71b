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
    """Queues whose statistics are not those of their imported jobs, and the first difference."""

    queues: int
    queue: str
    share: str
    state: str
    told: int
    counted: int


def jobs_of_queues(state: State) -> Numbers:
    """Return the numbers of the imported jobs."""
    found: Numbers = {}
    for queue, share, job_state, number in broker_data.counts(state, JOBS, ["computingSite", "gshare", "jobStatus"]):
        if queue and job_state in SUMMED:
            found.setdefault(queue, {}).setdefault(share, {})[job_state] = number
    return found


def disagreement(state: State) -> Disagreement | None:
    """Return where statistics and imported jobs of the same queues disagree; None if they agree."""
    counted = jobs_of_queues(state)
    if not counted:
        return None
    told: Numbers = {}
    for queue, share, _, job_state, number in broker_data.each(state, STATISTICS):
        if queue in counted and job_state in SUMMED:
            states = told.setdefault(queue, {}).setdefault(share, {})
            states[job_state] = states.get(job_state, 0) + number
    found: dict[str, Disagreement] = {}
    for queue in sorted(told):
        for share in sorted({*told[queue], *counted[queue]}):
            of_share = told[queue].get(share, {}), counted[queue].get(share, {})
            for job_state in SUMMED:
                numbers: tuple[Any, Any] = of_share[0].get(job_state, 0), of_share[1].get(job_state, 0)
                if numbers[0] != numbers[1]:
                    found.setdefault(queue, Disagreement(0, queue, share, job_state, *numbers))
    return next(iter(found.values()))._replace(queues=len(found)) if found else None


Nested = dict[str, Any]

_OTHER_SHARES = "\n"
"""The name under which the jobs of other shares are summed up, which is no share's."""


def load_world(state: State, now: float, datasets: Iterable[str] | None = None, *, share: str | None = None) -> World:
    """Return the pool at *now*, with the replicas of *datasets* (None: of all).

    *share*: of the jobs of other shares, tell no more than their sum: all that fairq's own filters and weights read.
    """
    metrics = _by_name(state, METRICS)
    users = _by_name(state, USERS)
    outcomes = broker_data.load(state, OUTCOMES)
    jobs, jobs_by_type = _jobs(state) if share is None else _jobs_for(state, share)
    # Where the statistics have no line of a queue, its imported jobs are counted.
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
            queue: {"running": one["running_cores"], "starting": one["starting_cores"]}
            for queue, one in metrics.items()
        },
        disk_io=_present(metrics, "diskio"),
        pilots={row[0]: Pilots(*row[1:]) for row in broker_data.load(state, PILOTS)},
        workers=_nested(broker_data.load(state, WORKERS)),
        slots=tuple(
            Slots(queue, share or None, kind or None, number, expires)
            for queue, share, kind, number, expires in broker_data.load(state, SLOTS)
        ),
        to_running_rates=_present(metrics, "to_running_rate"),
        user_stats=_user_stats(broker_data.load(state, USERSTATISTICS)),
        software=_software(state),
        gpus=_gpus(state),
        cpu_levels=_nested(broker_data.load(state, CPULEVELS)),
        replicas=_replicas(state, datasets),
        locked=frozenset(queue for queue, one in metrics.items() if one["locked"]),
        site_classes=_present(metrics, "site_class"),
        share_usage=dict(broker_data.load(state, SHARES)),
        user_totals={
            name: UserTotals(one["nQueuedJobs"], one["nQueuedCores"], one["nRunJobs"], one["nRunCores"])
            for name, one in users.items()
        },
        quotas={
            name: Quota(one["quota_ok"], one["quota_near"], frozenset(one["endpoints_over"]))
            for name, one in users.items()
        },
        remaining_slots=_present(users, "rem_slots_A"),
        task_classes=dict(broker_data.load(state, TASKS, ["jediTaskID", "taskClass"], known="taskClass")),
        failures=_of_tasks((task, queue, Failures(*numbers)) for task, queue, *numbers, _, _ in outcomes),
        own_resource_types=_of_tasks(
            (task, queue, frozenset(types)) for task, queue, _, _, _, types, _ in outcomes if types
        ),
        used_queues=_used(outcomes),
        config=load_config(state),
    )


def unknown_queue(name: str, names: Iterable[str]) -> UnknownQueueError:
    """Return the error for the *name* of no queue; *names* are those of the queues."""
    close = nearest(name, names)
    return UnknownQueueError(queue=name, hint=f"did you mean {close}?" if close else "'fairq broker queues' lists them")


def load_queues(state: State) -> dict[str, Queue]:
    """Return the queues; a missing role is that of the site."""
    roles: dict[str, str] = dict(broker_data.load(state, SITES))
    # All fields but those of pseudo queues, which are the last ones.
    names = [name for name in Queue.__struct_fields__ if name in QUEUES.positions]
    fields = broker_data.load_columns(state, QUEUES, names)
    fields["role"] = [role or roles.get(site, "") for role, site in zip(fields["role"], fields["site"], strict=True)]
    fields["releases"] = list(map(tuple, fields["releases"]))
    return dict(zip(fields["name"], map(Queue, *fields.values()), strict=True))


def load_types(state: State) -> tuple[ResourceType, ...]:
    """Return the resource types of the pool, or those of ATLAS if it has none of its own."""
    own = tuple(ResourceType(*row) for row in broker_data.load(state, TYPES))
    # Narrow ones first, as a task's own type is the first that fits.
    narrow = sorted(own, key=lambda one: (one.mincore, one.maxcore is None, one.minrampercore or 0, one.name))
    return tuple(narrow) or ATLAS_RESOURCE_TYPES


def load_storages(state: State) -> dict[str, Storage]:
    """Return the storage endpoints by name."""
    return {row[0]: Storage(*row) for row in broker_data.load(state, STORAGES)}


def load_relations(state: State) -> dict[str, tuple[Relation, ...]]:
    """Return the storage that each queue uses."""
    found: dict[str, list[Relation]] = defaultdict(list)
    for queue, rse, scope, roles, default_read, default_write, order_read, order_write in broker_data.load(
        state, RELATIONS
    ):
        found[queue].append(
            Relation(rse, frozenset(roles), default_read, default_write, scope, order_read, order_write)
        )
    return {queue: tuple(relations) for queue, relations in found.items()}


def _by_name(state: State, kind: Kind) -> dict[str, dict[str, Any]]:
    return {row[0]: dict(zip(kind.positions, row, strict=True)) for row in broker_data.load(state, kind)}


def _present(records: dict[str, dict[str, Any]], column: str) -> dict[str, Any]:
    return {name: record[column] for name, record in records.items() if record[column] is not None}


def _nested(rows: Iterable[broker_data.Row]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for first, second, value in rows:
        found[first][second] = value
    return dict(found)


def _jobs(state: State) -> tuple[Nested, Nested]:
    """Return the jobs by queue, share and state, and by queue, share, resource type and state."""
    jobs: Nested = {}
    by_type: Nested = {}
    states: dict[str, int] = {}
    types: dict[str, dict[str, int]] = {}
    of = None
    # They come in the order of these columns. Most of what a pool tells is here, so no group is made of them first.
    for queue, share, kind, job_state, number in broker_data.each(state, STATISTICS):
        if of != (queue, share):
            of, states, types = (queue, share), {}, {}
            jobs.setdefault(queue, {})[share] = states
        states[job_state] = states.get(job_state, 0) + number
        if kind:
            if kind not in types:
                types[kind] = {}
                by_type.setdefault(queue, {})[share] = types
            types[kind][job_state] = number
    return jobs, by_type


def _jobs_for(state: State, share: str) -> tuple[Nested, Nested]:
    """Return the jobs as `_jobs` does, of *share* alone and of all others together; the states that are read."""
    jobs: Nested = {}
    by_type: Nested = {}
    sums = partial(broker_data.totals, state, STATISTICS, "n", "state", SUMMED)
    for queue, kind, *numbers in sums(["queue", "resource_type"], ("gshare", "=", share)):
        found = dict(zip(SUMMED, numbers, strict=True))
        others = jobs.setdefault(queue, {}).get(share)
        jobs[queue][share] = found if others is None else {one: others[one] + found[one] for one in SUMMED}
        if kind:
            by_type.setdefault(queue, {}).setdefault(share, {})[kind] = found
    for queue, *numbers in sums(["queue"], ("gshare", "<>", share)):
        jobs.setdefault(queue, {})[_OTHER_SHARES] = dict(zip(SUMMED, numbers, strict=True))
    return jobs, by_type


def _user_stats(rows: Iterable[broker_data.Row]) -> Nested:
    found: Nested = {}
    for queue, share, user, queued, running in rows:
        found.setdefault(queue, {}).setdefault(share, {})[user] = UserJobs(queued, running)
    return found


def _software(state: State) -> dict[str, dict[str, Any]]:
    names = list(SOFTWARE.positions)[1:]
    return {row[0]: dict(zip(names, row[1:], strict=True)) for row in broker_data.load(state, SOFTWARE)}


def _gpus(state: State) -> dict[str, tuple[dict[str, Any], ...]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    names = list(GPUS.positions)[1:]
    for queue, *values in broker_data.load(state, GPUS):
        told = zip(names, values, strict=True)
        found[queue].append({name: value for name, value in told if value not in (None, "")})
    return {queue: tuple(cards) for queue, cards in found.items()}


def _replicas(state: State, datasets: Iterable[str] | None) -> dict[str, dict[str, frozenset[str] | None]]:
    wanted = None if datasets is None else set(datasets)
    found: dict[str, dict[str, frozenset[str] | None]] = defaultdict(dict)
    for columns in broker_data.columns_of_each(state, REPLICAS, ["dataset", "rse", "files"], wanted):
        for dataset, rse, files in zip(*columns.values(), strict=True):
            found[dataset][rse] = None if files is None else frozenset(files)
    return dict(found)


def _of_tasks(rows: Iterable[tuple[int, str, Any]]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    for task, queue, value in rows:
        found[task][queue] = value
    return dict(found)


def _used(outcomes: list[broker_data.Row]) -> dict[int, frozenset[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for task, queue, *_, used in outcomes:
        if used:
            found[task].add(queue)
    return {task: frozenset(queues) for task, queues in found.items()}
