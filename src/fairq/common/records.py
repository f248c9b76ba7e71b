"""Plain records exchanged between the layers: data without rules."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Any

from msgspec import Struct, field

from fairq.common.procs import ProcRange, Procs

PROC_PLACEHOLDER = "$(ProcId)"
"""Placeholder for the proc's number in the values of a range's template."""

OVER_RESOURCES, UNUSABLE, UNFORESEEN = 34, 90, 91
"""Hold codes: too much memory (condor_holdcodes.h), and two that HTCondor does not use: an unusable value of the job,
and an unexpected error."""

Ad = dict[str, Any]
"""A ClassAd as HTCondor's ``-json`` prints it: an expression is the string ``/Expr(...)/``."""


class JobStatus(IntEnum):
    """HTCondor's numbers for the state of a job."""

    IDLE = 1
    RUNNING = 2
    REMOVED = 3
    COMPLETED = 4
    HELD = 5
    WAITING = 9  # for a condition before it is idle (`fairq.common.waits`); its ad says that it is idle


class Actor(Struct, frozen=True):
    """The user who changes the state, the command, the *time* in seconds since 1970, and the *reason* if given.

    An *administrator* may change everything, other users only what is theirs. *unix_groups* are the names of the user's
    groups. *request* has the id of the request to a host's pool for this change, and the id of this attempt to fulfil
    it.
    """

    user: str
    command: str
    time: int
    reason: str | None = None
    administrator: bool = True
    unix_groups: frozenset[str] = frozenset()
    request: tuple[str, str] | None = None


class Lease(Struct):
    """A temporary value: at *expiration* (seconds since 1970) *prelease_value* is restored."""

    expiration: int
    prelease_value: float


class AccountingRecord(Struct):
    """One record of the accountant for a submitter or an accounting group (reference: Customer table).

    Usage is in slots (or slot weight), times in seconds since 1970, accumulated usage in slot-seconds.
    """

    name: str
    is_group: bool = False
    priority: float = 0.5
    priority_factor: float | None = None
    resources_used: int = 0
    weighted_resources_used: float = 0.0
    hier_weighted_resources_used: float = 0.0
    uncharged_time: float = 0.0
    weighted_uncharged_time: float = 0.0
    accumulated_usage: float = 0.0
    weighted_accumulated_usage: float = 0.0
    begin_usage_time: int = 0
    last_usage_time: int = 0
    ceiling: int = -1
    floor: int = 0
    ceiling_lease: Lease | None = None
    floor_lease: Lease | None = None
    factor_lease: Lease | None = None
    submitter_share: float | None = None
    submitter_limit: float | None = None


class SlotRecord(Struct):
    """A slot of the pool: its ad as advertised, and whether it is being drained. *id* is its pool order."""

    id: int
    name: str
    ad: Ad
    address: str = ""
    draining: bool = False


class DynamicSlot(Struct):
    """A slot that fairq carved out of the partitionable slot *parent_id*: *carved* has the amount of each resource.

    The slot's own ad has only the differences from its parent's ad.
    """

    slot_id: int
    parent_id: int
    carved: dict[str, Any]


class PilotSlot(Struct):
    """A slot that a pilot at *site* brought for one job; *pilot* is the pilot's own name, if any."""

    slot_id: int
    site: str
    grid_ce: str | None = None
    pilot: str | None = None


class QueueNumber(Struct):
    """The *number* of a task queue, with the queue's *identity* and *part*.

    *priority* is the priority when all queues were last recalculated and stored, at *updated* (seconds since 1970).
    """

    number: int
    identity: dict[str, Any]
    part: int = 0
    priority: float | None = None
    updated: int | None = None


class ShareGroup(Struct):
    """A group from DIRAC's registry: *properties* are JobShare, Properties, AllowBackgroundTQs and others."""

    name: str
    properties: dict[str, Any]


class UsageReport(Struct):
    """The average number of running jobs of *entity* over the last *time_span* seconds, as reported at *time*.

    The entity is a group or, with an *owner_group*, a user in it; *average_jobs* is None if the report failed.
    """

    owner_group: str
    time_span: int
    entity: str
    average_jobs: float | None
    time: int


class DelayState(Struct):
    """The token bucket of one matching delay: the number of *tokens* at *time* (seconds since 1970)."""

    site: str
    attribute: str
    value: str
    tokens: float
    time: float


class Claim(Struct):
    """A slot in use. Without *cluster* the job is not in fairq's queue (a claim of an imported pool).

    *negotiating_group* is the group that negotiated when the slot was matched. *autoregroup* tells whether a member of
    another group got the slot at its second chance. Both are None if unknown. *advertised* has further claim attributes
    of an imported slot's ad, for example that it is suspended, retiring or waited for. A claim is not *charged* while
    its job is suspended in a pool that discounts suspended jobs. A *matched* claim was made by one of fairq's cycles.
    """

    slot_id: int
    submitter: str
    start_time: int
    slot_weight: float
    schedd: str | None = None
    cluster: int | None = None
    proc: int | None = None
    current_rank: float = 0.0
    concurrency_limits: str | None = None
    negotiating_group: str | None = None
    autoregroup: bool | None = None
    advertised: Ad | None = None
    charged: bool = True
    matched: bool = False

    @property
    def key(self) -> tuple[str, int, int]:
        """The schedd, cluster and proc of its job, if that is in the queue."""
        return self.schedd or "", self.cluster or 0, self.proc or 0

    @property
    def procs(self) -> Procs:
        """The proc of its job, as a range, if that is in the queue."""
        return Procs(*self.key, self.proc or 0)


SLOT_ELSEWHERE = "its slot is not in the pool"
"""The reason recorded for an imported running job whose slot is not in this state."""

WITHDRAWN = "withdrawn from"
"""The first words of the reason of a job that is idle again because an engine did not start it."""


class JobRange(ProcRange):
    """Identical jobs: procs *first_proc* to *last_proc* of one cluster.

    The ad of a proc is the shared ad *ad_id*, overlaid by *own*, then by *template* (whose ``$(ProcId)`` stands for the
    proc's number), then by the columns here.
    """

    ad_id: int
    submitter: str
    owner: str
    status: int
    queue_date: int
    status_date: int
    priority: int = 0
    schedd: str = ""
    own: Ad | None = None
    template: Ad | None = None
    reason: str | None = None
    hold_code: int | None = None
    hold_subcode: int | None = None

    @property
    def procs(self) -> Procs:
        """The procs of the range."""
        return Procs(self.schedd, self.cluster, self.first_proc, self.last_proc)

    def attributes(self) -> Ad:
        """Return the job attributes that are columns here; ProcId is missing, it differs per proc."""
        return {
            "ClusterId": self.cluster,
            "JobStatus": int(JobStatus.IDLE) if self.status == JobStatus.WAITING else self.status,
            "JobPrio": self.priority,
            "QDate": self.queue_date,
            "EnteredCurrentStatus": self.status_date,
            "Owner": self.owner,
            "User": f"{self.owner}@{self.submitter.rpartition('@')[2]}",
        }

    def overrides_for(self, proc: int) -> Ad:
        """Return the values of *own* and *template* for one proc."""
        return overrides(self.own, self.template, proc)

    def ad_of(self, shared: Ad, proc: int) -> Ad:
        """Assemble the complete ad of one proc from the *shared* ad of the range."""
        return {**shared, **self.overrides_for(proc), **self.attributes(), "ProcId": proc}


def overrides(own: Ad | None, template: Ad | None, proc: int) -> Ad:
    """Return the values of *own* and *template* of a range of jobs for one proc."""
    ad = dict(own or {})
    for name, value in (template or {}).items():
        ad[name] = value.replace(PROC_PLACEHOLDER, str(proc)) if isinstance(value, str) else value
    return ad


def job_count(ranges: Sequence[JobRange]) -> int:
    """Return the number of jobs in *ranges*; a queue by column (`fairq.columns.idle_jobs`) has the attribute *jobs*."""
    count: int | None = getattr(ranges, "jobs", None)
    return sum(map(len, ranges)) if count is None else count


class Run(Struct):
    """An ended stay of a job on a slot; *how*: finished, removed, held, lost, preempted."""

    cluster: int
    proc: int
    submitter: str
    slot: str
    slot_weight: float
    start_time: int
    end_time: int
    how: str
    exit_code: int | None = None
    schedd: str = ""


class LaunchPhase(StrEnum):
    """The phase of a run that fairq starts itself."""

    INTENDED = "intended"
    """The run is decided; it may or may not have begun."""
    QUEUED = "queued"
    """An engine has accepted the run and has not started it."""
    STARTED = "started"
    ENDED = "ended"


class Launch(Struct):
    """A run of a job under a *launcher*, which knows it by its *name*.

    *intended* is the time of the match (seconds since 1970), at *boottime* seconds after the *boot* with this name. The
    run begins once the runs named in *after* (``{"runs": [...]}``) have ended. *pid* and *pid_start* identify the
    process that supervises it; *cores* (``{"cores": [...], "gpus": [...]}``) is what it may use. *ordered* is the order
    to end it: how, by whom and why. *ended* has the facts of its end, *output* and *error* are its output files.

    An engine, such as Slurm, knows the run as *engine_id*; *reason* is why it waits there. Such a run is charged from
    *charged_from*, its start in the engine; until then that time moves on with every cycle.
    """

    id: int
    name: str
    launcher: str
    schedd: str
    cluster: int
    proc: int
    slot: str
    phase: LaunchPhase
    intended: int
    boot: str
    boottime: float
    after: dict[str, Any] = field(default_factory=dict)
    pid: int | None = None
    pid_start: int | None = None
    cores: dict[str, Any] = field(default_factory=dict)
    ordered: dict[str, Any] | None = None
    ended: dict[str, Any] | None = None
    end_time: int | None = None
    output: str | None = None
    error: str | None = None
    engine_id: str | None = None
    reason: str | None = None
    charged_from: int | None = None

    @property
    def claimed(self) -> int:
        """The start of the charge, and so of its claim."""
        return self.intended if self.charged_from is None else self.charged_from

    @property
    def job(self) -> str:
        """The id of its job."""
        return f"{self.cluster}.{self.proc}"

    @property
    def key(self) -> tuple[str, int, int]:
        """The schedd, cluster and proc of its job."""
        return (self.schedd, self.cluster, self.proc)

    @property
    def process(self) -> tuple[int, int] | None:
        """The number and the start of the process that supervises it; None if there is none, or it is not known."""
        return None if self.pid is None or self.pid_start is None else (self.pid, self.pid_start)

    @property
    def procs(self) -> Procs:
        """The proc of its job, as a range."""
        return Procs(*self.key, self.proc)


class JobEvent(Struct):
    """An event of procs *first_proc* to *last_proc* at *time*: HTCondor's event *number*, with its *body*.

    *log* is the file for the event; its name may contain the placeholder of the proc's number. *written* tells whether
    the event is in the file, or need not be.
    """

    id: int
    time: int
    schedd: str
    cluster: int
    first_proc: int
    last_proc: int
    number: int
    body: dict[str, Any]
    log: str | None = None
    written: bool = True

    def __len__(self) -> int:
        return self.last_proc - self.first_proc + 1


class Change(Struct, frozen=True):
    """A change for the history: its *subject*, with the values *before* and *after*."""

    subject: str
    before: Any
    after: Any


JOB_COLUMNS = frozenset(
    {"clusterid", "procid", "jobstatus", "jobprio", "qdate", "enteredcurrentstatus", "owner", "user", "globaljobid"}
)
"""Lower-case names of the job attributes that are columns of a range (or derived from them), not part of an ad."""
