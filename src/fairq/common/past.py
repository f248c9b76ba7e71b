"""Records of the past: cycles with their matches, jobs that have left the queue, and charged usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from fairq.common.procs import ProcRange
from fairq.common.records import Ad, JobStatus, overrides


class MatchRecord(Struct):
    """One match of a stored cycle, in the order made (*sequence* from 0)."""

    sequence: int
    schedd: str
    cluster: int
    proc: int
    submitter: str
    slot: str
    reason: str
    preempted: str | None = None


class MatchRun(NamedTuple):
    """Matches of a cycle in a row that differ only in job and slot.

    *jobs* are ranges of procs: (cluster, first proc, how many). *slots* has the name of the slot of each job.
    """

    schedd: str
    submitter: str
    reason: str
    preempted: str | None
    jobs: Sequence[tuple[int, int, int]]
    slots: Sequence[str]


class CycleRecord(Struct):
    """One stored negotiation cycle; *decision* is the JSON document of the cycle without its matches."""

    number: int
    time: int
    rules: str
    decision: dict[str, Any]
    matches: list[MatchRecord] = field(default_factory=list)


class EndedJob(ProcRange):
    """Procs *first_proc* to *last_proc* of one cluster that left the queue together, at *end_time*.

    Procs that ran have one record each; those that never ran share one. The ad has the layout of a `JobRange`.

    *first_start* and *start_time* are the starts of the first and the last run. *wall_seconds* is the total time of all
    *runs*, *slot_seconds* the same in slot weight. *slot* is the slot of the last run. A launcher measured
    *user_seconds* and *system_seconds* of CPU and *memory* (peak, MB) over *measured_seconds* of these runs; None
    without a measurement. *reason* is the reason of the removal, *hold_reason* that of a hold until then.
    *request_cpus* and *request_memory* (MB) are the requested numbers, None if the request has none.
    """

    ad_id: int
    submitter: str
    owner: str
    status: int
    queue_date: int
    end_time: int
    priority: int = 0
    schedd: str = ""
    own: Ad | None = None
    template: Ad | None = None
    runs: int = 0
    first_start: int | None = None
    start_time: int | None = None
    wall_seconds: int = 0
    slot_seconds: float = 0.0
    slot: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    user_seconds: float | None = None
    system_seconds: float | None = None
    measured_seconds: float | None = None
    memory: int | None = None
    request_cpus: float | None = None
    request_memory: float | None = None
    reason: str | None = None
    hold_reason: str | None = None

    @property
    def cpu_efficiency(self) -> float | None:
        """CPU efficiency: the share of its cores' time that the job spent computing, over the measured runs."""
        if not self.measured_seconds or self.user_seconds is None or self.system_seconds is None:
            return None
        return (self.user_seconds + self.system_seconds) / (self.measured_seconds * (self.request_cpus or 1))

    def ad_of(self, shared: Ad, proc: int) -> Ad:
        """Assemble the ad of one proc from the *shared* ad, in the form that condor_history has."""
        ad = {**shared, **overrides(self.own, self.template, proc)}
        is_completed = self.status == JobStatus.COMPLETED
        ad |= {
            "ClusterId": self.cluster,
            "ProcId": proc,
            "JobStatus": self.status,
            "JobPrio": self.priority,
            "QDate": self.queue_date,
            "EnteredCurrentStatus": self.end_time,
            "CompletionDate": self.end_time if is_completed else 0,
            "Owner": self.owner,
            "User": f"{self.owner}@{self.submitter.rpartition('@')[2]}",
            "Submitter": self.submitter,
            "NumJobStarts": self.runs,
            "RemoteWallClockTime": self.wall_seconds,
            "CumulativeSlotTime": self.slot_seconds,
        }
        results: dict[str, Any] = {
            "JobStartDate": self.first_start,
            "JobCurrentStartDate": self.start_time,
            "LastRemoteHost": self.slot,
            "ExitBySignal": None if self.exit_code is None and self.signal is None else self.signal is not None,
            "ExitCode": self.exit_code,
            "ExitSignal": self.signal,
            "RemoteUserCpu": self.user_seconds,
            "RemoteSysCpu": self.system_seconds,
            "MemoryUsage": self.memory,
            "RemoveReason": self.reason,
            "HoldReason": self.hold_reason,
        }
        # Unknown values are left out: the submitted ad has zeros.
        return {name: value for name, value in (ad | results).items() if value is not None or name not in results}


class Charge(Struct, frozen=True):
    """A charge to a submitter or a group for the time from *start* to *end*: slot-seconds, plain and weighted.

    Negative numbers refund an overcharge.
    """

    name: str
    start: int
    end: int
    usage: float
    weighted: float


class UsageRow(Struct):
    """The sums of one bucket that begins at *start*, for a submitter, a group, or the pool (empty name).

    *usage* and *weighted* are charged slot-seconds, plain and in slot weight. For *wanting* seconds the submitter
    wanted more slots. In that time, it was *entitled* to some weighted slot-seconds, and some were *delivered*. *idle*
    and *running* are job-seconds. *priority* is the effective priority times seconds, over *known* seconds. For the
    pool, *entitled* is the weight of all slots times seconds, and *delivered* is that of the slots in use.
    """

    start: int
    name: str
    usage: float = 0.0
    weighted: float = 0.0
    entitled: float = 0.0
    delivered: float = 0.0
    wanting: float = 0.0
    idle: float = 0.0
    running: float = 0.0
    priority: float = 0.0
    known: float = 0.0


class UsageEdit(Struct):
    """A change of a record's usage at *time* that is not a charge; *kind*: edit, import, delete or earlier.

    *earlier* is the usage charged before the ledger existed.
    """

    time: int
    name: str
    kind: str
    user: str
    usage: float
    weighted: float
