"""The actions in PanDA that a stored brokerage run gave, generated again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairq.errors.broker import NoSuchRunError
from fairq.state import broker_cycles
from fairq.state.broker_cycles import BrokerCycle, TaskVerdict
from fairq.state.connection import reading
from fairq.steps.broker.actions import Decision, Former, actions_of_run
from fairq.steps.broker.diff import hint_of
from fairq.steps.broker.kept_verdict import Legend, unpack
from fairq.steps.broker.stages import reason_then


def actions_again(path: Path, number: int) -> dict[str, Any]:
    """Return the document of actions of the run *number*, for the tasks whose decisions are kept.

    Raises NoSuchRunError.
    """
    with reading(path) as state:
        runs = {run.number: run for run in broker_cycles.load_all(state)}
        verdicts = [one for one in broker_cycles.load_verdicts(state) if one.cycle == number]
    if number not in runs:
        raise NoSuchRunError(number=number, hint=hint_of(runs))
    run = runs[number]
    legend = Legend(run.document)
    decisions = [_decision(run, legend, one) for one in verdicts]
    return actions_of_run(run.number, run.time, run.rules, decisions, _former(run), applied=True)


def _decision(run: BrokerCycle, legend: Legend, verdict: TaskVerdict) -> Decision:
    kept = unpack(verdict.data, legend)
    queues = [name for name, _ in kept.candidates]
    if queues:
        return Decision(verdict.task, verdict.status, queues, "")
    reasons = run.document["reasons"][kept.activity]
    return Decision(verdict.task, verdict.status, [], reason_then(kept, reasons))


def _former(run: BrokerCycle) -> Former:
    return {
        task: (status, bool(had_queues))
        for status, lists in run.document.get("former", {}).items()
        for had_queues, tasks in enumerate(lists)
        for task in tasks
    }
