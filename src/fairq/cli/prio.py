"""``fairq prio``: the order of a submitter's jobs."""

from __future__ import annotations

import re
from typing import Annotated

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.job_options import SELECTION, Jobs, Reason, job_editor, report, selected
from fairq.cli.options import DryRun, Now, valued
from fairq.cli.output import emit
from fairq.cli.tools import PRIO
from fairq.errors.base import InvalidNumberError, UsageError

_CHANGE = re.compile(r"[-+]\d+", re.ASCII)


def _by_option(words: list[str]) -> list[str]:
    """Return *words* with the first bare ``+N`` or ``-N`` as ``--by=N``."""
    for index, word in enumerate(words):
        if word == "--":
            break
        if _CHANGE.fullmatch(word) and (index == 0 or words[index - 1] not in ("-p", "--priority", "--by")):
            return [*words[:index], f"--by={word}", *words[index + 1 :]]
    return words


app = App()


@app.report(
    rewrite=_by_option,
    dialect=PRIO,
    selection=SELECTION,
    examples="""
        fairq prio 10 7.3              # set one job's priority
        fairq prio --top 7.3           # before all other jobs of its submitter
        fairq prio +5 7                # raise a whole cluster
        fairq prio -5 alice            # lower all jobs of an owner
        fairq prio -p -3 7.0           # set a negative priority, as condor_prio does
    """,
)
def prio(
    context: Context,
    words: Jobs = None,
    priority: Annotated[str | None, valued("-p --priority", "Priority to set.", "N")] = None,
    by: Annotated[str | None, valued("--by", "Amount to add, negative to lower.", "N")] = None,
    top: Annotated[bool, Option("--top", help="Move the jobs ahead of the submitter's others.")] = False,
    reason: Reason = None,
    now: Now = None,
    dry_run: DryRun = False,
) -> None:
    """Change the priority of jobs relative to the submitter's other jobs.

    Jobs with a higher priority are matched before the submitter's other jobs. Jobs of other submitters are not
    affected. A plain number before the jobs sets the priority; +N or -N changes it by N. --top raises the jobs above
    all other jobs of their submitters that wait or are held; their order among themselves stays. Name jobs as for
    fairq remove.
    """
    invocation, output = context.obj, context.obj.output
    words = list(words or [])
    if priority is None and by is None and words and not top:
        priority = words.pop(0)
    if (priority is not None) + (by is not None) + top != 1:
        raise UsageError(message="no priority, or more than one; give N to set it, +N or -N to change it, or --top")
    value = 0 if top else _number(priority if priority is not None else by or "")
    selection = selected(invocation, words, now)
    editor, _ = job_editor(invocation, now, reason, dry_run=dry_run)
    changed = editor.move_to_top(selection) if top else editor.prioritise(selection, value, relative=by is not None)
    if top:
        done = words_of_it = "moved ahead of the submitter's other jobs"
    elif by is None:
        done, words_of_it = f"set to priority {value}", f"given priority {value}"
    else:
        done = f"{'lowered' if value < 0 else 'raised'} in priority by {abs(value)}"
        words_of_it = f"given a priority {'lower' if value < 0 else 'higher'} by {abs(value)}"
    emit(report(changed.targets, selection, done, dry_run, words_of_it), output)


def _number(text: str) -> int:
    if not re.fullmatch(r"[-+]?\d{1,12}", text, re.ASCII):
        raise InvalidNumberError(what="the priority", value=text, expected="give a whole number, then the jobs")
    return int(text)
