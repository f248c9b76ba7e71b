"""``fairq remove``: remove jobs from the queue."""

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
        fairq remove 7.3                          # one job
        fairq remove 7 8.0-99                     # a cluster, and a hundred jobs of another
        fairq remove alice                        # all jobs of an owner
        fairq remove --constraint 'JobPrio < 0'   # jobs that match an expression
    """
)
def remove(
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
    """Remove jobs from the queue.

    A running job is stopped: its slot becomes free, and its usage is charged up to now. Name jobs by id, range,
    cluster, owner or submitter. --constraint selects among these, or among all jobs if you name none. If a name has no
    job, nothing is changed. On a terminal, the command asks before it removes all jobs, or more than 20.

    If fairq started the job, it ends all processes of the job: with its kill_sig and, after the grace period
    (launch.grace), with SIGKILL. The command waits two seconds for this. A job that takes longer keeps its slot until
    the next fairq negotiate or fairq run collects it.
    """
    selection = selected(jobs, constraint, everything)
    editor, trial = job_editor(invocation, now, reason, dry_run=dry_run)
    if not dry_run:
        confirm_many(invocation, "Remove", everything, yes, lambda: len(trial.remove(selection)))
    changed = editor.remove(selection, reason)
    note_ending(invocation, changed.ending)
    view = report(changed.targets, selection, "removed", dry_run)
    emit(view, output)
