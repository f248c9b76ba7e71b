"""What a brokerage run knows of the pool at one moment: queues, storage, links, jobs; records without rules.

Field names are PanDA's and CRIC's in lower case. Sizes that PanDA calls MB are MiB; storage space is GB, times are
seconds (docs/panda.md, Queues)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

from msgspec import Struct, field

from fairq.engine.brokerage.pool.config import Config

Activity = Literal["production", "analysis"]
PRODUCTION: Activity = "production"
ANALYSIS: Activity = "analysis"


UCORE = "ucore"
"""The capability of a unified queue, which is brokered through its pseudo queues."""


class Queue(Struct, frozen=True):
    """A PanDA queue as CRIC publishes it, or a pseudo queue ``QUEUE/TYPE`` of a unified one (docs/panda.md, Queues).

    Args:
        name: its name; for a pseudo queue with a slash and the resource type.
        site: the site that it belongs to (CRIC ``atlas_site``).
        role: the site's role: ``nucleus``, ``satellite`` or other.
        cloud: the first cloud of the list.
        type: ``production``, ``analysis``, ``unified`` or ``special``.
        status: ``online``, ``offline``, ``brokeroff``, ``test``, ``standby``, ``paused`` or unknown to PanDA.
        capability: ``ucore`` is a unified queue.
        workflow: ``pull_ups``, ``push``, ...
        corecount: cores of a slot; 0 is not given.
        maxrss, minrss: MiB of memory of the whole slot; None is no limit.
        maxwdir: MiB of scratch of a slot; 0 is no limit.
        maxtime, mintime: seconds of wall time; 0 is no limit.
        maxinputsize: MiB; -1: the queue always reads its input directly.
        corepower: HS06 per core.
        releases: ``("ANY",)``, ``("AUTO",)`` or others.
        fairsharepolicy: the tasks without a share here (docs/panda.md, Fair share policies); empty refuses none.
        wnconnectivity: network access of the worker nodes (docs/panda.md, Connectivity); empty is unspecified.
        transferringlimit: maximum number of transferring jobs; 0 is PanDA's default.
        pledgedcpu: cores pledged; -1 is an opportunistic queue.
        maxdiskio: kB/s of disk traffic per core; 0 is PanDA's default.
        direct_access_lan, direct_access_wan: whether jobs may read input from local, and from remote storage.
        jobseed: which jobs of event service: ``std``, ``es``, ``all``, ``eshigh``.
        catchall: flags ``name`` or ``name=value``, separated by commas (see `Flags`).
        params: CRIC's extra parameters, looked up before *catchall*.
        unified: the unified queue of a pseudo queue; otherwise the queue's own name.
        resource_type: the resource type of a pseudo queue; otherwise empty.
    """

    name: str
    site: str = ""
    role: str = ""
    cloud: str = ""
    type: str = "production"
    status: str = ""
    capability: str = ""
    workflow: str = ""
    corecount: int = 0
    maxrss: float | None = None
    minrss: float | None = None
    maxwdir: float = 0
    maxtime: float = 0
    mintime: float = 0
    maxinputsize: float | None = None
    corepower: float = 0
    releases: tuple[str, ...] = ()
    fairsharepolicy: str = ""
    wnconnectivity: str = ""
    transferringlimit: int = 0
    pledgedcpu: int = 0
    maxdiskio: float = 0
    direct_access_lan: bool = False
    direct_access_wan: bool = False
    jobseed: str = "std"
    catchall: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    unified: str = ""
    resource_type: str = ""

    @property
    def unit(self) -> str:
        """The name of this queue in statistics, links, storage, pilots and software."""
        return self.unified or self.name

    @property
    def is_unified(self) -> bool:
        """Whether it is brokered only through its pseudo queues."""
        return self.capability == UCORE and not self.resource_type


class ResourceType(Struct, frozen=True):
    """A kind of slot; memory bounds in MiB per core, None is unbounded (docs/panda.md, Queues)."""

    name: str
    mincore: int = 0
    maxcore: int | None = None
    minrampercore: float | None = None
    maxrampercore: float | None = None


ATLAS_RESOURCE_TYPES = (
    ResourceType("SCORE", 1, 1, None, 2000),
    ResourceType("SCORE_HIMEM", 1, 1, 2001, None),
    ResourceType("MCORE", 2, None, None, 2000),
    ResourceType("MCORE_HIMEM", 2, None, 2001, None),
)
"""The resource types of ATLAS, used for a pool without types of its own."""


class Storage(Struct, frozen=True, dict=True):
    """A storage endpoint (RSE); space in GB, *activities* maps ``read_lan``, ``write_lan``, ``read_wan``,
    ``write_wan`` to a state, where only ``OFF`` and ``TEST`` are down (docs/panda.md, Queues)."""

    rse: str
    site: str = ""
    type: str = "DATADISK"
    is_tape: bool = False
    space_free: float = 0
    space_expired: float = 0
    space_min_free: float = 0
    space_unavailable: float = 0
    activities: Mapping[str, str] = field(default_factory=dict)
    blacklisted_read: bool = False

    @property
    def space_usable(self) -> float:
        """Usable GB: free and expired space, less the space to keep free and the reserved space."""
        return self.space_free + self.space_expired - self.space_min_free - self.space_unavailable

    def space(self, kind: Literal["free", "usable"]) -> float:
        """Return the free or usable GB; the usable GB if no free space is known."""
        return self.space_free or self.space_usable if kind == "free" else self.space_usable

    @cached_property
    def is_readable_near(self) -> bool:
        """Whether it can be read over LAN."""
        return self.is_up("read_lan")

    @cached_property
    def is_readable_afar(self) -> bool:
        """Whether it can be read over WAN."""
        return self.is_up("read_wan")

    def is_up(self, activity: str) -> bool:
        """Return whether *activity* is in service: every state except OFF and TEST, unknown states included."""
        return self.activities.get(activity) not in {"OFF", "TEST"}


class Relation(Struct, frozen=True):
    """How a queue uses an endpoint, in a *scope* (``default`` or ``analysis``): *roles* holds ``read_lan`` and
    ``write_lan``, ascending *order_read* and *order_write* are preferences (docs/panda.md, Queues)."""

    rse: str
    roles: frozenset[str] = frozenset({"read_lan", "write_lan"})
    default_read: bool = True
    default_write: bool = True
    scope: str = "default"
    order_read: int = 0
    order_write: int = 0


class LinkMetric(Struct, frozen=True):
    """One metric of the link from *source* to *nucleus*; *measured* is its time, None is now
    (docs/panda.md, Queues)."""

    source: str
    nucleus: str
    key: str
    value: float
    measured: float | None = None


class Pilots(Struct, frozen=True):
    """Pilots of a queue in the last 3 hours, and the time of the last job start there (None: unknown)."""

    get_job: int = 0
    update_job: int = 0
    last_start: float | None = None


class Slots(Struct, frozen=True):
    """A request for slots kept filled at a queue (``numSlots``) for a share and resource type; None is all of
    them, a negative *number* is ignored, *expires* None is never."""

    queue: str
    share: str | None = None
    resource_type: str | None = None
    number: int = 0
    expires: float | None = None


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
