"""``fairq remove``, ``hold``, ``release`` and ``finish``: changes of jobs whose command is one word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fairq.cli.command import App, Context
from fairq.cli.confirm import Yes
from fairq.cli.job_options import SELECTION, Jobs, Reason, confirm_many, job_editor, note_ending, report, selected
from fairq.cli.options import DryRun, Now, parse_time, valued
from fairq.cli.output import emit
from fairq.cli.tools import JOBS

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation

_DONE = {"remove": "removed", "hold": "held", "release": "released"}

_APPS = {word: App() for word in ("remove", "hold", "release", "finish")}


def app_of(name: str) -> App:
    """Return the command *name*."""
    return _APPS[name]


@_APPS["remove"].report(
    dialect=JOBS,
    selection=SELECTION,
    examples="""
        fairq remove 7.3                          # one job
        fairq remove 7 8.0-99                     # a cluster, and a hundred jobs of another
        fairq remove alice                        # all jobs of an owner
        fairq remove --name sweep --idle          # the idle jobs of a batch
        fairq remove --constraint 'JobPrio < 0'   # jobs that match an expression
    """,
)
def remove(
    context: Context,
    jobs: Jobs = None,
    reason: Reason = None,
    yes: Yes = False,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Remove jobs from the queue.

    A running job is stopped: its slot becomes free, and its usage is charged up to now. Name jobs by id, range,
    cluster, owner or submitter. --idle, --running, --held, --user, --name, --since and --constraint select among these,
    or among all jobs that you may change if you name none. If a name has no job, nothing is changed. On a terminal, the
    command asks before it removes all jobs, or more than 20.

    If fairq started the job, it ends all processes of the job: with its kill_sig and, after the grace period
    (launch.grace), with SIGKILL. The command waits two seconds for this. A job that takes longer keeps its slot until
    the next fairq negotiate or fairq run collects it.
    """
    _change(context.obj, "remove", jobs, reason, now, ask=not yes, dry_run=dry_run)


@_APPS["hold"].report(
    dialect=JOBS,
    selection=SELECTION,
    examples="""
        fairq hold 7.3                            # one job
        fairq hold 7 --reason "input is wrong"    # a cluster, with a reason
        fairq hold --constraint 'RequestMemory > 8000'
    """,
)
def hold(
    context: Context,
    jobs: Jobs = None,
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
    _change(context.obj, "hold", jobs, reason, now, ask=not yes, dry_run=dry_run)


@_APPS["release"].report(
    dialect=JOBS,
    selection=SELECTION,
    examples="""
        fairq release 7.3                         # one job
        fairq release alice                       # all held jobs of an owner
        fairq release --all                       # every held job
    """,
)
def release(
    context: Context,
    jobs: Jobs = None,
    reason: Reason = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Release held jobs.

    Released jobs become idle. Name jobs as for fairq remove. If you name a cluster, an owner or a constraint, the
    command releases only its held jobs.
    """
    _change(context.obj, "release", jobs, reason, now, ask=False, dry_run=dry_run)


def _change(
    invocation: Invocation,
    word: str,
    jobs: list[str] | None,
    reason: str | None,
    now: int | None,
    *,
    ask: bool,
    dry_run: bool,
) -> None:
    """Do *word* to the selected *jobs* and report it; with *ask*, ask before changing many jobs."""
    selection = selected(invocation, jobs, now)
    editor, trial = job_editor(invocation, now, reason, dry_run=dry_run)
    if not dry_run:
        confirm_many(invocation, word.capitalize(), not ask, lambda: len(getattr(trial, word)(selection)))
    changed = getattr(editor, word)(selection, reason)
    note_ending(invocation, changed.ending)
    emit(report(changed.targets, selection, _DONE[word], dry_run), invocation.output)


@_APPS["finish"].report(
    dialect=JOBS,
    selection=SELECTION,
    examples="""
        fairq finish 7.3                       # it has just ended
        fairq finish 7.3 --exit-code 1         # with an exit code
        fairq finish 7 --at 10:30              # all running jobs of a cluster, at 10:30 today
    """,
)
def finish(
    context: Context,
    jobs: Jobs = None,
    exit_code: Annotated[int | None, valued("--exit-code", "Exit code of the program.", "N", min=-255, max=255)] = None,
    at: Annotated[
        str | None,
        valued("--at", "End time, such as 10:30 or -5m [default: now].", "TIME"),
    ] = None,
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

    invocation = context.obj
    selection = selected(context.obj, jobs, now)
    time = invocation.now(now)
    end = None if at is None else parse_time(at, "--at", time)
    actor = invocation.actor(time, reason)

    def finished(*, dry_run: bool) -> Finished:
        path, settings = invocation.state_path, invocation.settings
        return step(path, settings, selection, actor, end=end, exit_code=exit_code, dry_run=dry_run)

    if not dry_run:
        confirm_many(invocation, "Finish", yes, lambda: len(finished(dry_run=True).chosen))
    door = None if dry_run else invocation.by_program(actor, now)
    if door is None:
        targets = finished(dry_run=dry_run).chosen.targets
    else:
        from fairq.host.client.changes import change_jobs

        chosen = lambda: finished(dry_run=True).chosen  # noqa: E731
        targets = change_jobs(door, "finish", selection, chosen, end=end, exit_code=exit_code).targets
    emit(report(targets, selection, "finished", dry_run), invocation.output)
