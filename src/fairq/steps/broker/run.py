"""One brokerage run on the state: decide about the waiting tasks and store the decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from fairq.columns.broker.work import TASKS
from fairq.common.records import Actor, Change
from fairq.engine.brokerage.analysis import SECOND_PASS
from fairq.engine.brokerage.criteria.candidates import unknown_sites
from fairq.engine.brokerage.flow.course import Lines, StageCount
from fairq.engine.brokerage.flow.outcome import Outcome, is_exhausted
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import World
from fairq.errors.broker import UnknownTaskError
from fairq.state import broker_cycles, broker_data, history
from fairq.state.broker_cycles import BrokerCycle, TaskVerdict
from fairq.state.connection import State, reading, writing
from fairq.state.cycle_lock import BROKERAGE, cycle_lock
from fairq.steps.broker.actions import actions_of_run
from fairq.steps.broker.flows import Watch, broker_in_turn, plans_of, unwatched
from fairq.steps.broker.kept_verdict import Legend
from fairq.steps.broker.packer import Packer
from fairq.steps.broker.plugins import Plugins, load_plugins
from fairq.steps.broker.stages import described, nothing_left, stage_record
from fairq.steps.broker.tasks import Brokered, datasets_of
from fairq.steps.broker.world import Disagreement, disagreement, load_world

READY, PENDING, ASSIGNED, WAITING = "ready", "pending", "assigned", "waiting"
FAILED, EXHAUSTED = "failed", "exhausted"


class Decided(Struct, frozen=True):
    """The decision about one task: *document* for output, *data* for the state."""

    task: int
    status: str
    retry: float | None
    frozen: float | None
    document: dict[str, Any]
    data: bytes


class Run(Struct):
    """A brokerage run.

    Args:
        number: the number of the run.
        time: in seconds since 1970.
        rules: the rules in use.
        legend: the shared data that the packed tasks refer to.
        plugins: entry points of filters and weights of plugins.
        decided: the tasks in order of number.
        stages: the stage table of all tasks together, by activity.
        former: by former state, the tasks without queues and those with queues.
        unknown_sites: by task, the names in its site that are not queues.
        disagreement: where statistics and imported jobs disagree.
    """

    number: int
    time: int
    rules: Rules
    legend: Legend
    plugins: tuple[str, ...] = ()
    decided: list[Decided] = field(default_factory=list)
    stages: dict[str, StageTable] = field(default_factory=dict)
    former: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)
    unknown_sites: dict[int, list[str]] = field(default_factory=dict)
    disagreement: Disagreement | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Number of tasks by new state."""
        return dict(sorted(Counter(decision.status for decision in self.decided).items()))

    def stage_tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return the stage tables by activity."""
        return {activity: table.records() for activity, table in self.stages.items()}


class StageTable:
    """Numbers of queues before and after each stage, summed over all tasks; each analysis pass counts separately."""

    def __init__(self, stages: Sequence[str]) -> None:
        """*stages*: those of the flow."""
        self._stages, self._second = stages, stages.index(SECOND_PASS) if SECOND_PASS in stages else -1
        # By pass and stage: the number of tasks with a line, and the sums of its numbers.
        self._sums = np.zeros((2, len(stages), len(StageCount._fields)), np.int64)

    def add(self, lines: Lines) -> None:
        """Count the lines of a task."""
        stages, counted = lines[:, 0], lines.copy()
        counted[:, 0] = 1
        passes = np.maximum.accumulate((stages == self._second).astype(np.intp))
        self._sums[passes, stages] += counted

    def records(self) -> list[dict[str, Any]]:
        """Return the table in the order of the stages, with the number of tasks of each line."""
        records = []
        for pass_sums in self._sums.tolist():
            sums_by_stage: dict[str, list[int]] = {}
            for stage, sums in zip(self._stages, pass_sums, strict=True):
                if sums[0]:
                    sums_by_stage[stage] = list(map(add, sums, sums_by_stage.get(stage, [0] * len(sums))))
            records += [
                stage_record(StageCount(stage, *counts)) | {"tasks": tasks}
                for stage, (tasks, *counts) in sums_by_stage.items()
            ]
        return records


def run(
    path: Path,
    rules: Rules,
    actor: Actor,
    numbers: Sequence[int] = (),
    *,
    every: bool = False,
    dry_run: bool = False,
    kept: int = 10,
    detailed: bool = True,
    watch: Watch = unwatched,
    out: Callable[[dict[str, Any]], None] | None = None,
) -> Run:
    """Broker tasks at the actor's time: those with these *numbers*, *every* task, or only those that are due.

    Ready and waiting tasks are due, and pending tasks whose retry time has come. Everything is stored in one
    transaction, or nothing with *dry_run*. The verdicts of the last *kept* runs are kept; of older runs, only the last
    verdict on each task. *detailed*: the documents of tasks describe their candidates.
    *watch* shows the progress. *out* receives the actions for PanDA (see
    `fairq.steps.broker.actions`) before anything is stored. If *out* fails, nothing is stored.

    Raises:
        CycleUnderWayError: another run works on this state.
        UnknownTaskError: a task number does not exist.
        BrokerPluginError: a plugin cannot be used.
    """
    plugins = load_plugins()
    with (
        nullcontext() if dry_run else cycle_lock(path, BROKERAGE),
        reading(path) if dry_run else writing(path) as state,
    ):
        chosen = due(state, actor.time, numbers, every)
        result = decide(state, rules, plugins, actor.time, chosen, watch, detailed=detailed)
        if out is not None:
            out(actions_of_run(*stored_form(result), applied=not dry_run))
        if result.decided and not dry_run:
            _store(state, result, actor)
            broker_cycles.prune(state, result.number - kept + 1)
    return result


def due(state: State, now: float, numbers: Sequence[int], every: bool) -> list[int]:
    """Return the numbers of the tasks to be brokered; raises UnknownTaskError."""
    rows = broker_data.load(state, TASKS, ["jediTaskID", "status", "retryTime"])
    if numbers:
        existing = {task for task, _, _ in rows}
        for number in numbers:
            if number not in existing:
                raise UnknownTaskError(task=number)
        return sorted(set(numbers))
    return [task for task, status, retry in rows if every or is_due(status, retry, now)]


def is_due(status: str, retry: float | None, now: float) -> bool:
    """Return whether a task is due."""
    return status in (READY, WAITING) or (status == PENDING and (retry is None or retry <= now))


def decide(
    state: State,
    rules: Rules,
    plugins: Plugins,
    now: int,
    numbers: Sequence[int],
    watch: Watch,
    *,
    detailed: bool,
    alter: Callable[[World], World] | None = None,
) -> Run:
    """Broker the tasks with these *numbers* and return the decisions; *alter* changes the pool first."""
    plans, number = plans_of(plugins), broker_cycles.next_number(state)
    if not numbers:
        return Run(number, now, rules, Packer([], plans).legend, plugins.names)
    world = load_world(state, now, datasets_of(state, numbers))
    pool = Pool(world if alter is None else alter(world), rules)
    packer = Packer(pool.names, plans)
    done = Run(number, now, rules, packer.legend, plugins.names, disagreement=disagreement(state))
    for brokered, outcome in chain.from_iterable(broker_in_turn(state, numbers, pool, plans, watch)):
        task = brokered.case.task
        done.decided.append(_decided(brokered, outcome, packer, detailed))
        done.former.setdefault(brokered.status, ([], []))[brokered.was_assigned].append(task.task_id)
        if task.activity not in done.stages:
            done.stages[task.activity] = StageTable(outcome.plan.stages)
        done.stages[task.activity].add(outcome.lines)
        if task.site and (unknown := unknown_sites(pool, task)):
            done.unknown_sites[task.task_id] = unknown
    done.legend = packer.legend
    return done


def _decided(brokered: Brokered, outcome: Outcome, packer: Packer, detailed: bool) -> Decided:
    task, pool = brokered.case.task, outcome.ask.pool
    status, frozen = _status(brokered, outcome)
    retry = pool.world.now + (outcome.retry_after or 0) if status == PENDING else None
    queues = [name for name, _ in outcome.best]
    reasons = packer.reasons[task.activity]
    document = {
        "task": task.task_id,
        "status": status,
        "activity": task.activity,
        "queues": queues,
        "weight": outcome.weights.item(0) if queues else None,
        "reason": "" if queues else nothing_left(outcome, reasons),
        "retry_time": retry,
    }
    if detailed:
        document["candidates"] = [described(candidate) for candidate in outcome.candidates]
    return Decided(task.task_id, status, retry, frozen, document, packer.pack(outcome))


def _status(brokered: Brokered, outcome: Outcome) -> tuple[str, float | None]:
    """Return the new state of a task, and the time since which its cycles have failed."""
    if outcome.status == "assigned":
        return ASSIGNED, None
    if outcome.status == "waiting":
        return WAITING, None  # throttled: does not count as a failing cycle
    now = outcome.ask.pool.world.now
    task = brokered.case.task
    frozen = now if task.frozen_time is None else task.frozen_time
    if outcome.status == "fatal":
        return FAILED, frozen
    return EXHAUSTED if is_exhausted(task, now, outcome.ask.config) else PENDING, frozen


def stored_form(done: Run) -> tuple[BrokerCycle, list[TaskVerdict]]:
    """Return the record of a run, and its verdicts on the tasks."""
    document = {
        "counts": done.counts,
        "plugins": list(done.plugins),
        **done.legend.document(),
        "stages": done.stage_tables(),
        "former": done.former,
    }
    verdicts = [TaskVerdict(decision.task, done.number, decision.status, decision.data) for decision in done.decided]
    return BrokerCycle(done.number, done.time, done.rules.name, document), verdicts


def _store(state: State, done: Run, actor: Actor) -> None:
    cycle, verdicts = stored_form(done)
    broker_cycles.add(state, cycle)
    broker_cycles.add_verdicts(state, verdicts)
    broker_data.change(
        state,
        TASKS,
        ["status", "retryTime", "frozenTime", "assigned", "cycle", "reason"],
        (
            (
                decision.status,
                None if decision.retry is None else int(decision.retry),
                None if decision.frozen is None else int(decision.frozen),
                decision.document["queues"],
                done.number,
                decision.document["reason"],
                decision.task,
            )
            for decision in done.decided
        ),
    )
    summary = {**done.counts, "rules": done.rules.name}
    history.record(state, actor, [Change(f"broker cycle {done.number}", None, summary)])
