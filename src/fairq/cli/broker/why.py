"""``fairq broker why``: what the brokerage says about a task, and what would have to change."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairq.cli.broker.rules import RulesOption
from fairq.cli.broker.run import STAGE_COLUMNS
from fairq.cli.command import App
from fairq.cli.comparison import Compare, comparison_columns, comparison_sentence, comparison_table
from fairq.cli.figures import moment
from fairq.cli.invocation import Invocation
from fairq.cli.options import Now
from fairq.cli.output import Column, Output, Table, View, emit
from fairq.errors.base import UsageError
from fairq.settings.key import PANDA

if TYPE_CHECKING:
    from fairq.steps.broker.why import Why

app = App()

_FIELDS = ("queue", "unit", "verdict", "stage", "reason", "meaning", "temporary", "weight", "compared", "terms",
           "numbers", "change")  # fmt: skip


@app.command(
    "why",
    examples="""
        fairq broker why 4711                                  # why the task has its queues, or none
        fairq broker why 4711 --queue CERN                     # every check that this queue fails
        fairq broker why 4711 --af queue change --constraint 'reason == "lowmemory"'
        fairq broker why 4711 --last                           # the decision of the last run
        fairq broker why 4711 --compare                        # whether the other set of rules decides otherwise
    """,
)
def why(
    invocation: Invocation,
    output: Output,
    task: Annotated[int, typer.Argument(metavar="TASK", min=0, help="Number of the task.")],
    queue: Annotated[
        str | None, typer.Option("--queue", metavar="QUEUE", help="Explain this queue, with all obstacles.")
    ] = None,
    cycle: Annotated[
        int | None, typer.Option("--cycle", metavar="N", min=1, help="Show the stored decision of run N.")
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="Show the stored decision of the last run.")] = False,
    compare: Compare = False,
    rules: RulesOption = None,
    now: Now = None,
) -> None:
    """Explain why a task has its queues, or none.

    The command brokers the task now and stores nothing. The stage table shows the number of queues before and after
    each check. Each skipped queue has the deciding reason, the numbers compared, and the change that would let it pass
    that check. Each remaining queue has its weight, term by term. If no queue is left, the command leaves out each
    check in turn and lists the checks without which the task would find queues.

    --cycle and --last show the stored decision of a run: reasons, weights and the stage table. The numbers compared are
    not stored.

    CSV, TSV and --af have a record for each queue: queue, unit (as CRIC knows it), verdict, stage, reason (PanDA's
    tag), meaning, temporary, weight, compared, terms (factors of the weight), numbers (what these came from) and
    change. JSON has task, time, cycle, rules, activity, status, reason, stored (what the task's record says), change
    (what would have to change where no queue was looked at), stages, reasons, candidates, changes, queues and, with
    --queue, obstacles. With --compare the member compare has differs, differs_at (the first stage at which the two sets
    of rules part), steps (how many queues each set refuses at each stage, and the queues left), points (the rule points
    that alone change the decision) and queues (those that the two sets judge differently).
    """
    from fairq.steps.broker import why as step
    from fairq.steps.broker.compare import compared
    from fairq.steps.broker.rules import rules_in_force

    if cycle is not None and last:
        raise UsageError(message="--cycle and --last exclude each other; give only one")
    if cycle is not None or last:
        for option, given in (("--rules", rules is not None), ("--compare", compare)):
            if given:
                raise UsageError(message=f"{option} is for a new decision; leave it out for a past run")
        found = step.why_then(invocation.state_path, task, cycle, queue)
    else:
        chosen = rules_in_force(invocation.settings, rules)
        found = step.why(invocation.state_path, chosen, task, invocation.now(now), queue)
    comparison = None
    if compare:
        settings = invocation.settings if rules is None else invocation.settings.under(rules, scheme=PANDA)
        comparison = compared(invocation.state_path, settings, task, found.time, queue)
    emit(_view(found, comparison, one=queue is not None), output)


def _view(found: Why, comparison: dict[str, Any] | None, *, one: bool) -> View:
    queues = Table(_queue_columns(found, one), found.queues, title="Queues", key="queues")
    tables = [queues]
    if one:
        tables.append(Table(_OBSTACLES, found.obstacles, title="All obstacles", key="obstacles"))
    else:
        stages = Table(STAGE_COLUMNS, found.stages, title="Stages", key="stages", constrained=True)
        reasons = Table(_REASONS, found.reasons, title="Reasons", key="reasons", constrained=True)
        tables = [stages, reasons]
        if found.changes:
            tables.append(Table(_CHANGES, found.changes, title="Changes that help", key="changes", constrained=True))
        tables.append(queues)
    document = {name: value for name, value in asdict(found).items() if name not in {table.key for table in tables}}
    text = _headline(found)
    if comparison is not None:
        document["compare"] = comparison
        text += f"\n{comparison_sentence(comparison)}"
        tables.append(comparison_table(comparison))
        judged = [Column("Queue", "queue"), *comparison_columns(comparison)]
        tables.append(Table(judged, comparison["queues"], title="Queues judged differently"))
    return View(tables=tables, document=document, text=text, main=tables.index(queues), fields=_FIELDS)


def _headline(found: Why) -> str:
    when = f"In cycle {found.cycle}" if found.cycle is not None else "Now"
    if found.status == "assigned":
        from fairq.steps.broker.why import some

        names = [candidate["queue"] for candidate in found.candidates]
        outcome = f"goes to {len(names)} queue{'' if len(names) == 1 else 's'}: {some(names)}"
    else:
        outcome = f"has no eligible queue: {found.reason or found.status}"
    lines = [f"{when} task {found.task} {outcome} ({found.activity}, rules {found.rules})."]
    stored = found.stored
    again = f", next retry at {moment(stored['retry_time'])}" if stored["retry_time"] is not None else ""
    since = f", failing since {moment(stored['frozen_time'])}" if stored["frozen_time"] is not None else ""
    by = f" by cycle {stored['cycle']}" if stored["cycle"] is not None else ""
    if found.change:
        lines.append(f"It would get further if {found.change}.")
    return "\n".join([*lines, f"It is {stored['status']}{by}{again}{since}."])


def _queue_columns(found: Why, one: bool) -> list[Column]:
    columns = [Column("Queue", "queue"), Column("Stage", "stage"), Column("Reason", "reason"),
               Column("Weight", "weight", _figure, "right")]  # fmt: skip
    if found.cycle is None:
        columns += [
            Column("Compared", "compared", _compared),
            Column("Terms of the weight", "terms", _terms),
            *([Column("From", "numbers", _compared)] if one else []),
            Column("Passes if", "change"),
        ]
    return columns


_REASONS = [Column("Reason", "reason"), Column("Stage", "stage"), Column("Queues", "queues"),
            Column("Pseudo queues", "pseudo"), Column("Meaning", "meaning")]  # fmt: skip


def _names(queues: list[str]) -> str:
    from fairq.steps.broker.why import some

    return some(queues)


_CHANGES = [Column("Without check", "check"), Column("Queues", "queues", _names), Column("Best queue needs", "change")]


def _compared(details: dict[str, Any]) -> str:
    from fairq.steps.broker.why import compared

    return compared(details)


_OBSTACLES = [Column("Queue", "queue"), Column("Stage", "stage"), Column("Reason", "reason"),
              Column("Compared", "compared", _compared), Column("Passes if", "change")]  # fmt: skip


def _terms(terms: dict[str, float]) -> str:
    return " x ".join(f"{name} {_figure(value)}" for name, value in terms.items())


def _figure(value: float) -> str:
    return f"{value:.4g}"
