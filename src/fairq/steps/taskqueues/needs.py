"""The needs of idle jobs, read from their ads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from fairq.engine.shares.job_needs import JobNeeds, read_needs
from fairq.errors.shares import JobRequirementError
from fairq.expression_form import is_expression
from fairq.records import Ad, JobRange
from fairq.state import jobs
from fairq.state.connection import State
from fairq.steps.taskqueues.job_requirements import (
    ATTRIBUTES,
    IDENTITY,
    identity_of,
    plain_value,
    relevant,
)
from fairq.steps.taskqueues.policy import SharePolicy


class NeedyJobs(NamedTuple):
    """Jobs of the range *whole* with equal *needs*, or the reason why they are in no queue.

    *is_lasting* tells whether the needs stay the same as long as the range does: the value of an expression may not.
    """

    whole: JobRange
    job: JobRange
    needs: JobNeeds | str
    is_lasting: bool


def needs_of(state: State, idle: Sequence[JobRange], policy: SharePolicy) -> Iterator[NeedyJobs]:
    """Yield the jobs of the ranges *idle*, in their order."""
    shared = {number: relevant(ad) for number, ad in jobs.ads(state, {job.ad_id for job in idle}).items()}
    known: dict[Any, tuple[JobNeeds | str, bool]] = {}
    alike: dict[Any, JobNeeds | str] = {}
    for whole in idle:
        for job in _alike(whole):
            own = relevant(job.overrides_for(job.first_proc)) if job.own or job.template else {}
            key = (job.ad_id, job.owner, job.priority, repr(own) if own else None)
            found = known.get(key)
            if found is None:
                ad = {**shared[job.ad_id], **own}
                asked = _asked(ad, job.priority, policy, alike)
                if not isinstance(asked, str):
                    owner, group = identity_of(ad, job.owner)
                    asked = asked._replace(requirements=asked.requirements._replace(owner=owner, group=group))
                found = known[key] = asked, not any(map(is_expression, ad.values()))
            yield NeedyJobs(whole, job, *found)


def _asked(ad: Ad, priority: int, policy: SharePolicy, alike: dict[Any, JobNeeds | str]) -> JobNeeds | str:
    """Return the needs of a job, or the reason why it is in no queue; *alike* caches equal needs of many jobs."""
    key = (priority, repr([item for item in ad.items() if item[0] not in IDENTITY]))
    found = alike.get(key)
    if found is None:
        try:
            plain = {name: plain_value(value) for name, value in ad.items()}
            found = read_needs(plain, priority, policy.job_defaults)
        except JobRequirementError as error:
            found = str(error)
        alike[key] = found
    return found


def _alike(job: JobRange) -> Iterable[JobRange]:
    """Split a range if its procs differ in the attributes that are read."""
    if not job.template or not ATTRIBUTES & {name.lower() for name in job.template}:
        return [job]
    return (replace(job, first_proc=proc, last_proc=proc) for proc in range(job.first_proc, job.last_proc + 1))
