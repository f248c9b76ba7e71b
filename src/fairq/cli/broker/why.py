"""``fairq broker why``: the brokerage's decision about a task, and the changes that would help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import asdict
from typer import Argument, Option

from fairq.cli.broker.rules import RulesOption
from fairq.cli.broker.run import STAGE_COLUMNS
from fairq.cli.broker.sentences.compared_values import compared, first_names
from fairq.cli.broker.sentences.data import data_notes
from fairq.cli.broker.sentences.reasons import add_texts, meaning_of
from fairq.cli.broker.waiting_tasks import why_waiting
from fairq.cli.command import App, Context
from fairq.cli.comparison import Compare, comparison_columns, comparison_sentence, comparison_table
from fairq.cli.figures import counted, moment
from fairq.cli.options import Now
from fairq.cli.output import Column, Table, View, emit
from fairq.errors.base import UsageError
from fairq.settings.key import PANDA

if TYPE_CHECKING:
    from fairq.steps.broker.why import Why

app = App()

_FIELDS = ("queue", "unit", "verdict", "stage", "reason", "meaning", "temporary", "weight", "compared", "terms",
           "numbers", "change")  # fmt: skip


@app.listing(
    "why",
    examples="""
        fairq broker why                                       # why tasks wait: all of them together
        fairq broker why --queue CERN                          # why waiting tasks do not get this queue
        fairq broker why 4711                                  # why the task has its queues, or none
        fairq broker why 4711 --queue CERN                     # every check that this queue fails
        fairq broker why 4711 --af queue change --constraint 'reason == "lowmemory"'
        fairq broker why 4711 --last                           # the decision of the last run
        fairq broker why 4711 --compare                        # compare with the other set of rules
    """,
)
def why(
    context: Context,
    task: Annotated[int | None, Argument(metavar="[TASK]", min=0, help="Number of the task.")] = None,
    queue: Annotated[
        str | None, Option("--queue", metavar="QUEUE", help="Explain this queue, with all obstacles.")
    ] = None,
    cycle: Annotated[
        int | None, Option("--cycle", metavar="N", min=1, help="Show the stored decision of run N.")
    ] = None,
    last: Annotated[bool, Option("--last", help="Show the stored decision of the last run.")] = False,
    compare: Compare = False,
    rules: RulesOption = None,
    now: Now = None,
) -> None:
    """Explain why a task has its queues, or none.

    Without TASK, the command brokers all waiting tasks now and stores nothing. It shows the reasons of those without an
    eligible queue, by stage and by queue, with the number of tasks. It then lists the checks without which most of them
    would find queues: each check is left out by itself, and the tasks are brokered again, at most 2,000 of them from
    all parts of the list. With --queue, it shows why waiting tasks do not get this queue. Of the reasons by queue, the
    first 12 are shown; --json has all of them.

    With TASK, the command brokers the task now and stores nothing. The stage table shows the number of queues before
    and after each check. Each skipped queue has the deciding reason, the numbers compared, and the change that would
    let it pass that check. Each remaining queue has its weight, term by term. If no queue is left, the command leaves
    out each check in turn and lists the checks without which the task would find queues.

    --cycle and --last show the stored decision of a run: reasons, weights and the stage table. The numbers compared are
    not stored.

    CSV, TSV and --af have a record for each queue: queue, unit (as CRIC knows it), verdict, stage, reason (PanDA's
    tag), meaning, temporary, weight, compared, terms (factors of the weight), numbers (what these came from) and
    change. JSON has task, time, cycle, rules, activity, status, reason, stored (what the task's record says), change
    (what would have to change if no queue was checked), stages, reasons, candidates, changes, queues, unknown_sites
    (names in the task's site that are no queue) and, with --queue, obstacles (all that the queue fails).

    With --compare, the member compare has differs, differs_at (the first stage at which the two sets of rules differ),
    steps (how many queues each set refuses at each stage, and the queues left), points (the rule points that change the
    decision on their own) and queues (those that the two sets judge differently).

    Without TASK, a record has tasks, queues (how many refuse these tasks), stage, reason, meaning, temporary, example
    (the first of the tasks), queue (the first one that refuses it), compared and change. docs/json.md describes the
    JSON document.
    """
    from fairq.steps.broker import why as step
    from fairq.steps.broker.flows import rules_in_force

    invocation, output = context.obj, context.obj.output
    if task is None:
        for option, is_given in (("--cycle", cycle is not None), ("--last", last), ("--compare", compare)):
            if is_given:
                raise UsageError(message=f"{option} needs a task; name one")
        why_waiting(invocation, output, rules, now, queue)
        return
    if cycle is not None and last:
        raise UsageError(message="--cycle and --last exclude each other; give only one")
    if cycle is not None or last:
        for option, is_given in (("--rules", rules is not None), ("--compare", compare)):
            if is_given:
                raise UsageError(message=f"{option} is for a new decision; leave it out for a past run")
        explanation = step.why_then(invocation.state_path, task, cycle, queue)
    else:
        chosen = rules_in_force(invocation.settings, rules)
        explanation = step.why(invocation.state_path, chosen, task, invocation.now(now), queue)
    for note in data_notes(
        {task: explanation.unknown_sites} if explanation.unknown_sites else {}, explanation.disagreement
    ):
        invocation.note(note)
    comparison = None
    if compare:
        from fairq.steps.broker.why import compared as compare_both

        settings = invocation.settings if rules is None else invocation.settings.under(rules, scheme=PANDA)
        comparison = compare_both(invocation.state_path, settings, task, explanation.time, queue)
    emit(_view(explanation, comparison, one_queue=queue is not None), output)


def _view(explanation: Why, comparison: dict[str, Any] | None, *, one_queue: bool) -> View:
    document = _document(explanation)
    queues = Table(_queue_columns(explanation, one_queue), document["queues"], title="Queues", key="queues")
    tables = [queues]
    if one_queue:
        tables.append(Table(_OBSTACLES, document["obstacles"], title="All obstacles", key="obstacles"))
    else:
        stages = Table(STAGE_COLUMNS, document["stages"], title="Stages", key="stages", constrained=True)
        reasons = Table(_REASONS, document["reasons"], title="Reasons", key="reasons", constrained=True)
        tables = [stages, reasons]
        if explanation.changes:
            tables.append(
                Table(_CHANGES, document["changes"], title="Changes that help", key="changes", constrained=True)
            )
        tables.append(queues)
    members = {name: value for name, value in document.items() if name not in {table.key for table in tables}}
    text = _headline(document)
    if comparison is not None:
        members["compare"] = comparison
        text += f"\n{comparison_sentence(comparison)}"
        tables.append(comparison_table(comparison))
        judged = [Column("Queue", "queue"), *comparison_columns(comparison)]
        tables.append(Table(judged, comparison["queues"], title="Queues judged differently"))
    return View(tables=tables, document=members, text=text, main=tables.index(queues), fields=_FIELDS)


def _document(explanation: Why) -> dict[str, Any]:
    """Return the explanation with its texts, for JSON."""
    # Records are changed below, but what they hold is not, so it need not be copied.
    document: dict[str, Any] = {
        name: [dict(record) for record in value] if isinstance(value, list) and name != "unknown_sites" else value
        for name, value in asdict(explanation).items()
    }
    stopped, stop_details = document.pop("stopped"), document.pop("compared")
    del document["disagreement"]
    for record in document["reasons"]:
        record["meaning"] = meaning_of(record["reason"], record["stage"], record["meaning"])
    for record in document["queues"]:
        if explanation.cycle is None:
            add_texts(record)
        else:
            record["meaning"] = meaning_of(record["reason"], record["stage"], record["meaning"])
    for record in document["obstacles"]:
        add_texts(record)
        del record["meaning"]
    for record in document["changes"]:
        add_texts(record)
        del record["meaning"], record["compared"]
    document["change"] = document["queues"][0]["change"] if stopped and document["queues"] else ""
    if stop_details:
        document["reason"] = f"{document['reason']} ({compared(stop_details)})"
    return document


def _headline(document: dict[str, Any]) -> str:
    when = f"In cycle {document['cycle']}" if document["cycle"] is not None else "Now"
    if document["status"] == "assigned":
        names = [candidate["queue"] for candidate in document["candidates"]]
        outcome = f"goes to {counted(len(names), 'queue')}: {first_names(names)}"
    else:
        outcome = f"has no eligible queue: {document['reason'] or document['status']}"
    lines = [f"{when} task {document['task']} {outcome} ({document['activity']}, rules {document['rules']})."]
    stored = document["stored"]
    retry = f", next retry at {moment(stored['retry_time'])}" if stored["retry_time"] is not None else ""
    since = f", failing since {moment(stored['frozen_time'])}" if stored["frozen_time"] is not None else ""
    cycle = f" by cycle {stored['cycle']}" if stored["cycle"] is not None else ""
    if document["change"]:
        lines.append(f"It would get further if {document['change']}.")
    return "\n".join([*lines, f"It is {stored['status']}{cycle}{retry}{since}."])


def _queue_columns(explanation: Why, one_queue: bool) -> list[Column]:
    columns = [
        Column("Queue", "queue"),
        Column("Stage", "stage", level=4),
        Column("Reason", "reason"),
        Column("Weight", "weight", _figure, "right", level=3),
    ]
    if explanation.cycle is None:
        columns += [
            Column("Compared", "compared", compared, level=2),
            Column("Terms of the weight", "terms", _terms, level=5),
            *([Column("From", "numbers", compared, level=6)] if one_queue else []),
            Column("Passes if", "change"),
        ]
    return columns


_REASONS = [
    Column("Reason", "reason"),
    Column("Stage", "stage", level=1),
    Column("Queues", "queues"),
    Column("Pseudo queues", "pseudo", level=2),
    Column("Meaning", "meaning"),
]


_CHANGES = [
    Column("Without check", "check"),
    Column("Queues", "queues", first_names),
    Column("Best queue needs", "change"),
]


_OBSTACLES = [
    Column("Queue", "queue"),
    Column("Stage", "stage", level=1),
    Column("Reason", "reason"),
    Column("Compared", "compared", compared, level=2),
    Column("Passes if", "change"),
]


def _terms(terms: dict[str, float]) -> str:
    return " x ".join(f"{name} {_figure(value)}" for name, value in terms.items())


def _figure(value: float) -> str:
    return f"{value:.4g}"
