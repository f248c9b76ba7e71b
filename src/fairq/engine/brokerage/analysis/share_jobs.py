"""Numbers of jobs of the task's share, row by row (docs/panda.md, Analysis; a task without share: of all shares)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.columns import Floats
from fairq.engine.brokerage.pool.job_counts import QUEUED
from fairq.engine.brokerage.pool.supply import largest_running, with_slots, with_workers


def running(request: BrokerageRequest) -> Floats:
    """Return the running jobs of the share."""
    return request.columns.job_counts(request.task.gshare, "running")


def queued(request: BrokerageRequest) -> Floats:
    """Return the jobs of the share that are defined, assigned, activated or starting (nQ)."""
    columns, share = request.columns, request.task.gshare

    def make() -> Floats:
        return sum((columns.job_counts(share, state) for state in QUEUED), np.zeros(len(columns)))

    return columns.kept(("analysis queued", share), make)


def start_rate(request: BrokerageRequest) -> Floats:
    """Return the jobs of the share that start per hour (trr).

    This is the queue's rate times the share's part of the running jobs."""
    columns, share = request.columns, request.task.gshare

    def make() -> Floats:
        rates = columns.world.to_running_rates
        rate = columns.unit_numbers_of("start rate", lambda unit: rates.get(unit.name, 0.0))
        everything = columns.job_counts(None, "running")
        return np.divide(running(request) * rate, everything, out=np.zeros(len(columns)), where=everything > 0)

    return columns.kept(("share's start rate", share), make)


def counted_running(request: BrokerageRequest) -> Floats:
    """Return the jobs that count as running (nRun).

    Under the rules documented, this is the largest number (see `largest_running`). Under the rules panda, it is the
    running jobs, a few workers if there are none, and ``numSlots``, or the starting jobs if that is 0.
    """
    columns, task = request.columns, request.task

    def make() -> Floats:
        if request.rules.running_jobs == "largest":
            return largest_running(columns, running(request), task.gshare, task.resource_type)
        count = with_workers(columns, running(request), np.ones(len(columns), dtype=np.bool_))
        return with_slots(columns, count, task.gshare, task.resource_type)

    return columns.kept(("analysis nRun", request.rules.running_jobs, task.gshare, task.resource_type), make)
