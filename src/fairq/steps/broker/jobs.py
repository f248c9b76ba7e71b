"""Load jobs and queues for the check of timeouts."""

from __future__ import annotations

from typing import Any

from fairq.columns.broker.counts import PILOTS, SLOTS
from fairq.columns.broker.places import QUEUES
from fairq.columns.broker.work import JOBS
from fairq.engine.brokerage.pool.flags import read_flags
from fairq.engine.brokerage.timeouts.job import JobQueue, PandaJob
from fairq.state import broker_data
from fairq.state.connection import State

_FIELDS = {
    "id": "PandaID",
    "status": "jobStatus",
    "queue": "computingSite",
    "share": "gshare",
    "label": "prodSourceLabel",
    "priority": "currentPriority",
    "processing_type": "processingType",
    "task": "jediTaskID",
    "job_set": "jobDefinitionID",
    "user": "prodUserName",
    "working_group": "workingGroup",
    "relocation_flag": "relocationFlag",
    "event_service": "eventService",
    "sub_status": "jobSubStatus",
    "special": "specialResource",
    "has_report": "hasReport",
    "output_complete": "outputComplete",
    "created": "creationTime",
    "modified": "modificationTime",
    "changed": "stateChangeTime",
    "activated": "activatedTime",
    "started": "startTime",
    "ended": "endTime",
}
"""The column of each field that is stored in one."""

_JEDI = "jedi"


def load_jobs(state: State) -> list[PandaJob]:
    """Return every job, oldest first."""
    columns = [*_FIELDS.values(), "lockedby", "transformation"]
    names = list(_FIELDS)
    task = names.index("task")
    return [
        PandaJob(
            **dict(zip(names, row, strict=False)),
            from_jedi=row[-2] == _JEDI if row[-2] else row[task] is not None,
            build="build" in row[-1],
        )
        for row in broker_data.load(state, JOBS, columns)
    ]


def load_job_queues(state: State, now: float) -> dict[str, JobQueue]:
    """Return the queues at *now*; expired requests for slots do not count."""
    started: dict[str, float | None] = dict(broker_data.load(state, PILOTS, ["queue", "lastStart"]))
    slots = {
        queue
        for queue, expires in broker_data.load(state, SLOTS, ["queue", "expires"])
        if expires is None or expires > now
    }
    columns = ["name", "status", "workflow", "catchall", "params", "cric"]
    return {
        name: JobQueue(
            name,
            status or "unknown",
            workflow,
            disable_reassign=read_flags(catchall, params).disable_reassign,
            last_start=started.get(name),
            has_slots=name in slots,
            transfer_days_high=_days(cric, "transtimehi"),
            transfer_days_low=_days(cric, "transtimelo"),
        )
        for name, status, workflow, catchall, params, cric in broker_data.load(state, QUEUES, columns)
    }


def _days(cric: Any, name: str) -> float | None:
    """Return a number of days from CRIC's fields of a queue."""
    try:
        days = float(cric[name])
    except (KeyError, TypeError, ValueError):
        return None
    return days if 0 < days < 1e6 else None
