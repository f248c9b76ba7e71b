"""``fairq broker why`` without a task: why tasks wait, all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from fairq.cli.broker.sentences.reasons import tell
from fairq.cli.figures import counted
from fairq.cli.output import Column, Table, View, emit, progress

if TYPE_CHECKING:
    from fairq.cli.invocation import Invocation
    from fairq.cli.output import Output
    from fairq.steps.broker.waiting_tasks import WhyWaiting

_MOST_LINES = 12
"""Number of lines of the reasons by queue."""


def why_waiting(invocation: Invocation, output: Output, rules: str | None, now: Any, queue: str | None) -> None:
    """Show why tasks wait, or why they do not get *queue*."""
    from fairq.steps.broker.flows import rules_in_force
    from fairq.steps.broker.waiting_tasks import why_waiting as step

    found = step(
        invocation.state_path,
        rules_in_force(invocation.settings, rules),
        invocation.now(now),
        queue,
        watch=lambda total: progress("Brokering", total, invocation.quiet),
    )
    emit(_view(found), output)


def _view(found: WhyWaiting) -> View:
    document = asdict(found)
    for record in (*document["reasons"], *document["queues"], *document["help"]):
        tell(record)
    reasons = [one for one in _REASONS if found.queue is None or one.attribute != "queues"]
    tables = [Table(reasons, document["reasons"], title="Reasons, most tasks first", key="reasons", empty="")]
    if found.help:
        title = "What would help most, each check left out by itself"
        tables.append(Table(_HELP, document["help"], title=title, key="help", constrained=True))
    if found.queues:
        title = "Reasons by queue, most tasks first"
        if len(found.queues) > _MOST_LINES:
            title += f": the first {_MOST_LINES} of {len(found.queues)}"
        tables.append(Table(_QUEUES, document["queues"][:_MOST_LINES], title=title, constrained=True))
    rest = {name: value for name, value in document.items() if name not in ("reasons", "help")}
    return View(tables=tables, document=rest | {"help": document["help"]}, text=_headline(found), fields=_FIELDS)


def _headline(found: WhyWaiting) -> str:
    if not found.tasks:
        return f"No task is waiting (rules {found.rules})."
    where = "a queue" if found.queue is None else found.queue
    left = found.tasks - found.placed
    verb = "does" if left == 1 else "do"
    lines = [
        f"{counted(found.tasks, 'task')} {'waits' if found.tasks == 1 else 'wait'}: a run now would give {where} to "
        f"{found.placed}; {left} {verb} not get {'one' if found.queue is None else 'it'} (rules {found.rules})."
    ]
    if found.help:
        best = found.help[0]
        more = counted(best["tasks"], "more task")
        if found.tried < left:
            more = f"{best['tasks']} of the {found.tried} tried"
        lines.append(f"Without the {best['check']}, {more} would get {'one' if found.queue is None else 'it'}.")
    elif left:
        lines.append("No single check is in the way: leaving out any one of them changes nothing.")
    if found.tried < left:
        lines.append(f"Of the {left} tasks, {found.tried} from all parts of the list were tried without each check.")
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
