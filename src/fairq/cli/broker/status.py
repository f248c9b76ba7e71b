"""``fairq broker status``: the grid at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from fairq.cli.command import App, Context
from fairq.cli.figures import counted, moment
from fairq.cli.options import Now
from fairq.cli.output import Column, Table, View, emit
from fairq.common.quantities import shown_duration

if TYPE_CHECKING:
    from fairq.steps.broker.status import GridStatus

app = App()

_LINES = 12
"""Number of reasons shown."""


@app.listing(
    "status",
    watch=True,
    examples="""
        fairq broker status               # queues, tasks, the last run, and why tasks are pending
        fairq broker status --watch       # the same, drawn anew every 5 seconds; q ends
        fairq broker status --json
    """,
)
def status(context: Context, now: Now = None) -> None:
    """Show the grid at a glance.

    The lines show the queues by status, the tasks by state, the tasks that a run would broker now, the imported jobs by
    state, and the last run. The table has the reasons of the last runs for which tasks are pending, most tasks first;
    the other formats have all of them. broker why explains the waiting tasks as they are now.
    """
    from fairq.steps.broker.status import grid_status

    invocation, output = context.obj, context.obj.output
    grid = grid_status(invocation.existing_state, invocation.now(now))
    emit(_view(grid, _LINES if output.format == "table" else None), output)


def _view(grid: GridStatus, limit: int | None) -> View:
    document = asdict(grid)
    reasons = [asdict(reason) for reason in document.pop("reasons")]
    document["run"] = None if grid.run is None else asdict(grid.run)
    lines = [
        ("Grid", grid.state),
        ("Queues", f"{_counts(grid.queues, 'queue')}; {grid.used_queues} with assigned tasks"),
        ("Tasks", _counts(grid.tasks, "task")),
        ("Due", _due(grid)),
    ]
    if grid.jobs:
        lines.append(("Jobs", _counts(grid.jobs, "job")))
    lines.append(("Last run", _run(grid)))
    if limit is not None and len(reasons) > limit:
        lines.append(("Not shown", counted(len(reasons) - limit, "reason")))
    text = "\n".join(f"{name:<9}  {value}" for name, value in lines)
    table = Table(_COLUMNS, reasons[:limit], title="Why tasks are pending", key="reasons", empty="")
    return View(text=text, tables=[table], document=document)


def _counts(counts: dict[str, int], what: str) -> str:
    total = counted(sum(counts.values()), what)
    return f"{total}: {', '.join(f'{number} {name}' for name, number in counts.items())}" if counts else total


def _due(grid: GridStatus) -> str:
    words = counted(grid.due, "task")
    if grid.next_retry_time is not None:
        words += f"; the next retry is in {shown_duration(int(grid.next_retry_time - grid.time))}"
        words += f" ({moment(grid.next_retry_time)})"
    return words


def _run(grid: GridStatus) -> str:
    if grid.run is None:
        return "none; 'fairq broker run' starts one"
    age = grid.time - grid.run.time
    when = f"{shown_duration(age)} ago" if age >= 0 else "in the future"
    words = f"{grid.run.number}, {when} ({moment(grid.run.time)}, rules {grid.run.rules})"
    return f"{words}: {_counts(grid.run.counts, 'task')}"


_COLUMNS = [
    Column("Tasks", "tasks"),
    Column("Reason", "reason"),
    Column("Example", "example", None, "left", level=1),
]
