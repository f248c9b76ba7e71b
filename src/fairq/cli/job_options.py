"""Shared parts of the commands on jobs: how jobs are named and selected, and how the result is reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option
from typer.core import TyperOption

from fairq.cli.confirm import MOST_UNASKED, asks, confirm
from fairq.cli.figures import counted
from fairq.cli.options import joined, parse_time, valued
from fairq.cli.output import View
from fairq.errors.base import UsageError

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

Mine = Annotated[bool, Option("--mine", help="Show only your own jobs.")]
Procs = Annotated[bool, Option("--procs", help="Show each job on its own line.")]
Long = Annotated[bool, Option("--long", help="Show whole ads, attribute by attribute.")]
Limit = Annotated[int | None, valued("--limit", "Show at most N lines or ads.", "N", min=1)]
Reason = Annotated[str | None, valued("--reason", "Reason to store with the job and the history.", "TEXT")]


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


def _option(name: str, text: str, **how: Any) -> TyperOption:
    return TyperOption(param_decls=[name, f"--{name}"], help=text, **how)


def _only(name: str, text: str, metavar: str | None = None) -> TyperOption:
    return _option(name, f"Only {text}.", metavar=metavar, is_flag=metavar is None)


STATUSES = (
    _only("idle", "idle jobs, also those that wait for something"),
    _only("running", "running jobs"),
    _only("held", "held jobs"),
)
PEOPLE = (
    _only("user", "jobs of this owner or submitter", "USER"),
    _only("name", "jobs of the batch with this name", "NAME"),
)
SUBMITTED = (_only("since", "jobs submitted at this time or later", "TIME"),)
CONSTRAINT = (
    _option("constraint", "Only matches of this ClassAd expression; repeatable.", multiple=True, metavar="EXPR"),
)
ALL = (_option("all", "All jobs.", is_flag=True),)

SELECTION = (*CONSTRAINT, *ALL, *STATUSES, *PEOPLE, *SUBMITTED)
"""``selection=SELECTION`` of a command; without names of jobs, they select among all that the user may change."""


def selection_given(
    invocation: Invocation,
    words: Sequence[str] | None,
    now: int | None,
    *,
    constraint: str | None = None,
    mine: str | None = None,
) -> Selection:
    """Return the jobs that *words* and the selection options of the command select; without any, all jobs.

    *now* is the value of ``--now``, *constraint* that of ``--constraint`` if it is an output option, *mine* the user
    whose jobs ``--mine`` selects.

    Raises UsageError for both all and single jobs; InvalidJobIdError, ExpressionError, InvalidTimeError.
    """
    from fairq.steps.jobs.selection import selection_of

    given = invocation.selecting
    if words and given.get("all"):
        raise UsageError(message="--all and single jobs exclude each other; give only one")
    if mine is not None and given.get("user") is not None:
        raise UsageError(message="--mine and --user exclude each other; give only one")
    since = given.get("since")
    return selection_of(
        words or (),
        constraint if constraint is not None else joined(given.get("constraint")),
        statuses=[name for name in ("idle", "running", "held") if given.get(name)],
        user=given.get("user") if mine is None else mine,
        name=given.get("name"),
        since=None if since is None else parse_time(since, "--since", invocation.now(now)),
    )


def selected(invocation: Invocation, words: Sequence[str] | None, now: int | None) -> Selection:
    """Return the jobs that *words* and the options of `SELECTION` select; raises UsageError if nothing is selected."""
    selection = selection_given(invocation, words, now)
    if not (selection.targets or selection.is_narrowed or invocation.selecting["all"]):
        raise UsageError(message="no jobs are selected; name jobs, clusters or owners, or give --constraint or --all")
    return selection
