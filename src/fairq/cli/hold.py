"""``fairq hold``: hold jobs."""

from __future__ import annotations

from fairq.cli.command import App
from fairq.cli.confirm import Yes
from fairq.cli.invocation import Invocation
from fairq.cli.options import Constraint, DryRun, Now
from fairq.cli.output import Report, emit
from fairq.cli.queue_options import All, Jobs, Reason, confirm_many, job_editor, note_ending, report, selected

app = App()


@app.command(
    examples="""
        fairq hold 7.3                            # one job
        fairq hold 7 --reason "input is wrong"    # a cluster, with a reason
        fairq hold --constraint 'RequestMemory > 8000'
    """
)
def hold(
    invocation: Invocation,
    output: Report,
    jobs: Jobs = None,
    constraint: Constraint = None,
    everything: All = False,
    reason: Reason = None,
    yes: Yes = False,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Hold jobs.

    Held jobs stay in the queue but get no slot until you release them. A running job is stopped: its slot becomes free,
    and its usage is charged up to now. Name jobs as for fairq remove. If you name a cluster, an owner
    or a constraint, the command holds only its idle and running jobs. On a terminal, the command asks before it holds
    all jobs, or more than 20.

    If fairq started the job, it ends all processes of the job: with its kill_sig and, after the grace period
    (launch.grace), with SIGKILL. The command waits two seconds for this. A job that takes longer keeps its slot until
    the next fairq negotiate or fairq run collects it.
    """
    selection = selected(jobs, constraint, everything)
    editor, trial = job_editor(invocation, now, reason, dry_run=dry_run)
    if not dry_run:
        confirm_many(invocation, "Hold", everything, yes, lambda: len(trial.hold(selection)))
    changed = editor.hold(selection, reason)
    note_ending(invocation, changed.ending)
    view = report(changed.targets, selection, "held", dry_run)
    emit(view, output)
