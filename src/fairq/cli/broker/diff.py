"""``fairq broker diff``: what changed between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from fairq.cli.command import App, Context
from fairq.cli.figures import counted, moment
from fairq.cli.output import Column, Table, View, emit

if TYPE_CHECKING:
    from fairq.steps.broker.diff import Difference

app = App()

_SHOWN = 3
"""Number of queues shown in a task's line."""


@app.listing(
    "diff",
    examples="""
        fairq broker diff 3 4
        fairq broker diff 3 4 --json
    """,
)
def diff(
    context: Context,
    before: Annotated[int, Argument(metavar="RUN", min=1, help="Number of the earlier run.")],
    after: Annotated[int, Argument(metavar="RUN", min=1, help="Number of the later run.")],
) -> None:
    """Show what changed between two brokerage runs, and why.

    Only tasks whose state or queues changed are shown. For each queue that a task gained or lost, Why has the reason
    for which the other run refused it: a reason of broker why, weight (it was not among the best), or absent (that run
    did not know the queue). For a task that a run did not broker, its last earlier decision counts. Decisions of the
    last broker.verdicts_kept runs are stored.

    A record has task, before and after (cycle, status and queues), gained, lost, and queues: for each changed queue
    the decision of both runs (place among the best, stage, reason, weight).
    """
    from fairq.steps.broker.diff import diff as step

    invocation, output = context.obj, context.obj.output
    difference = step(invocation.state_path, before, after)
    emit(diff_view(difference, f"{_run(difference.before)} to {_run(difference.after)}"), output)


def diff_view(difference: Difference, title: str) -> View:
    """Return the view of a comparison; *title* names the two runs."""
    count = len(difference.tasks)
    columns = [
        Column("Task", "task"),
        Column("Before", "before", _status, level=2),
        Column("After", "after", _status, level=1),
        Column("Gained", "gained", few, level=3),
        Column("Lost", "lost", few, level=3),
        Column("Why", "queues", _reasons),
    ]
    text = f"{title}: {counted(count, 'task')} changed, {difference.unchanged} did not"
    document = {"before": difference.before, "after": difference.after, "unchanged": difference.unchanged}
    return View(tables=[Table(columns, difference.tasks, key="tasks", empty="")], document=document, text=text)


def _run(head: dict[str, Any]) -> str:
    return f"run {head['cycle']} ({moment(head['time'])}, rules {head['rules']})"


def _status(decision: dict[str, Any] | None) -> str:
    return "" if decision is None else str(decision["status"])


def _reasons(queues: list[dict[str, Any]]) -> str:
    """Return, for the first queues, the reason of the run that refused the queue."""
    texts = []
    for queue in queues[:_SHOWN]:
        is_gained = queue["after"] is not None and queue["after"]["place"] is not None
        refused = queue["before"] if is_gained else queue["after"]
        if refused is not None:
            texts.append(f"{'+' if is_gained else '-'}{queue['queue']} {refused['reason']}")
    others = f", +{len(queues) - _SHOWN} more" if len(queues) > _SHOWN else ""
    return ", ".join(texts) + others


def few(queues: list[str]) -> str:
    """Return the first queues, and the number of others."""
    others = f" +{len(queues) - _SHOWN}" if len(queues) > _SHOWN else ""
    return " ".join(queues[:_SHOWN]) + others
