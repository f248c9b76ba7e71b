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


SELECTION = (
    _option("constraint", "Select only matches of this ClassAd expression; repeatable.", multiple=True, metavar="EXPR"),
    _option("all", "Select all jobs.", is_flag=True),
    _option("idle", "Select idle jobs, also those that wait for something.", is_flag=True),
    _option("running", "Select running jobs.", is_flag=True),
    _option("held", "Select held jobs.", is_flag=True),
    _option("user", "Select jobs of this owner or submitter.", metavar="USER"),
    _option("name", "Select jobs of the batch with this name.", metavar="NAME"),
    _option("since", "Select jobs submitted at this time or later.", metavar="TIME"),
)
"""``selection=SELECTION`` of a command; without names of jobs, they select among all that the user may change."""


def selected(invocation: Invocation, words: Sequence[str] | None, now: int | None) -> Selection:
    """Return the jobs that *words* and the options of `SELECTION` select; *now* is the value of ``--now``.

    Raises UsageError if nothing is selected, or both all and single jobs; InvalidJobIdError, ExpressionError,
    InvalidTimeError.
    """
    from fairq.steps.jobs.selection import selection_of

    given = invocation.selecting
    since = given["since"]
    found = selection_of(
        words or (),
        joined(given["constraint"]),
        statuses=[name for name in ("idle", "running", "held") if given[name]],
        user=given["user"],
        name=given["name"],
        since=None if since is None else parse_time(since, "--since", invocation.now(now)),
    )
    if words and given["all"]:
        raise UsageError(message="--all and single jobs exclude each other; give only one")
    if not (found.targets or found.is_narrowed or given["all"]):
        raise UsageError(message="no jobs are selected; name jobs, clusters or owners, or give --constraint or --all")
    return found
