"""``fairq rerun``: run jobs again that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.confirm import Yes
from fairq.cli.figures import counted
from fairq.cli.job_options import ALL, CONSTRAINT, PEOPLE, SUBMITTED, Jobs, Reason, confirm_many, selection_given
from fairq.cli.options import DryRun, Now
from fairq.cli.output import View, emit
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.steps.jobs.rerun import Rerun

app = App()

_NAMED = 3
"""Number of files that are named."""


@app.report(
    selection=(*CONSTRAINT, *ALL, *PEOPLE, *SUBMITTED),
    examples="""
        fairq rerun 7.3               # one job
        fairq rerun 7 --failed        # those of a cluster that failed
        fairq rerun --name sweep --failed --dry-run
    """,
)
def rerun(
    context: Context,
    jobs: Jobs = None,
    failed: Annotated[bool, Option("--failed", help="Only jobs that ended without success.")] = False,
    reason: Reason = None,
    yes: Yes = False,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Run jobs again that have ended.

    For each old cluster, the jobs are queued as a new one. They keep their numbers, their owner, and all attributes;
    RerunOf has the old cluster. The old records stay in the history. Jobs that wait for the old ones, or are held
    because that was in vain, wait for the new ones. What a job waited for itself does not count again, except for jobs
    that the same command runs again.

    Name jobs as for fairq remove; --user, --name, --since and --constraint select among these, or among all of yours.
    Jobs that run again already, or have run again, are left out unless they are named one by one. --failed selects
    those whose exit code was not success_exit_code (0), or that ended by a signal. A warning names files of output
    that the new runs overwrite.
    """
    from fairq.common.hardware import host_name
    from fairq.steps.jobs.rerun import rerun as step

    invocation = context.obj
    selection = selection_given(invocation, jobs, now)
    if not (selection.targets or selection.is_narrowed or failed or invocation.selecting["all"]):
        raise UsageError(message="no jobs are selected; name jobs or clusters that have ended, or give --failed")
    actor = invocation.actor(invocation.now(now), reason)
    path, settings, host = invocation.state_path, invocation.settings, host_name()

    def rerun_jobs_of(*, dry_run: bool) -> Rerun:
        return step(path, settings, selection, actor, failed=failed, host=host, dry_run=dry_run)

    if not dry_run:
        confirm_many(invocation, "Run again", yes, lambda: len(rerun_jobs_of(dry_run=True)))
    door = None if dry_run else invocation.by_program(actor, now)
    if door is None:
        done = rerun_jobs_of(dry_run=dry_run)
    else:
        from fairq.host.client.changes import rerun_jobs

        done = rerun_jobs(door, selection, rerun_jobs_of(dry_run=True), failed=failed)
    for warning in done.warnings:
        invocation.note(f"WARNING: {warning.removeprefix('WARNING: ')}")
    overwritten = list(dict.fromkeys(str(file) for file in done.outputs() if file.is_file()))
    if overwritten:
        others = f" and {len(overwritten) - _NAMED} more" if len(overwritten) > _NAMED else ""
        invocation.note(f"WARNING: the new runs overwrite {', '.join(overwritten[:_NAMED])}{others}")
    emit(_view(done, overwritten, dry_run), invocation.output)


def _view(done: Rerun, overwritten: list[str], dry_run: bool) -> View:
    lines, reruns = [], []
    for old, ended in done.ended.items():
        count, new = sum(map(len, ended)), done.clusters.get(old)
        verb = "would run again" if dry_run else f"run{'s' if count == 1 else ''} again as cluster {new}"
        lines.append(f"{counted(count, 'job')} of cluster {old} {verb}")
        reruns.append({"cluster_id": old, "jobs": count, "rerun_cluster_id": new})
    return View(document={"jobs": len(done), "reruns": reruns, "overwritten": overwritten}, text="\n".join(lines))
