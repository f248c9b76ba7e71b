"""The submitter of this command's jobs, and their way into the queue."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.cli.invocation import Invocation, operating_system_user

if TYPE_CHECKING:
    from fairq.common.records import Actor
    from fairq.steps.jobs.submit import Context as JobContext
    from fairq.steps.jobs.submit import Description, Program, Submitted


def submitter_here(actor: Actor) -> JobContext:
    """Return the submitter of jobs here: user, directory and machine, at the actor's time."""
    from fairq.common.hardware import architecture, operating_system
    from fairq.steps.jobs.submit import Context as JobContext

    return JobContext(
        owner=operating_system_user(),
        directory=Path.cwd(),
        machine=architecture(),
        system=operating_system(),
        environment=os.environ,
        now=actor.time,
    )


def queued(
    invocation: Invocation,
    source: Description | Program,
    user: JobContext,
    actor: Actor,
    now: int | None = None,
    *,
    dry_run: bool = False,
) -> Submitted:
    """Queue the jobs of *source*, through the program of the pool in use if it has one."""
    from fairq.common.hardware import host_name
    from fairq.steps.jobs.submit import submit as step

    path, settings, host = invocation.state_path, invocation.settings, host_name()
    door = None if dry_run else invocation.by_program(actor, now)
    if door is None:
        return step(path, settings, source, user, actor, host=host, dry_run=dry_run)
    from fairq.host.client.changes import submit_jobs

    return submit_jobs(door, path, settings, source, user, actor, host)
