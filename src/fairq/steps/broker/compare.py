"""The decision of the other set of PanDA's rules about a task, by stage and by queue."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.engine.brokerage.flow.course import UNDECIDED
from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plan import TASK_STAGE
from fairq.settings.key import PANDA
from fairq.steps.broker.rules import rules_in_force
from fairq.steps.broker.why import load_asked, rows_of
from fairq.steps.rule_comparison import Steps, compare_rules

if TYPE_CHECKING:
    from fairq.settings import Settings

Record = dict[str, Any]

MOST_QUEUES = 5_000
"""Maximum number of queues for which single rule points are tried."""


def compared(path: Path, settings: Settings, task: int, now: int, queue: str | None = None) -> Record:
    """Return the decisions of the two sets of rules about a task, or about one *queue* for it, at *now*.

    The comparison (see `compare_rules`) also has ``queues``: the queues with different decisions.

    Raises UnknownTaskError, UnknownQueueError, BrokerPluginError.
    """
    asked = load_asked(path, task, now)
    rows = rows_of(asked.columns, queue)

    def decide(under: Settings) -> Steps:
        return _steps(asked.broker(rules_in_force(under)), rows)

    found = compare_rules(settings, PANDA, decide, try_points=len(asked.columns) <= MOST_QUEUES)
    for step in found["steps"][:-1]:
        step["here"], step["there"] = len(step["here"]), len(step["there"])
    here = asked.broker(rules_in_force(settings))
    there = asked.broker(rules_in_force(settings.under(found["other_rules"], scheme=PANDA)))
    judged = [{"queue": here.verdict(row).queue, "here": _said(here, row), "there": _said(there, row)} for row in rows]
    return found | {"queues": [one for one in judged if one["here"] != one["there"]]}


def _steps(outcome: Outcome, rows: list[int]) -> Steps:
    """Return the queues that each stage refuses, and the remaining queues in order of weight."""
    plan = outcome.plan
    refused: dict[str, set[int]] = {
        stage: set() for stage in (TASK_STAGE, *(one.stage for one in (*plan.before, *plan.after)))
    }
    for row in rows:
        number = int(outcome.decided[row])
        if number != UNDECIDED:
            refused[plan.reasons[number].stage].add(row)
    names = {outcome.ask.pool.names[row] for row in rows}
    left = [candidate.queue for candidate in outcome.candidates if candidate.queue in names]
    return {**refused, "decision": left or outcome.status}


def _said(outcome: Outcome, row: int) -> str:
    number = int(outcome.decided[row])
    if number == UNDECIDED:
        return "candidate"
    entry = outcome.plan.reasons[number]
    return f"{entry.reason.tag} ({entry.stage})"
