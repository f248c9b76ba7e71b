"""``fairq undo``: undo a change."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from fairq.cli.command import App, Context
from fairq.cli.options import DryRun, Now, Reason
from fairq.cli.output import View, emit

app = App()


@app.report(
    examples="""
        fairq undo               # take back your last change
        fairq undo 17            # take back change 17 of 'fairq state history'
        fairq undo --dry-run     # only say which change that would be
    """
)
def undo(
    context: Context,
    number: Annotated[
        int | None, Argument(metavar="[N]", min=1, help="Number of the change [default: your last one].")
    ] = None,
    reason: Reason = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Undo a change, as if it had not been made.

    submit, remove, hold, release, prio, slots add, remove, drain and reserve, pool pause and resume, every edit of
    userprio, and changes of settings (config set, unset and import, quotas set and remove) can be undone for
    pool.undo_kept (7 days by default). A change of several jobs, slots or submitters is undone as a whole.

    Usage since the change stays charged. From an edited priority, only the part that has not decayed is removed. Jobs
    that ran when they were removed or held become idle again. If fairq started their processes, a removal has ended
    them and cannot be undone.

    If a later change concerns the same jobs, slots or values, nothing is undone, and the message names that change.
    finish and import cannot be undone: after one of them, name an older change by its number.
    """
    from fairq.steps.undo.undo import take_back, try_to_take_back

    invocation, output = context.obj, context.obj.output
    actor = invocation.actor(invocation.now(now), reason)
    door = None if dry_run else invocation.by_program(actor, now)
    if door:
        undone = door.ask("undo", {"number": number})
    else:
        step = try_to_take_back if dry_run else take_back
        undone = step(invocation.state_path, invocation.settings, actor, number).document()
    subjects = undone["subjects"]
    changed_subjects = subjects[0] if len(subjects) == 1 else f"{subjects[0]} and {len(subjects) - 1} more"
    done = "would be undone" if dry_run else "undone"
    text = f"Change {undone['change']} of {undone['user']} {done}: {undone['command']} ({changed_subjects})"
    emit(View(text=text, document={**undone, "stored": not dry_run}), output)
