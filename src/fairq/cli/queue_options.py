"""Shared parts of the commands on jobs: how jobs are named, and how the result is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from fairq.cli.confirm import MOST_UNASKED, asks, confirm
from fairq.cli.figures import counted
from fairq.cli.output import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairq.cli.invocation import Invocation
    from fairq.host.client.changes import JobRequests
    from fairq.steps.jobs.change import JobEditor
    from fairq.steps.jobs.selection import Selection, Target

Jobs = Annotated[
    list[str] | None,
    Argument(
        metavar="JOB...",
        help="Job (7.0, 7.0@SCHEDD), jobs (7.0-99), cluster (7), owner, or submitter.",
    ),
]

Reason = Annotated[str | None, Option("--reason", metavar="TEXT", help="Reason to store with the job and the history.")]


def job_editor(
    invocation: Invocation, now: int | None, reason: str | None, *, dry_run: bool
) -> tuple[JobEditor | JobRequests, JobEditor]:
    """Return the editor for a change of jobs, and one that only tries; *now* is the value of ``--now``.

    Without *dry_run*, the first one sends the change to the program of the pool, if the pool in use has one.
    """
    from fairq.steps.jobs.change import JobEditor

    actor = invocation.actor(invocation.now(now), reason)
    path, settings = invocation.state_path, invocation.settings
    trial = JobEditor(path, settings, actor, dry_run=True)
    if dry_run:
        return trial, trial
    door = invocation.by_program(actor, now)
    if door is None:
        return JobEditor(path, settings, actor), trial
    from fairq.host.client.changes import JobRequests

    return JobRequests(door, trial), trial


def confirm_many(invocation: Invocation, verb: str, yes: bool, count: Callable[[], int]) -> None:
    """On a terminal, ask before a command does *verb* to all jobs, or to many; *count* returns their number."""
    if not asks(yes):
        return
    jobs = count()
    if invocation.selecting["all"] or jobs > MOST_UNASKED:
        confirm(invocation, f"{verb} {counted(jobs, 'job')}?")


def report(
    targets: Sequence[tuple[Target, int]], selection: Selection, done: str, dry_run: bool, words: str | None = None
) -> View:
    """Return the view after a change: the jobs of *targets* were *done* (e.g. ``removed``; *words* for people)."""
    participle = words or done
    if not selection.targets:
        lines = [_sentence(sum(jobs for _, jobs in targets), "", selection, participle, dry_run)]
    else:
        lines = [_line(target, count, selection, participle, dry_run) for target, count in targets if count]
    document = {
        "action": done,
        "jobs": sum(count for _, count in targets),
        "targets": [{"target": target.text, "jobs": count} for target, count in targets],
    }
    return View(document=document, text="\n".join(lines))


def note_ending(invocation: Invocation, count: int) -> None:
    """Print that processes of *count* jobs have not ended yet."""
    if count:
        subject = "processes of 1 job are" if count == 1 else f"processes of {count} jobs are"
        invocation.note(f"{subject} still ending; until then it keeps its slot" if count == 1 else
                        f"{subject} still ending; until then they keep their slots")  # fmt: skip


def _line(target: Target, count: int, selection: Selection, participle: str, dry_run: bool) -> str:
    if target.is_one_job:
        return f"Job {target.text} {'would be ' if dry_run else ''}{participle}"
    return _sentence(count, target.place(), selection, participle, dry_run)


def _sentence(count: int, where: str, selection: Selection, participle: str, dry_run: bool) -> str:
    condition = f" ({selection.filters})" if selection.filters else ""
    condition += "" if selection.constraint is None else f" matching constraint {selection.constraint}"
    have = "would be" if dry_run else "has been" if count == 1 else "have been"
    return f"{counted(count, 'job')}{where}{condition} {have} {participle}"
