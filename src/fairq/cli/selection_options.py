"""The options that select jobs, the same for all commands that change them, and the one function that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typer.core import TyperOption

from fairq.cli.options import joined, parse_time
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation
    from fairq.steps.jobs.selection import Selection


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
