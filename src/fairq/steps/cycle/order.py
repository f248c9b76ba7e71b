"""The order in which the next cycle offers the idle jobs, with the data that decides it (Slurm: sprio)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.common.records import Actor, JobRange
from fairq.state import jobs
from fairq.state.connection import reading
from fairq.steps.cycle.negotiate import negotiate

if TYPE_CHECKING:
    from fairq.settings import Settings


def offer_order(path: Path, settings: Settings, actor: Actor) -> list[tuple[JobRange, dict[str, Any]]]:
    """Return the idle jobs as the next cycle offers them in its first spin, each range with the data of its order.

    They are the turn of its group, the effective priority of its submitter, its own priority, and its age.
    """
    cycle = negotiate(path, settings, actor, dry_run=True)
    decision, policy = cycle.decision, cycle.policy
    with reading(path) as state:
        idle = jobs.idle(state)
    turns = list(dict.fromkeys(turn.group for turn in decision.groups))
    keys = {turn.group: turn.sort_key for turn in reversed(decision.groups)}
    submitters = {(submitter.submitter, submitter.schedd): submitter for submitter in decision.submitters}
    matched: dict[tuple[str, int], list[int]] = {}
    for match in decision.matches:
        matched.setdefault((match.schedd, match.cluster), []).append(match.proc)

    def sort_key(job: JobRange) -> tuple[Any, ...]:
        submitter = submitters[job.submitter, job.schedd]
        turn = turns.index(submitter.group) if submitter.group in turns else len(turns)
        age = job.queue_date if policy.job_order == "submission_time" else 0
        return (
            turn,
            submitter.effective_priority,
            submitter.submitter,
            submitter.schedd,
            -job.priority,
            age,
            job.cluster,
            job.first_proc,
        )

    offered = sorted((job for job in idle if (job.submitter, job.schedd) in submitters), key=sort_key)
    records, count = [], 0
    for job in offered:
        submitter = submitters[job.submitter, job.schedd]
        procs = matched.get((job.schedd, job.cluster), [])
        record = {
            "place": count + 1,
            "jobs": job.name,
            "submitter": job.submitter,
            "group": submitter.group,
            "group_turn": turns.index(submitter.group) + 1 if submitter.group in turns else None,
            "group_order": keys.get(submitter.group),
            "effective_priority": submitter.effective_priority,
            "priority": job.priority,
            "submit_time": job.queue_date,
            "idle": len(job),
            "matched": sum(job.first_proc <= proc <= job.last_proc for proc in procs),
        }
        records.append((job, record))
        count += len(job)
    return records
