"""Record that running jobs have ended: slots become free, usage is charged, the jobs leave the queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.quantities import shown_time
from fairq.common.records import Actor, Change, JobStatus, Run
from fairq.errors.pool import InvalidEndTimeError
from fairq.state import claims, history, undo
from fairq.state.connection import opened_for
from fairq.steps.jobs.change import Changed, choose
from fairq.steps.jobs.end import end_runs
from fairq.steps.jobs.end_records import take_from_queue
from fairq.steps.jobs.selection import Selection
from fairq.steps.rights import check_owner

if TYPE_CHECKING:
    from fairq.settings import Settings


class Finished(Struct):
    """The ended jobs, as *chosen*, and the runs."""

    chosen: Changed
    runs: list[Run]


def finish(
    path: Path,
    settings: Settings,
    selection: Selection,
    actor: Actor,
    *,
    end: int | None = None,
    exit_code: int | None = None,
    dry_run: bool = False,
) -> Finished:
    """End the running jobs of *selection* at *end* (seconds since 1970; default: the actor's time).

    With *dry_run*, everything is decided and checked, but nothing is stored, and no run ends.

    Raises:
        UnknownJobError, NoMatchingJobError, JobStateError: see `fairq.steps.jobs.change.choose`.
        InvalidEndTimeError: *end* is after the actor's time, or before a job began.
    """
    end_time = actor.time if end is None else end
    with opened_for(path, dry_run=dry_run, create=False) as state:
        chosen = choose(state, selection, (JobStatus.RUNNING,), actor=actor)
        check_owner(actor, chosen.jobs, "finish")
        if chosen.jobs and end_time > actor.time:
            job = f"{chosen.jobs[0].cluster}.{chosen.jobs[0].first_proc}"
            raise InvalidEndTimeError(job=job, end=shown_time(end_time), reason=f"it is {shown_time(actor.time)} now")
        running_claims = claims.of_procs(state, (job.procs for job in chosen.jobs))
        for claim in running_claims:
            if end_time < claim.start_time:
                reason = f"it began at {shown_time(claim.start_time)}"
                raise InvalidEndTimeError(job=claim.procs.name, end=shown_time(end_time), reason=reason)
        if dry_run:
            return Finished(chosen, [])
        codes = (
            {(claim.cluster or 0, claim.proc or 0): exit_code for claim in running_claims}
            if exit_code is not None
            else {}
        )
        ended = end_runs(state, settings, running_claims, end_time, "finished", codes)
        take_from_queue(state, chosen.jobs, JobStatus.COMPLETED, end_time)
        entries = history.record(
            state,
            actor,
            (
                Change(
                    f"job {run.cluster}.{run.proc}",
                    {"JobStatus": int(JobStatus.RUNNING), "RemoteHost": run.slot},
                    {"JobStatus": int(JobStatus.COMPLETED), "ExitCode": exit_code, "CompletionDate": end_time},
                )
                for run in ended
            ),
            own=True,
        )
        undo.record_final(state, actor, entries, "a finished job cannot run on", settings["pool.undo_kept"])
    return Finished(chosen, ended)
