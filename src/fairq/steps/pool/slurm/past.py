"""The records of jobs that have ended in Slurm as the jobs of the pool's past."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fairq.common.past import EndedJob
from fairq.common.records import Ad, JobStatus
from fairq.formats.slurm.sacct import Record
from fairq.steps.pool.slurm.groups import Groups

_NUMBER = re.compile(r"(\d{1,9})(?:_(\d{1,9}))?", re.ASCII)


def ended_jobs(records: Iterable[Record], groups: Groups, domain: str, offset: int) -> Iterator[tuple[EndedJob, Ad]]:
    """Yield the jobs that ran and have ended, each with its ad; times are *offset* seconds later than in UTC.

    A job that Slurm ended, or somebody cancelled, was removed, with Slurm's state as the reason.
    """
    for record in records:
        number = _NUMBER.fullmatch(record.number)
        if number is None or record.start is None or not record.has_ended:
            continue
        submitter = groups.submitter(record.account, record.user)
        ad: Ad = {
            "MyType": "Job",
            "JobUniverse": 5,
            "AccountingGroup": submitter,
            "RequestCpus": record.cpus,
            "RequestMemory": record.memory,
        }
        ended = record.state in ("COMPLETED", "FAILED")
        start = record.start - offset
        job = EndedJob(
            cluster=int(number[1]),
            first_proc=int(number[2] or 0),
            last_proc=int(number[2] or 0),
            ad_id=0,
            submitter=f"{submitter}@{domain}",
            owner=record.user,
            status=int(JobStatus.COMPLETED if ended else JobStatus.REMOVED),
            queue_date=record.submit - offset,
            end_time=start + record.run,
            runs=1,
            first_start=start,
            start_time=start,
            wall_seconds=record.run,
            slot_seconds=float(record.run * record.cpus),
            exit_code=int(record.state == "FAILED") if ended else None,
            request_cpus=float(record.cpus),
            request_memory=float(record.memory),
            reason=None if ended else f"{record.state} in Slurm",
        )
        yield job, ad
