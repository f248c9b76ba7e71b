"""``fairq broker why`` without a task: why tasks wait, summed over all tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from fairq.cli.broker.sentences.reasons import add_texts
from fairq.cli.figures import counted
from fairq.cli.output import Column, Table, View, emit, progress

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation
    from fairq.cli.output import Output
    from fairq.steps.broker.waiting_tasks import WhyWaiting

_MAX_LINES = 12
"""Number of lines of the reasons by queue."""


def why_waiting(invocation: Invocation, output: Output, rules: str | None, now: Any, queue: str | None) -> None:
    """Show why tasks wait, or why they do not get *queue*."""
    from fairq.steps.broker.flows import rules_in_force
    from fairq.steps.broker.waiting_tasks import why_waiting as step

    result = step(
        invocation.state_path,
        rules_in_force(invocation.settings, rules),
        invocation.now(now),
        queue,
        watch=lambda total: progress("Brokering", total, invocation.quiet),
    )
    emit(_view(result), output)


def _view(result: WhyWaiting) -> View:
    document = asdict(result)
    for record in (*document["reasons"], *document["queues"], *document["help"]):
        add_texts(record)
    reasons = [column for column in _REASONS if result.queue is None or column.attribute != "queues"]
    tables = [Table(reasons, document["reasons"], title="Reasons, most tasks first", key="reasons", empty="")]
    if result.help:
        title = "What would help most, each check left out by itself"
        tables.append(Table(_HELP, document["help"], title=title, key="help", constrained=True))
    if result.queues:
        title = "Reasons by queue, most tasks first"
        if len(result.queues) > _MAX_LINES:
            title += f": the first {_MAX_LINES} of {len(result.queues)}"
        tables.append(Table(_QUEUES, document["queues"][:_MAX_LINES], title=title, constrained=True))
    members = {name: value for name, value in document.items() if name not in ("reasons", "help")}
    return View(tables=tables, document=members | {"help": document["help"]}, text=_headline(result), fields=_FIELDS)


def _headline(result: WhyWaiting) -> str:
    if not result.tasks:
        return f"No task is waiting (rules {result.rules})."
    where = "a queue" if result.queue is None else result.queue
    unplaced = result.tasks - result.placed
    verb = "does" if unplaced == 1 else "do"
    lines = [
        f"{counted(result.tasks, 'task')} {'waits' if result.tasks == 1 else 'wait'}: a run now would give {where} to "
        f"{result.placed}; {unplaced} {verb} not get {'one' if result.queue is None else 'it'} (rules {result.rules})."
    ]
    if result.help:
        best = result.help[0]
        gain = counted(best["tasks"], "more task")
        if result.tried < unplaced:
            gain = f"{best['tasks']} of the {result.tried} tried"
        lines.append(f"Without the {best['check']}, {gain} would get {'one' if result.queue is None else 'it'}.")
    elif unplaced:
        lines.append("No single check is in the way: leaving out any one of them changes nothing.")
    if result.tried < unplaced:
        lines.append(
            f"Of the {unplaced} tasks, {result.tried} from all parts of the list were tried without each check."
        )
    return "\n".join(lines)


_FIELDS = ("tasks", "queues", "stage", "reason", "meaning", "temporary", "example", "queue", "compared", "change")

_REASONS = [
    Column("Tasks", "tasks"),
    Column("Reason", "reason"),
    Column("Stage", "stage", level=2),
    Column("Queues", "queues", level=1),
    Column("Meaning", "meaning"),
    Column("Example", "example", None, "left", level=3),
]
_HELP = [
    Column("Helps", "tasks"),
    Column("Without check", "check"),
    Column("Example", "example", None, "left", level=1),
    Column("Queue", "queue", level=2),
    Column("The example needs", "change"),
]
_QUEUES = [
    Column("Tasks", "tasks"),
    Column("Queue", "queue"),
    Column("Reason", "reason"),
    Column("Stage", "stage", level=2),
    Column("Temporary", "temporary", lambda temporary: "yes" if temporary else "no", level=3),
    Column("Example", "example", None, "left", level=1),
]
