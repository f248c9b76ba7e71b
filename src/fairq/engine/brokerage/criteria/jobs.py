"""Running and waiting jobs of the task's share at each queue, substitutes for running jobs, and jobs of a user.

Source: docs/panda.md, Production weight and Analysis.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.ask import Ask, once_per_task
from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.supply import QUEUED, largest_running, with_slots, with_workers
from fairq.engine.brokerage.pool.world import PRODUCTION, UserJobs


class Counting(NamedTuple):
    """How running jobs are counted for a task.

    Args:
        method: ``largest``: of running jobs and their substitutes; ``running``: running jobs only; otherwise batch
            workers or slots count under conditions.
        share: share of the jobs; None is all shares.
        resource_type: resource type of the requested slots.
    """

    method: Literal["largest", "running", "slots", "workers where pulled", "workers"]
    share: str | None
    resource_type: str | None


def counting_of(ask: Ask) -> Counting:
    """Return how running jobs are counted for a task.

    Under the rules documented, this is the largest number. Under the rules panda, in production, batch workers count if
    few jobs run at a queue that pulls jobs; for low priorities only, ``numSlots`` counts, or the starting jobs if it is
    0. In analysis, workers and slots count for every task.
    """
    task, production = ask.task, ask.activity == PRODUCTION
    share = (task.gshare or "") if production else task.gshare
    if ask.rules.running_jobs == "largest":
        return Counting("largest", share, task.resource_type)
    if not production:
        return Counting("workers", share, task.resource_type)
    if task.current_priority > ask.config.amount("jobbroker.MAX_PRIO_TO_BOOTSTRAP"):
        return Counting("running", share, None)
    return Counting("workers where pulled" if ask.preassigned is None else "slots", share, task.resource_type)


def counted_running(pool: Pool, counting: Counting) -> Floats:
    """Return the jobs that count as running at each row (nRun)."""
    method, share, resource_type = counting

    def make() -> Floats:
        count = pool.job_counts(share, "running")
        if method == "largest":
            return largest_running(pool, count, share, resource_type)
        if method == "running":
            return count
        if method == "workers where pulled":
            pulls = pool.unit_flags("pulls", lambda unit: unit.capability == "ucore" and unit.workflow == "pull_ups")
            count = with_workers(pool, count, pulls)
        elif method == "workers":
            count = with_workers(pool, count, np.ones(len(pool), dtype=np.bool_))
        return with_slots(pool, count, share, resource_type)

    return pool.kept(("nRun", counting), make)


def jobs_in(pool: Pool, share: str | None, *states: str) -> Floats:
    """Return the jobs of a share in these states at each row."""
    return sum((pool.job_counts(share, state) for state in states), np.zeros(len(pool)))


def queued_of_share(pool: Pool, share: str | None) -> Floats:
    """Return the jobs of a share that are defined, assigned, activated or starting (nQ of analysis)."""
    return pool.kept(("queued", share), lambda: jobs_in(pool, share, *QUEUED))


def many_assigned(pool: Pool, share: str) -> Floats:
    """Return for each row how many times more jobs are assigned than activated, 1 to 2."""
    assigned, activated = pool.job_counts(share, "assigned"), pool.job_counts(share, "activated")
    if pool.rules.many_assigned == "smoothed":
        return np.clip((assigned + 1) / (activated + 1), 1.0, 2.0)
    # Without activated jobs, the ratio is 2 if any job is assigned.
    factor = np.where(assigned > 0, 2.0, 1.0)
    return np.clip(np.divide(assigned, activated, out=factor, where=activated > 0), 1.0, 2.0)


def start_rate(pool: Pool, share: str | None) -> Floats:
    """Return the jobs of the share that start per hour (trr).

    This is the queue's rate times the share's part of the running jobs.
    """

    def make() -> Floats:
        rates = pool.world.to_running_rates
        rate = pool.unit_numbers_of("start rate", lambda unit: rates.get(unit.name, 0.0))
        everything, running = pool.job_counts(None, "running"), pool.job_counts(share, "running")
        return np.divide(running * rate, everything, out=np.zeros(len(pool)), where=everything > 0)

    return pool.kept(("share's start rate", share), make)


OwnTypes = tuple[tuple[str, frozenset[str]], ...]
"""By queue, the resource types of a task's own jobs there."""


class Types(NamedTuple):
    """Which jobs count by resource type: those of the share and type, or of the task's own types where it has jobs."""

    share: str
    resource_type: str
    own_types: OwnTypes


def types_of(ask: Ask) -> Types:
    """Return which jobs are counted by resource type for a task."""
    own_types = ask.pool.world.own_resource_types.get(ask.task.task_id, {})
    return Types(ask.task.gshare or "", ask.task.resource_type or "", tuple(own_types.items()))


class TypeNumbers(NamedTuple):
    """Jobs of the counted resource types at each row; *is_known* is False where there are no statistics."""

    is_known: Any
    running: Floats
    queued: Floats


def type_numbers(pool: Pool, counting: Counting, types: Types, local: Any) -> TypeNumbers:
    """Count jobs by resource type; assigned jobs are left out where all input is *local*."""
    share, resource_type, own_types = types
    by_type, own_types_by_queue = pool.world.job_stats_by_type, dict(own_types)

    def make() -> Floats:
        rows = []
        for name in pool.unit_names:
            stats = by_type.get(name, {}).get(share, {})
            counts = [stats[kind] for kind in own_types_by_queue.get(name, (resource_type,)) if kind in stats]
            states = ("running", "defined", "activated", "starting", "assigned")
            running_of_type, *waiting, assigned = (sum(jobs.get(state, 0) for jobs in counts) for state in states)
            rows.append([bool(counts), running_of_type, sum(waiting), assigned])
        return np.array(rows, np.float64).reshape(-1, 4).T

    # Own types are specific to one task, so the result is not cached.
    table = make() if own_types else pool.kept(("by type", share, resource_type), make)
    is_known, running_of_type, waiting, assigned = table[:, pool.unit_of]
    running = np.where(is_known > 0, np.maximum(running_of_type, counted_running(pool, counting)), 0)
    return TypeNumbers(is_known > 0, running, waiting + np.where(local, 0, assigned))


_DROPPED = (
    r"/(?:DC|O|OU|C|L)=[^/]+",
    r"/CN=[0-9]+",
    r" [0-9]+",
    r"_[0-9]+",
    r"/CN=(?:limited )?proxy",
    r"limited proxy",
    r"/CN=(?:Robot|nickname):[^/]+",
)
"""Parts of a certificate's name that do not identify the user."""

_PAIR = re.compile(r".*/CN=[^/]+/CN=([^/]+)")
"""Of two consecutive common names, the second is the user's."""

TOTAL = "_total"
"""The row of all users in a queue's table."""


class UserQueues(NamedTuple):
    """A user's jobs at each row.

    Args:
        is_known: whether numbers of the user were imported.
        queued, running: the user's jobs.
        limit: those that may be queued.
    """

    is_known: Booleans
    queued: Floats
    running: Floats
    limit: Floats

    @property
    def remaining(self) -> Floats:
        """Jobs that may yet be queued."""
        return np.maximum(self.limit - self.queued, 0)


class _Table(NamedTuple):
    """The tables of a share: by unit, its rows and all running jobs (NaN: unknown); by user, their jobs."""

    rows: Floats
    running: Floats
    users: dict[str, list[tuple[int, UserJobs]]]


def _table(pool: Pool, share: str) -> _Table:
    rows, running = np.ones(len(pool.unit_names)), np.full(len(pool.unit_names), np.nan)
    users: dict[str, list[tuple[int, UserJobs]]] = {}
    for name, shares in pool.world.user_stats.items():
        users_jobs, unit = shares.get(share), pool.unit_numbers.get(name)
        if users_jobs is None or unit is None:
            continue
        # PanDA counts the row of all users as one more.
        rows[unit] = max(1, len(users_jobs))
        if TOTAL in users_jobs:
            running[unit] = users_jobs[TOTAL].running
        for user, jobs in users_jobs.items():
            users.setdefault(user, []).append((unit, jobs))
    return _Table(rows[pool.unit_of], running[pool.unit_of], users)


def user_of(distinguished_name: str) -> str:
    """Return the user of a certificate; any other text is the name itself (PanDA clean_user_id)."""
    name = distinguished_name
    for part in _DROPPED:
        name = re.sub(part, "", name)
    pair = _PAIR.match(name)
    name = pair[1] if pair else name.replace("/CN=", "")
    mail = name.lower().find("/email")
    if mail > 0:
        name = name[:mail]
    name = re.sub("[()']", "", name)
    without_mail = re.sub(r" [a-z][\w.-]+@[\w-]+(?:\.[\w-]+)+", "", name).strip()
    return without_mail if " " in without_mail else name


@once_per_task
def user_queues(ask: Ask) -> UserQueues:
    """Return the jobs of the task's user, also for tasks of a working group."""
    pool, share, config = ask.pool, ask.task.gshare or "", ask.config
    table = pool.kept(("users", share), lambda: _table(pool, share))
    counts = np.zeros((3, len(pool.unit_names)))
    for unit, jobs in table.users.get(user_of(ask.task.user or ""), ()):
        counts[:, unit] = 1, jobs.queued, jobs.running
    is_known, own_queued, own_running = counts[:, pool.unit_of]
    all_running = np.where(np.isnan(table.running), pool.job_counts(ask.task.gshare, "running"), table.running)

    def setting(name: str) -> float:
        return config.amount(f"anal_jobbroker.{name}")

    max_queued = np.maximum(
        np.maximum(setting("BASE_QUEUE_LENGTH_PER_PQ"), setting("STATIC_MAX_QUEUE_RUNNING_RATIO") * all_running),
        setting("MAX_EXPECTED_WAIT_HOUR") * start_rate(pool, ask.task.gshare),
    )
    running_part = np.divide(own_running, all_running, out=np.zeros(len(all_running)), where=all_running > 0)
    limit = np.maximum(
        np.maximum(setting("BASE_DEFAULT_QUEUE_LENGTH_PER_PQ_USER"), setting("BASE_QUEUE_RATIO_ON_PQ") * all_running),
        max_queued * np.maximum(1 / table.rows, running_part),
    )
    return UserQueues(is_known > 0, own_queued, own_running, limit)
