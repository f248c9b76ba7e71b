"""Everything a brokerage run knows of the pool, at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct, field

from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.model import (
    ATLAS_RESOURCE_TYPES,
    LinkMetric,
    Pilots,
    Queue,
    Relation,
    ResourceType,
    Slots,
    Storage,
)

Counts = Mapping[str, int]
"""Numbers of jobs (or workers, cores) by state."""


class Failures(NamedTuple):
    """Jobs of one task at one queue in the last hours (``TW_DONE_JOB_STAT``)."""

    failed: int = 0
    closed: int = 0
    finished: int = 0


class UserJobs(NamedTuple):
    """Jobs of one user at one queue in one share."""

    queued: int = 0
    running: int = 0


class UserTotals(NamedTuple):
    """What a user or working group has in all."""

    queued_jobs: int = 0
    queued_cores: int = 0
    running_jobs: int = 0
    running_cores: int = 0


class Quota(NamedTuple):
    """How a user stands with disk quotas: within the global one, near it, and the endpoints that are over."""

    ok: bool = True
    near: bool = False
    endpoints_over: frozenset[str] = frozenset()


class World(Struct, frozen=True):
    """One snapshot of the pool (docs/panda.md, Queues).

    Queues are keyed by the names under which CRIC has them; what is not known is left out.

    Args:
        now: epoch seconds.
        queues: unified queues as such; pseudo queues are derived in the run.
        storages: endpoints by name.
        relations: of each queue, the endpoints that it uses.
        links: measured links to nuclei.
        job_stats: jobs by queue, share and state.
        job_stats_by_type: jobs by queue, share, resource type and state.
        transferring_by_nucleus: transferring jobs by queue and the nucleus that they go to.
        core_stats: cores of running and starting jobs by queue.
        disk_io: average kB/s per core of running jobs by queue.
        pilots: by queue; a queue left out had none in 3 hours.
        workers: batch workers by queue and state, last hour.
        slots: ``numSlots`` requests.
        to_running_rates: jobs an hour that start, by queue.
        user_stats: by queue, share and user; ``_total`` is all users.
        software: what CRIC publishes of software by queue, ``ALL`` the list of all tags.
        gpus: GPUs of the worker nodes by queue.
        cpu_levels: by queue and CPU level, per cent of the queue.
        replicas: by dataset and endpoint, the names of the files there; None: all of the dataset.
        locked: queues that another brokerage has locked.
        site_classes: 1, 0, -1 by queue.
        share_usage: used part of each share, 1 is all of its target.
        user_totals: by user or working group.
        quotas: by user or working group.
        remaining_slots: slots of class A left, by user.
        task_classes: by task.
        failures: by task and queue.
        own_resource_types: by task and queue, the resource types of the task's own jobs there.
        used_queues: by task, the queues where it already has jobs.
        config: PanDA's own settings.
    """

    now: float = 0.0
    queues: Mapping[str, Queue] = field(default_factory=dict)
    resource_types: tuple[ResourceType, ...] = ATLAS_RESOURCE_TYPES
    storages: Mapping[str, Storage] = field(default_factory=dict)
    relations: Mapping[str, tuple[Relation, ...]] = field(default_factory=dict)
    links: tuple[LinkMetric, ...] = ()
    job_stats: Mapping[str, Mapping[str, Counts]] = field(default_factory=dict)
    job_stats_by_type: Mapping[str, Mapping[str, Mapping[str, Counts]]] = field(default_factory=dict)
    transferring_by_nucleus: Mapping[str, Counts] = field(default_factory=dict)
    core_stats: Mapping[str, Counts] = field(default_factory=dict)
    disk_io: Mapping[str, float] = field(default_factory=dict)
    pilots: Mapping[str, Pilots] = field(default_factory=dict)
    workers: Mapping[str, Counts] = field(default_factory=dict)
    slots: tuple[Slots, ...] = ()
    to_running_rates: Mapping[str, float] = field(default_factory=dict)
    user_stats: Mapping[str, Mapping[str, Mapping[str, UserJobs]]] = field(default_factory=dict)
    software: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    gpus: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    cpu_levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    replicas: Mapping[str, Mapping[str, frozenset[str] | None]] = field(default_factory=dict)
    locked: frozenset[str] = frozenset()
    site_classes: Mapping[str, int] = field(default_factory=dict)
    share_usage: Mapping[str, float] = field(default_factory=dict)
    user_totals: Mapping[str, UserTotals] = field(default_factory=dict)
    quotas: Mapping[str, Quota] = field(default_factory=dict)
    remaining_slots: Mapping[str, float] = field(default_factory=dict)
    task_classes: Mapping[int, int] = field(default_factory=dict)
    failures: Mapping[int, Mapping[str, Failures]] = field(default_factory=dict)
    own_resource_types: Mapping[int, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    used_queues: Mapping[int, frozenset[str]] = field(default_factory=dict)
    config: Config = field(default_factory=Config)
