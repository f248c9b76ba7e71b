"""``fairq release``: release held jobs."""

from __future__ import annotations

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.options import Constraint, DryRun, Now
from fairq.cli.output import Report, emit
from fairq.cli.queue_options import All, Jobs, Reason, job_editor, report, selected

app = App()


@app.command(
    examples="""
        fairq release 7.3                         # one job
        fairq release alice                       # all held jobs of an owner
        fairq release --all                       # every held job
    """
)
def release(
    invocation: Invocation,
    output: Report,
    jobs: Jobs = None,
    constraint: Constraint = None,
    everything: All = False,
    reason: Reason = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Release held jobs.

    Released jobs become idle. Name jobs as for fairq remove. If you name a cluster, an owner or a constraint, the
    command releases only its held jobs.
    """
    selection = selected(jobs, constraint, everything)
    editor, _ = job_editor(invocation, now, reason, dry_run=dry_run)
    changed = editor.release(selection, reason)
    view = report(changed.targets, selection, "released", dry_run)
    emit(view, output)
