"""A job of PanDA, with the data that timeouts and rebrokerage need."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fairq.engine.brokerage.jobs.tasks import USER_LABELS

IN_DEFINED_TABLE = frozenset({"pending", "waiting", "defined", "assigned"})
"""States before a queue has the job."""

ACTIVE = frozenset(
    {"activated", "sent", "starting", "running", "stagein", "stageout", "holding", "transferring", "merging"}
    | {"throttled"}
)
"""States in which a queue has the job."""

QUEUED = frozenset({"defined", "assigned", "activated", "starting"})
"""States in which a job waits at a queue and can be sent back."""

EVENT_SERVICE = frozenset({1, 5})
"""``eventService`` of jobs that process single events: plain jobs and co-jumbo jobs."""

EVENT_SERVICE_MERGE = 2
"""``eventService`` of the jobs that merge what event-service jobs made."""

CO_JUMBO = 5
"""``eventService`` of the jobs that wait while a jumbo job has their events."""

NOT_REASSIGNED = 2
"""The ``relocationFlag`` of a job that must stay where it is."""


class PandaJob(Struct, frozen=True):
    """One job; times are seconds since 1970, None if unknown.

    Args:
        id: the ``PandaID``; a smaller one is older.
        status: the ``jobStatus``, one of `STATES`.
        queue: the ``computingSite``; empty if not assigned yet.
        share: the ``gshare``.
        label: the ``prodSourceLabel``: ``managed``, ``user``, ``panda``, ``test``, ...
        priority: the ``currentPriority``.
        task: the ``jediTaskID``.
        job_set: the ``jobDefinitionID``: the jobs of a task that were made together for one queue.
        from_jedi: whether, by ``lockedby``, a task created it and can create another one.
        build: whether it builds the user's program for the other jobs of its set.
        special: whether its work queue is for a special resource; fast rebrokerage skips it.
        has_report: whether a report about its output waits to be processed.
        output_complete: whether all its output files have arrived.
    """

    id: int
    status: str
    queue: str = ""
    share: str = ""
    label: str = "managed"
    priority: int = 0
    processing_type: str = ""
    task: int | None = None
    job_set: int | None = None
    user: str = ""
    working_group: str = ""
    from_jedi: bool = True
    build: bool = False
    relocation_flag: int = 0
    event_service: int | None = None
    sub_status: str | None = None
    special: bool = False
    has_report: bool = False
    output_complete: bool = False
    created: float | None = None
    modified: float | None = None
    changed: float | None = None
    activated: float | None = None
    started: float | None = None
    ended: float | None = None

    @property
    def of_user(self) -> bool:
        """Whether a user's task made it."""
        return self.label in USER_LABELS


class JobQueue(Struct, frozen=True):
    """A queue, with the data that timeouts need.

    Args:
        status: ``online``, ``offline``, ``test``, ``paused``, ...; empty for an unknown queue.
        workflow: decides which heartbeat its jobs must send.
        disable_reassign: whether ``disableReassign`` is in its ``catchall``.
        last_start: time of the last job start there, seconds since 1970; None if unknown.
        has_slots: whether a ``numSlots`` row exists: many queued jobs are then on purpose.
        transfer_days_high, transfer_days_low: ``transtimehi`` and ``transtimelo``, in days.
    """

    name: str
    status: str = ""
    workflow: str = ""
    disable_reassign: bool = False
    last_start: float | None = None
    has_slots: bool = False
    transfer_days_high: float | None = None
    transfer_days_low: float | None = None

    @property
    def known(self) -> bool:
        """Whether it is a queue of the state."""
        return self.status != ""


def queue_of(queues: Mapping[str, JobQueue], name: str) -> JobQueue | None:
    """Return the queue *name*, or that of a pseudo queue ``QUEUE/TYPE``; None if it is unknown."""
    return queues.get(name) or queues.get(name.partition("/")[0])
