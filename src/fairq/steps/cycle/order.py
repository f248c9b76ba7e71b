"""The order in which the next cycle offers the idle jobs, and what decides it (Slurm: sprio)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.common.records import Actor, JobRange
from fairq.state import jobs
from fairq.state.connection import reading
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.jobs.name import job_name

if TYPE_CHECKING:
    from fairq.settings import Settings


def offer_order(path: Path, settings: Settings, actor: Actor) -> list[tuple[JobRange, dict[str, Any]]]:
    """Return the idle jobs as the next cycle offers them in its first spin, each range with what decides its place.

    That is: the turn of its group, the effective priority of its submitter, its own priority, and its age.
    """
    cycle = negotiate(path, settings, actor, dry_run=True)
    decision, policy = cycle.decision, cycle.policy
    with reading(path) as state:
        idle = jobs.idle(state)
    turns = list(dict.fromkeys(turn.group for turn in decision.groups))
    keys = {turn.group: turn.sort_key for turn in reversed(decision.groups)}
    submitters = {(one.submitter, one.schedd): one for one in decision.submitters}
    matched: dict[tuple[str, int], list[int]] = {}
    for match in decision.matches:
        matched.setdefault((match.schedd, match.cluster), []).append(match.proc)

    def place(job: JobRange) -> tuple[Any, ...]:
        of = submitters[job.submitter, job.schedd]
        turn = turns.index(of.group) if of.group in turns else len(turns)
        age = job.queue_date if policy.job_order == "submission_time" else 0
        return (turn, of.effective_priority, of.submitter, of.schedd, -job.priority, age, job.cluster, job.first_proc)

    offered = sorted((job for job in idle if (job.submitter, job.schedd) in submitters), key=place)
    found, ahead = [], 0
    for job in offered:
        of = submitters[job.submitter, job.schedd]
        procs = matched.get((job.schedd, job.cluster), [])
        record = {
            "place": ahead + 1,
            "jobs": job_name(job.cluster, job.first_proc, job.last_proc),
            "submitter": job.submitter,
            "group": of.group,
            "group_turn": turns.index(of.group) + 1 if of.group in turns else None,
            "group_order": keys.get(of.group),
            "effective_priority": of.effective_priority,
            "priority": job.priority,
            "submit_time": job.queue_date,
            "idle": len(job),
            "matched": sum(job.first_proc <= proc <= job.last_proc for proc in procs),
        }
        found.append((job, record))
        ahead += len(job)
    return found
