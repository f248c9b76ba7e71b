"""``fairq finish``: record that running jobs have ended."""

from __future__ import annotations

from typing import Annotated

from fairq.cli.command import App
from fairq.cli.confirm import Yes
from fairq.cli.invocation import Invocation
from fairq.cli.options import Constraint, DryRun, Now, Option, parse_time
from fairq.cli.output import Report, emit
from fairq.cli.queue_options import All, Jobs, Reason, confirm_many, report, selected

app = App()


@app.command(
    examples="""
        fairq finish 7.3                       # it has just ended
        fairq finish 7.3 --exit-code 1         # with an exit code
        fairq finish 7 --at 10:30              # all running jobs of a cluster, at 10:30 today
    """
)
def finish(
    invocation: Invocation,
    output: Report,
    jobs: Jobs = None,
    exit_code: Annotated[
        int | None, Option("--exit-code", metavar="N", min=-255, max=255, help="Exit code of the program.")
    ] = None,
    at: Annotated[
        str | None,
        Option("--at", metavar="TIME", help="End time, such as 10:30 or -5m [default: now]."),
    ] = None,
    constraint: Constraint = None,
    everything: All = False,
    reason: Reason = None,
    yes: Yes = False,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Record that running jobs have ended.

    Their slots become free, their usage is charged up to the end, and they leave the queue. The history records where
    and how long they ran. A slot is charged for exactly the time that the job held it. Under the rules htcondor, a run
    that ended before the last cycle is charged up to that cycle.

    Name jobs as for fairq remove. If you name a cluster, an owner or a constraint, the command selects only its running
    jobs.
    """
    from fairq.steps.jobs.finish import Finished
    from fairq.steps.jobs.finish import finish as step

    selection = selected(jobs, constraint, everything)
    time = invocation.now(now)
    end = None if at is None else parse_time(at, "--at", time)
    actor = invocation.actor(time, reason)

    def finished(*, dry_run: bool) -> Finished:
        path, settings = invocation.state_path, invocation.settings
        return step(path, settings, selection, actor, end=end, exit_code=exit_code, dry_run=dry_run)

    if not dry_run:
        confirm_many(invocation, "Finish", everything, yes, lambda: len(finished(dry_run=True).chosen))
    door = None if dry_run else invocation.by_program(actor, now)
    if door is None:
        targets = finished(dry_run=dry_run).chosen.targets
    else:
        from fairq.steps.host.changes import change_jobs

        chosen = lambda: finished(dry_run=True).chosen  # noqa: E731
        targets = change_jobs(door, "finish", selection, chosen, end=end, exit_code=exit_code).targets
    emit(report(targets, selection, "finished", dry_run), output)
