"""One brokerage run on the state: decide about the waiting tasks and store the decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from fairq.columns.broker.work import TASKS
from fairq.common.records import Actor, Change
from fairq.engine.brokerage.analysis.flow import FIRST_PASS, SECOND_PASS
from fairq.engine.brokerage.criteria.candidates import unknown_sites
from fairq.engine.brokerage.flow.course import TEMPORARY_STAGE, StageCount
from fairq.engine.brokerage.flow.outcome import Outcome, is_exhausted
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Columns, columns_of
from fairq.engine.brokerage.pool.world import Activity, World
from fairq.errors.broker import UnknownTaskError
from fairq.state import broker_cycles, broker_data, history
from fairq.state.broker_cycles import BrokerCycle, TaskVerdict
from fairq.state.connection import State, reading, writing
from fairq.state.cycle_lock import BROKERAGE, cycle_lock
from fairq.steps.broker.actions import Decision, Former, actions_of_run
from fairq.steps.broker.flows import Brokerage, brokerages
from fairq.steps.broker.packer import Packer
from fairq.steps.broker.plugins import load_plugins
from fairq.steps.broker.stages import Reasons, described, stage_record
from fairq.steps.broker.tasks import Brokered, datasets_of, each_brokered
from fairq.steps.broker.world import Disagreement, disagreement, load_types, load_world

READY, PENDING, ASSIGNED, WAITING = "ready", "pending", "assigned", "waiting"
FAILED, EXHAUSTED = "failed", "exhausted"


_AT_ONCE = 100
"""Tasks brokered together: enough for the caches of the processor, and what is known of each is soon forgotten."""

Watch = Callable[[int], AbstractContextManager[Callable[[int], None]]]
"""Starts a progress display for a total number of tasks; yields a function called with the number newly done."""


@contextmanager
def unwatched(total: int) -> Iterator[Callable[[int], None]]:
    """Show no progress."""
    yield lambda steps: None


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
        decided: the tasks in order of number.
        stages: the stage table of all tasks together, by activity; *orders* the stages in order.
        plugins: entry points of filters and weights of plugins.
        legend: what the data of the tasks refer to, for the document of the run.
        former: the former state of each task.
        unknown_sites: by task, the names in its site that are no queue.
        disagreement: where statistics and imported jobs disagree.
    """

    number: int
    time: int
    rules: Rules
    decided: list[Decided] = field(default_factory=list)
    stages: dict[str, StageTable] = field(default_factory=dict)
    orders: dict[str, list[str]] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    legend: dict[str, Any] = field(default_factory=dict)
    former: dict[int, tuple[str, bool]] = field(default_factory=dict)
    unknown_sites: dict[int, list[str]] = field(default_factory=dict)
    disagreement: Disagreement | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Number of tasks by new state."""
        return dict(sorted(Counter(one.status for one in self.decided).items()))

    def stage_tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return the stage tables by activity."""
        return {activity: table.records(self.orders[activity]) for activity, table in self.stages.items()}


class StageTable:
    """Numbers of queues before and after each stage, summed over all tasks; each analysis pass counts separately."""

    def __init__(self) -> None:
        # By pass, how many tasks have a line.
        self._lines: tuple[Counter[StageCount], Counter[StageCount]] = (Counter(), Counter())

    def add(self, stages: Iterable[StageCount]) -> None:
        """Count the stages of a task."""
        found, second = self._lines
        for line in stages:
            if line.stage == SECOND_PASS:
                found = second
            found[line] += 1

    def records(self, order: Sequence[str]) -> list[dict[str, Any]]:
        """Return the table in the *order* of the stages of the flow."""
        places = {stage: place for place, stage in enumerate(order)}
        return [
            stage_record(StageCount(stage, *row[1:])) | {"tasks": row[0]}
            for lines in self._lines
            for stage, row in sorted(_summed(lines).items(), key=lambda one: places.get(one[0], len(places)))
        ]


def _summed(lines: Mapping[StageCount, int]) -> dict[str, list[int]]:
    """Return for each stage the number of tasks, and the sums of the numbers in its lines."""
    found: dict[str, list[int]] = {}
    for line, number in lines.items():
        row = found.setdefault(line.stage, [0] * len(StageCount._fields))
        row[0] += number
        for place, value in enumerate(line[1:], 1):
            row[place] += number * value
    return found


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
    plugins, chosen = load_plugins(), (actor.time, numbers, every)
    by_activity = brokerages(plugins)
    if dry_run:
        with reading(path) as state:
            done = decide(
                state, rules, by_activity, plugins.names, actor.time, due(state, *chosen), watch, detailed=detailed
            )
            if out is not None:
                out(_actions(done, applied=False))
            return done
    with cycle_lock(path, BROKERAGE), writing(path) as state:
        done = decide(
            state, rules, by_activity, plugins.names, actor.time, due(state, *chosen), watch, detailed=detailed
        )
        if out is not None:
            out(_actions(done, applied=True))
        if done.decided:
            _store(state, done, by_activity, actor)
            broker_cycles.prune(state, done.number - kept + 1)
        return done


def _actions(done: Run, *, applied: bool) -> dict[str, Any]:
    decisions = [Decision(one.task, one.status, one.document["queues"], one.document["reason"]) for one in done.decided]
    return actions_of_run(done.number, done.time, done.rules.name, decisions, done.former, applied=applied)


def due(state: State, now: float, numbers: Sequence[int], every: bool) -> list[int]:
    """Return the numbers of the tasks to be brokered; raises UnknownTaskError."""
    rows = broker_data.load(state, TASKS, ["jediTaskID", "status", "retryTime"])
    if numbers:
        known = {task for task, _, _ in rows}
        for number in numbers:
            if number not in known:
                raise UnknownTaskError(task=number)
        return sorted(set(numbers))
    return [task for task, status, retry in rows if every or is_due(status, retry, now)]


def is_due(status: str, retry: float | None, now: float) -> bool:
    """Return whether a task is due."""
    return status in (READY, WAITING) or (status == PENDING and (retry is None or retry <= now))


def decide(
    state: State,
    rules: Rules,
    by_activity: dict[Activity, Brokerage],
    plugins: tuple[str, ...],
    now: int,
    chosen: Sequence[int],
    watch: Watch,
    *,
    detailed: bool,
    alter: Callable[[World], World] | None = None,
) -> Run:
    """Broker the tasks *chosen* and return the decisions; *alter* changes the pool before."""
    orders: dict[str, list[str]] = {activity: stage_order(flow.plan) for activity, flow in by_activity.items()}
    done = Run(broker_cycles.next_number(state), now, rules, orders=orders, plugins=plugins)
    if not chosen:
        return done
    world = load_world(state, now, datasets_of(state, chosen))
    columns = columns_of(world if alter is None else alter(world))
    done.disagreement = disagreement(state)
    packer, reasons, left = Packer(columns.names, orders), Reasons(), each_brokered(state, load_types(state), chosen)
    with watch(len(chosen)) as advance:
        # Some tasks leave when they are decided, with their input and what was found out about that.
        while some := list(islice(left, _AT_ONCE)):
            for one, outcome in zip(some, _outcomes(some, by_activity, columns, rules), strict=True):
                task, stages = one.task, done.stages.setdefault(one.task.activity, StageTable())
                done.decided.append(_decided(one, outcome, columns, reasons, packer.pack(outcome), detailed))
                done.former[task.task_id] = one.status, one.was_assigned
                stages.add(outcome.stages)
                if task.site and (unknown := unknown_sites(columns, task)):
                    done.unknown_sites[task.task_id] = unknown
            advance(len(some))
    done.legend = packer.document()
    return done


def _outcomes(
    tasks: Sequence[Brokered], by_activity: dict[Activity, Brokerage], columns: Columns, rules: Rules
) -> list[Outcome]:
    """Return the outcome for each of *tasks*; those of one activity are brokered together."""
    found = {
        activity: iter(
            one.broker_all(
                [Case(each.task, each.chunk) for each in tasks if each.task.activity == activity], columns, rules
            )
        )
        for activity, one in by_activity.items()
    }
    return [next(found[one.task.activity]) for one in tasks]


def _decided(
    one: Brokered, outcome: Outcome, columns: Columns, reasons: Reasons, data: bytes, detailed: bool
) -> Decided:
    task, now = one.task, columns.world.now
    status, frozen = _status(one, outcome, columns)
    retry = now + (outcome.retry_after or 0) if status == PENDING else None
    queues = [columns.names[row] for row in outcome.chosen.tolist()]
    document = {
        "task": task.task_id,
        "status": status,
        "activity": task.activity,
        "queues": queues,
        "weight": outcome.weights.item(0) if queues else None,
        "reason": "" if status == ASSIGNED else reasons.of(outcome),
        "retry_time": retry,
    }
    if detailed:
        document["candidates"] = [described(candidate) for candidate in outcome.candidates]
    return Decided(task.task_id, status, retry, frozen, document, data)


def _status(one: Brokered, outcome: Outcome, columns: Columns) -> tuple[str, float | None]:
    """Return the new state of a task, and the time since which its cycles have failed."""
    if outcome.status == "assigned":
        return ASSIGNED, None
    if outcome.status == "waiting":
        return WAITING, None  # throttled: does not count as a failing cycle
    now = columns.world.now
    frozen = now if one.task.frozen_time is None else one.task.frozen_time
    if outcome.status == "fatal":
        return FAILED, frozen
    return EXHAUSTED if is_exhausted(one.task, now, columns.world.config) else PENDING, frozen


def reasons_of(plan: Plan) -> list[list[Any]]:
    """Return the numbered reasons of a flow in the form of a run's document."""
    reasons = [(entry.stage, entry.reason) for entry in plan.reasons]
    return [[stage, reason.tag, reason.meaning, not reason.is_temporary] for stage, reason in reasons]


def stage_order(plan: Plan) -> list[str]:
    """Return the stages of a flow in order."""
    before, after = ([one.stage for one in filters] for filters in (plan.before, plan.after))
    return list(dict.fromkeys([FIRST_PASS, SECOND_PASS, *before, TEMPORARY_STAGE, *after]))


def _by_state(former: Former) -> dict[str, list[list[int]]]:
    """Return the former states for a run's document: by state, the tasks without queues and those with queues."""
    found: dict[str, list[list[int]]] = {}
    for task, (status, had_queues) in former.items():
        found.setdefault(status, [[], []])[had_queues].append(task)
    return found


def stored_form(done: Run, by_activity: dict[Activity, Brokerage]) -> tuple[BrokerCycle, list[TaskVerdict]]:
    """Return the record of a run, and its verdicts on the tasks."""
    document = {
        "counts": done.counts,
        "plugins": list(done.plugins),
        **done.legend,
        "reasons": {activity: reasons_of(flow.plan) for activity, flow in by_activity.items()},
        "stages": done.stage_tables(),
        "former": _by_state(done.former),
    }
    verdicts = [TaskVerdict(one.task, done.number, one.status, one.data) for one in done.decided]
    return BrokerCycle(done.number, done.time, done.rules.name, document), verdicts


def _store(
    state: State,
    done: Run,
    by_activity: dict[Activity, Brokerage],
    actor: Actor,
) -> None:
    cycle, verdicts = stored_form(done, by_activity)
    broker_cycles.add(state, cycle)
    broker_cycles.add_verdicts(state, verdicts)
    broker_data.change(
        state,
        TASKS,
        ["status", "retryTime", "frozenTime", "assigned", "cycle", "reason"],
        (
            (
                one.status,
                None if one.retry is None else int(one.retry),
                None if one.frozen is None else int(one.frozen),
                one.document["queues"],
                done.number,
                one.document["reason"],
                one.task,
            )
            for one in done.decided
        ),
    )
    summary = {**done.counts, "rules": done.rules.name}
    history.record(state, actor, [Change(f"broker cycle {done.number}", None, summary)])
