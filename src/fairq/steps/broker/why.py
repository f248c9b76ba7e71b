"""Explain the brokerage of one task: by stage, by queue, and with the changes that would help."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field

from fairq.columns.broker.work import TASKS
from fairq.engine.brokerage.criteria.candidates import unknown_sites
from fairq.engine.brokerage.flow.course import UNDECIDED
from fairq.engine.brokerage.flow.outcome import Obstacle, Outcome, Verdict
from fairq.engine.brokerage.flow.plan import TASK_STAGE, Plan
from fairq.engine.brokerage.flow.plugin import Reason
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.distinct import distinct
from fairq.errors.broker import NoVerdictError, UnknownTaskError
from fairq.settings.key import PANDA
from fairq.state import broker_cycles, broker_data
from fairq.state.connection import State, reading
from fairq.steps.broker.flows import broker, plans_of, rules_in_force
from fairq.steps.broker.kept_verdict import legend_of, unpack
from fairq.steps.broker.packer import reasons_of
from fairq.steps.broker.plugins import load_plugins
from fairq.steps.broker.stages import described, nothing_left, stage_record
from fairq.steps.broker.tasks import each_brokered
from fairq.steps.broker.world import Disagreement, disagreement, load_types, load_world, unknown_queue
from fairq.steps.rule_comparison import Steps, compare_rules

if TYPE_CHECKING:
    from fairq.settings import Settings


Record = dict[str, Any]


class Why(Struct):
    """The explanation, as data: the command adds the meaning of reasons and the changes that would help.

    ``meaning`` and ``change`` of records are texts of a plugin's reason, otherwise empty.

    Args:
        task: its number.
        time: time of the decision; *cycle*: its run, None: now.
        rules: the rules used.
        activity: production or analysis.
        status: the decision: assigned, failed (no queue is left), waiting or fatal.
        reason: why the task is not assigned.
        stored: the stored record of the task: state, time of the next retry, queues.
        stages: the stage table.
        reasons: number of queues by reason.
        candidates: the queues for the task, best first.
        stopped: the task was stopped before any queue was checked.
        compared: the values compared then.
        changes: single checks without which the task would find queues, and how many.
        queues: the verdict on every queue.
        obstacles: every check that the requested queues fail, not only the first.
        unknown_sites: names in the task's site that are not queues.
        disagreement: where statistics and imported jobs disagree.
    """

    task: int
    time: int
    cycle: int | None
    rules: str
    activity: str
    status: str
    reason: str
    stored: Record
    stopped: bool = False
    compared: Record = field(default_factory=dict)
    stages: list[Record] = field(default_factory=list)
    reasons: list[Record] = field(default_factory=list)
    candidates: list[Record] = field(default_factory=list)
    changes: list[Record] = field(default_factory=list)
    queues: list[Record] = field(default_factory=list)
    obstacles: list[Record] = field(default_factory=list)
    unknown_sites: list[str] = field(default_factory=list)
    disagreement: Disagreement | None = None


class BrokerageInput(NamedTuple):
    """The input for brokering one task.

    Args:
        stored: the stored record of the task.
        case: the task with its chunk.
        pool: the queues.
        plan: its flow.
        disagreement: where statistics and imported jobs disagree.
    """

    stored: Record
    case: Case
    pool: Pool
    plan: Plan
    disagreement: Disagreement | None

    def broker(self, rules: Rules) -> Outcome:
        """Broker the task under *rules*; nothing is stored."""
        return _broker(self.case, self.pool.with_rules(rules), self.plan)


def _broker(case: Case, pool: Pool, plan: Plan) -> Outcome:
    (outcome,) = broker([case], pool, plan)
    return outcome


def load_input(path: Path, rules: Rules, task: int, now: int) -> BrokerageInput:
    """Return the current input for brokering the task.

    Raises UnknownTaskError, BrokerPluginError.
    """
    with reading(path) as state:
        stored = _stored(state, task)
        (brokered,) = each_brokered(state, load_types(state), [task])
        case, plugins = brokered.case, load_plugins()
        datasets = (dataset.name for dataset in case.chunk.datasets)
        # A plugin may read the jobs of any share.
        world = load_world(state, now, datasets, share=None if plugins.names else case.task.gshare or "")
        disagreeing = disagreement(state)
    return BrokerageInput(stored, case, Pool(world, rules), plans_of(plugins)[case.task.activity], disagreeing)


def why(path: Path, rules: Rules, task: int, now: int, queue: str | None = None) -> Why:
    """Broker the task now without storing, and explain the outcome; only for one *queue* if given.

    Raises UnknownTaskError, UnknownQueueError, BrokerPluginError.
    """
    stored, case, pool, plan, disagreeing = load_input(path, rules, task, now)
    outcome, rows = _broker(case, pool, plan), rows_of(pool, queue)
    explanation = Why(
        task=task,
        time=now,
        cycle=None,
        rules=rules.name,
        activity=plan.activity,
        status=outcome.status,
        reason="" if outcome.status == "assigned" else nothing_left(outcome, reasons_of(plan)),
        stored=stored,
        stopped=bool(outcome.stopped_by),
        compared=outcome.stop_details,
        stages=[stage_record(count) for count in outcome.stages],
        candidates=[described(candidate) for candidate in outcome.candidates],
        queues=[_record(outcome.verdict(row)) for row in rows],
        unknown_sites=unknown_sites(pool, case.task),
        disagreement=disagreeing,
    )
    explanation.reasons = _reasons(explanation.queues if queue is None else list(map(_record, outcome.verdicts())))
    if queue is not None:
        if not outcome.stopped_by:
            explanation.obstacles = [
                _obstacle(outcome, row, obstacle) for row in rows for obstacle in outcome.obstacles(row)
            ]
    elif outcome.status != "assigned" and not outcome.stopped_by:
        explanation.changes = list(_changes(case, pool, outcome))
    return explanation


def why_then(path: Path, task: int, cycle: int | None, queue: str | None = None) -> Why:
    """Return the stored decision about the task of a past run (None: its last run).

    Raises UnknownTaskError, UnknownQueueError, NoVerdictError.
    """
    with reading(path) as state:
        stored = _stored(state, task)
        verdict = broker_cycles.load_verdict(state, task, cycle)
        run = None if verdict is None else broker_cycles.load(state, verdict.cycle)
    if verdict is None or run is None:
        raise NoVerdictError(task=task, of="" if cycle is None else f" of cycle {cycle}")
    legend = legend_of(run.document)
    outcome = unpack(verdict.data, legend)
    queues = []
    for row, name in enumerate(legend.names):
        stored_reason, weight = outcome.reason_at(row), outcome.weight_at(row)
        stage, reason = "", Reason("")
        if stored_reason is not None:
            stage = stored_reason.stage
            reason = Reason(stored_reason.tag, stored_reason.meaning, passing=stored_reason.temporary)
        queues.append(_record(Verdict(name, name.partition("/")[0], stage, reason, weight, {}, {}, {})))
    chosen = queues if queue is None else [queues[row] for row in _positions_of(legend.names, queue)]
    return Why(
        task=task,
        time=run.time,
        cycle=run.number,
        rules=run.rules,
        activity=outcome.activity,
        status=verdict.status,
        reason="" if outcome.candidates else nothing_left(outcome, outcome.reasons),
        stored=stored,
        stages=[stage_record(count) for count in outcome.stages],
        reasons=_reasons(queues),
        candidates=[{"queue": name, "weight": weight} for name, weight in outcome.candidates],
        queues=chosen,
    )


_STORED = {
    "status": "status",
    "retry_time": "retryTime",
    "frozen_time": "frozenTime",
    "assigned": "assigned",
    "cycle": "cycle",
    "reason": "reason",
}
"""The fields shown of a stored task, and their columns."""


def _stored(state: State, task: int) -> Record:
    rows = broker_data.select(state, TASKS, "jediTaskID", [task], list(_STORED.values()))
    if not rows:
        raise UnknownTaskError(task=task)
    return dict(zip(_STORED, rows[0], strict=True))


def rows_of(pool: Pool, queue: str | None) -> list[int]:
    """Return the rows of a queue; for a unified queue, of all its pseudo queues; all rows if *queue* is None."""
    return list(range(len(pool))) if queue is None else _positions_of(pool.names, queue)


def _positions_of(names: Iterable[str], queue: str) -> list[int]:
    """Return the positions of a queue; for a unified queue, those of all its pseudo queues."""
    names = list(names)
    positions = [row for row, name in enumerate(names) if queue in (name, name.partition("/")[0])]
    if not positions:
        raise unknown_queue(queue, [*names, *(name.partition("/")[0] for name in names)])
    return positions


def _record(verdict: Verdict) -> Record:
    return {
        "queue": verdict.queue,
        "unit": verdict.unit,
        "verdict": "candidate" if not verdict.reason else "skipped",
        "stage": verdict.stage,
        "reason": verdict.reason,
        "meaning": verdict.of.meaning,
        "temporary": not verdict.permanent,
        "weight": verdict.weight,
        "compared": verdict.details,
        "terms": verdict.terms,
        "numbers": verdict.numbers,
        "change": verdict.of.remedy,
    }


def _reasons(queues: list[Record]) -> list[Record]:
    """Count the reasons over the queues, the most frequent first."""
    units: dict[tuple[str, str, str], list[str]] = {}
    for record in queues:
        if record["reason"]:
            units.setdefault((record["stage"], record["reason"], record["meaning"]), []).append(record["unit"])
    return [
        {
            "reason": reason,
            "stage": stage,
            "queues": len(set(reason_units)),
            "pseudo": len(reason_units),
            "meaning": meaning,
        }
        for (stage, reason, meaning), reason_units in sorted(
            units.items(), key=lambda entry: (-len(entry[1]), entry[0])
        )
    ]


def _changes(case: Case, pool: Pool, outcome: Outcome) -> Iterable[Record]:
    """Broker the task without each check that refused a queue, and yield the checks that alone block it."""
    numbers = distinct(outcome.decided[outcome.decided != UNDECIDED]).tolist()
    tried: set[str] = set()
    for number in numbers:
        entry = outcome.plan.reasons[number]
        if entry.filter is None or entry.filter.name in tried:
            continue
        tried.add(entry.filter.name)
        freed = _broker(case, pool, outcome.plan.without(entry.filter.name))
        if not freed.candidates:
            continue
        best = freed.candidates[0].queue
        verdict = outcome.verdict(pool.rows[best])
        yield {
            "check": entry.stage,
            "reason": verdict.reason,
            "queues": [candidate.queue for candidate in freed.candidates],
            "best": best,
            "meaning": verdict.of.meaning,
            "compared": verdict.details,
            "change": verdict.of.remedy,
        }


def _obstacle(outcome: Outcome, row: int, obstacle: Obstacle) -> Record:
    return {
        "queue": outcome.ask.pool.names[row],
        "stage": obstacle.stage,
        "reason": obstacle.reason.tag,
        "meaning": obstacle.reason.meaning,
        "compared": obstacle.details,
        "change": obstacle.reason.remedy,
    }


MOST_QUEUES = 5_000
"""Maximum number of queues for which single rule points are tried."""


def compared(path: Path, settings: Settings, task: int, now: int, queue: str | None = None) -> Record:
    """Return the decisions of the two sets of rules about a task, or about one *queue* for it, at *now*.

    The comparison (see `compare_rules`) also has ``queues``: the queues with different decisions.

    Raises UnknownTaskError, UnknownQueueError, BrokerPluginError.
    """
    inputs = load_input(path, rules_in_force(settings), task, now)
    rows = rows_of(inputs.pool, queue)

    def decide(changed_settings: Settings) -> Steps:
        return _steps(inputs.broker(rules_in_force(changed_settings)), rows)

    comparison = compare_rules(settings, PANDA, decide, try_points=len(inputs.pool) <= MOST_QUEUES)
    for step in comparison["steps"][:-1]:
        step["here"], step["there"] = len(step["here"]), len(step["there"])
    here = inputs.broker(rules_in_force(settings))
    there = inputs.broker(rules_in_force(settings.under(comparison["other_rules"], scheme=PANDA)))
    queue_records = [
        {"queue": here.verdict(row).queue, "here": _verdict_text(here, row), "there": _verdict_text(there, row)}
        for row in rows
    ]
    return comparison | {
        "queues": [queue_record for queue_record in queue_records if queue_record["here"] != queue_record["there"]]
    }


def _steps(outcome: Outcome, rows: list[int]) -> Steps:
    """Return the queues that each stage refuses, and the remaining queues in order of weight."""
    plan = outcome.plan
    refused: dict[str, set[int]] = {
        stage: set() for stage in (TASK_STAGE, *(check.stage for check in (*plan.before, *plan.after)))
    }
    for row in rows:
        number = int(outcome.decided[row])
        if number != UNDECIDED:
            refused[plan.reasons[number].stage].add(row)
    names = {outcome.ask.pool.names[row] for row in rows}
    remaining = [candidate.queue for candidate in outcome.candidates if candidate.queue in names]
    return {**refused, "decision": remaining or outcome.status}


def _verdict_text(outcome: Outcome, row: int) -> str:
    number = int(outcome.decided[row])
    if number == UNDECIDED:
        return "candidate"
    entry = outcome.plan.reasons[number]
    return f"{entry.reason.tag} ({entry.stage})"
