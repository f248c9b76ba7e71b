"""Numbers of jobs for weights and caps (docs/panda.md, Production weight)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_task
from fairq.engine.brokerage.pool.columns import Booleans, Floats
from fairq.engine.brokerage.pool.supply import largest_running, with_slots, with_workers
from fairq.engine.brokerage.pool.world import Counts
from fairq.engine.brokerage.production.input_data import input_data

RUNNING_FACTOR = 2
"""Queued jobs that a queue may have per running job."""


class TypeNumbers(NamedTuple):
    """Jobs of the task's resource types at each row; *known* is False where no number is known."""

    known: Booleans
    running: Floats
    queued: Floats


def running(request: BrokerageRequest) -> Floats:
    """Return the jobs that count as running at each row (nRun), of the task's share.

    Under the rules documented, this is the largest of the running jobs and their substitutes (see `largest_running`).
    Under the rules panda, if few jobs run at a queue that pulls jobs, batch workers count instead. For low priorities
    only, ``numSlots`` counts as running, or the starting jobs if it is 0.
    """
    return request.columns.kept(("nRun", *running_key(request)), lambda: _running(request))


RUNNING_READS = "task.gshare", "task.resource_type", "task.current_priority", "preassigned"
"""What `running_key` reads of a request."""


@once_per_task
def running_key(request: BrokerageRequest) -> tuple[Hashable, ...]:
    """Return everything that `running` reads of a task and of the rules."""
    task = request.task
    if request.rules.running_jobs == "largest":
        return "largest", task.gshare, task.resource_type
    if task.current_priority > request.config.amount("jobbroker.MAX_PRIO_TO_BOOTSTRAP"):
        return "running", task.gshare
    return "bootstrapped", task.gshare, task.resource_type, request.preassigned is None


def _running(request: BrokerageRequest) -> Floats:
    task, columns, how = request.task, request.columns, running_key(request)[0]
    count = columns.job_counts(task.gshare or "", "running")
    if how == "largest":
        return largest_running(columns, count, task.gshare or "", task.resource_type)
    return _bootstrapped(request, count) if how == "bootstrapped" else count


def _bootstrapped(request: BrokerageRequest, count: Floats) -> Floats:
    columns, task = request.columns, request.task
    if request.preassigned is None:
        pulling = columns.unit_flags("pulls", lambda unit: unit.capability == "ucore" and unit.workflow == "pull_ups")
        count = with_workers(columns, count, pulling)
    return with_slots(columns, count, task.gshare or "", task.resource_type)


def of_input(request: BrokerageRequest, far: int, near: int) -> int:
    """Return the members of *near* among the queues with all input on disk, and of *far* among the others."""
    local = input_data(request).local
    return (far & ~local) | (near & local)


@once_per_task
def by_type(request: BrokerageRequest) -> TypeNumbers:
    """Return the jobs of the resource types that count at each row: those of the task's own jobs there, else its own
    type. Assigned jobs are left out where all input is local."""
    return type_numbers(request, input_data(request).is_local)


def own_types(request: BrokerageRequest) -> Mapping[str, frozenset[str]]:
    """Return the resource types of the task's own jobs by queue; other tasks with the same needs have others."""
    return request.world.own_resource_types.get(request.task.task_id, {})


def type_numbers(request: BrokerageRequest, local: Booleans | bool) -> TypeNumbers:
    """Return `by_type` as if the input were *local*."""
    task, columns, own = request.task, request.columns, own_types(request)
    key: Hashable = ("by type", task.gshare, task.resource_type)
    common = columns.kept(key, lambda: _unit_table(request, {}))
    table = common
    if own:
        table = common.copy()
        numbers = [columns.unit_numbers[name] for name in own if name in columns.unit_numbers]
        table[:, numbers] = _unit_table(request, own)[:, numbers]
    known, run, waiting, assigned = table[:, columns.unit_of]
    return TypeNumbers(
        known > 0,
        np.where(known > 0, np.maximum(run, running(request)), 0),
        waiting + np.where(local, 0, assigned),
    )


def _unit_table(request: BrokerageRequest, own: Mapping[str, frozenset[str]]) -> Floats:
    # One column per unit: whether there are numbers, running, defined with activated and starting, assigned.
    share, otherwise = request.task.gshare or "", (request.task.resource_type or "",)
    by_type, names = request.world.job_stats_by_type, request.columns.unit_names
    lines = [_numbers_of(by_type.get(name, {}).get(share, {}), own.get(name, otherwise)) for name in names]
    return np.array(lines, dtype=np.float64).reshape(-1, 4).T


def _numbers_of(stats: Mapping[str, Counts], kinds: Iterable[str]) -> tuple[int, int, int, int]:
    known, run, waiting, assigned = 0, 0, 0, 0
    for kind in kinds:
        counts = stats.get(kind)
        if counts is not None:
            known, run = 1, run + counts.get("running", 0)
            waiting += counts.get("defined", 0) + counts.get("activated", 0) + counts.get("starting", 0)
            assigned += counts.get("assigned", 0)
    return known, run, waiting, assigned


def queued(request: BrokerageRequest) -> Floats:
    """Return the jobs queued at each row (nQ): activated, starting, and assigned where input must be moved.

    Under the rules documented, defined jobs are queued as well.
    """
    return queued_if(request, input_data(request).is_local)


def queued_if(request: BrokerageRequest, local: Booleans | bool) -> Floats:
    """Return `queued` as if the input were *local*."""
    columns, share = request.columns, request.task.gshare or ""
    waiting = columns.job_counts(share, "activated") + columns.job_counts(share, "starting")
    if request.rules.queue_caps == "running":
        waiting = waiting + columns.job_counts(share, "defined")
    return waiting + np.where(local, 0, columns.job_counts(share, "assigned"))


def least_cap(request: BrokerageRequest) -> float:
    """Return the queued jobs that any queue may have.

    None under the rules documented, else ``NQUEUELIMITSITE`` of the share.
    """
    if request.rules.queue_caps == "running":
        return 0.0
    return request.config.amount("jobbroker.NQUEUELIMITSITE", request.task.gshare)


def cap(request: BrokerageRequest) -> Floats:
    """Return the queued jobs that each row may have."""
    return cap_of(request, running(request))


def type_cap(request: BrokerageRequest) -> Floats:
    """Return the queued jobs of the task's resource types that each row may have."""
    return cap_of(request, by_type(request).running)


def cap_of(request: BrokerageRequest, jobs: Floats) -> Floats:
    """Return the queued jobs that rows with so many running *jobs* may have."""
    return np.maximum(least_cap(request), RUNNING_FACTOR * jobs)


def is_idle(request: BrokerageRequest) -> Booleans:
    """Return for each row whether no job of the share runs or waits there."""
    columns, share = request.columns, request.task.gshare or ""

    def make() -> Booleans:
        states = ("activated", "assigned", "starting", "defined")
        waiting = sum((columns.job_counts(share, state) for state in states), np.zeros(len(columns)))
        idle: Booleans = running(request) + waiting == 0
        return idle

    return columns.kept(("idle", *running_key(request)), make)
