"""Explain why tasks wait, over all tasks: reasons by stage and queue, and the checks that block most tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.columns.broker.work import TASKS
from fairq.engine.brokerage.flow.course import UNDECIDED
from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plugin import Filter, Reason
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Columns, columns_of
from fairq.engine.brokerage.pool.world import Activity
from fairq.engine.distinct import distinct
from fairq.state import broker_data
from fairq.state.connection import State, reading
from fairq.steps.broker.flows import Brokerage, brokerages
from fairq.steps.broker.plugins import load_plugins
from fairq.steps.broker.run import PENDING, READY, WAITING, Watch, unwatched
from fairq.steps.broker.tasks import Brokered, datasets_of, each_brokered
from fairq.steps.broker.why import Record, rows_of
from fairq.steps.broker.world import load_types, load_world

_AT_ONCE = 100
"""Tasks brokered together, as in a run."""

_MOST_TRIED = 2_000
"""Maximum number of tasks brokered again without each check that refused them, sampled from the entire list."""

STATES = (READY, PENDING, WAITING)
"""The states of the tasks that wait for queues."""

_Key = tuple[str, str, str]
"""A reason: its stage, its tag, and the text of a plugin's reason."""


class WhyWaiting(Struct):
    """Why tasks wait, as data: the command adds the meaning of reasons and the changes that would help.

    Args:
        time: time of the decisions.
        rules: the rules used.
        queue: only this queue is explained; None: all.
        tasks: the tasks that wait.
        placed: the number of tasks to which a run would now assign queues; with *queue*, to which it would assign it.
        reasons: the reasons for which the others are refused, most tasks first.
        queues: the same by queue, most tasks first; empty with *queue*.
        tried: the number of other tasks brokered again without each check; all of them unless there are many.
        help: the checks without which tried tasks would find queues (or this *queue*), most tasks first.
    """

    time: int
    rules: str
    queue: str | None
    tasks: int = 0
    placed: int = 0
    tried: int = 0
    reasons: list[Record] = field(default_factory=list)
    queues: list[Record] = field(default_factory=list)
    help: list[Record] = field(default_factory=list)


def why_waiting(
    path: Path, rules: Rules, now: int, queue: str | None = None, *, watch: Watch = unwatched
) -> WhyWaiting:
    """Broker all waiting tasks at *now* without storing, and explain those without a queue, or without *queue*.

    Each task without a queue is brokered again without each check that refused it, one check at a time. At most
    `_MOST_TRIED` tasks, sampled from the entire list, are brokered again. *watch* shows the progress.

    Raises UnknownQueueError, BrokerPluginError.
    """
    plugins = load_plugins()
    with reading(path) as state:
        numbers = waiting_tasks(state)
        columns = columns_of(load_world(state, now, datasets_of(state, numbers)))
        rows = None if queue is None else rows_of(columns, queue)
        counts = _Counts(columns, rules, brokerages(plugins), rows, len(numbers))
        remaining = each_brokered(state, load_types(state), numbers)
        with watch(len(numbers)) as advance:
            while batch := list(islice(remaining, _AT_ONCE)):
                for activity in counts.flows:
                    counts.add(activity, [brokered for brokered in batch if brokered.task.activity == activity])
                advance(len(batch))
    return WhyWaiting(
        now, rules.name, queue, len(numbers), counts.placed, counts.tried, counts.reasons(),
        [] if queue else counts.queues(), counts.help(),
    )  # fmt: skip


def waiting_tasks(state: State) -> list[int]:
    """Return the numbers of the tasks that wait for queues, whether or not their retry is due."""
    return [task for task, status in broker_data.load(state, TASKS, ["jediTaskID", "status"]) if status in STATES]


class _ReasonCount(Struct):
    """A reason: the number of tasks with it, in total and by queue, and the first task at each queue."""

    tasks: int = 0
    units: Counter[int] = field(default_factory=Counter)
    examples: dict[int, Record] = field(default_factory=dict)


class _Counts:
    """Counts the reasons of tasks without a queue among *rows* (None: all), and the effect of leaving out a check."""

    def __init__(
        self,
        columns: Columns,
        rules: Rules,
        flows: dict[Activity, Brokerage],
        rows: Sequence[int] | None,
        total: int,
    ) -> None:
        self.flows, self.placed, self.tried = flows, 0, 0
        self._tasks_so_far, self._total = 0, total
        self._columns, self._rules = columns, rules
        self._rows = np.arange(len(columns)) if rows is None else np.array(rows, np.intp)
        self._without: dict[tuple[Activity, str], Brokerage] = {}
        self._reason_counts: dict[_Key, _ReasonCount] = {}
        self._helped_tasks: Counter[str] = Counter()
        self._examples_helped: dict[str, Record] = {}

    def add(self, activity: Activity, tasks: Sequence[Brokered]) -> None:
        """Broker *tasks* of one activity, and again without each check those that get no queue."""
        flow = self.flows[activity]
        refused: dict[Filter, list[tuple[Brokered, Outcome]]] = {}
        for brokered, outcome in zip(tasks, self._broker(flow, tasks), strict=True):
            self._tasks_so_far += 1
            if self._chosen_rows(outcome).size:
                self.placed += 1
                continue
            self._count_reasons(brokered, outcome)
            if self.tried * self._total >= _MOST_TRIED * self._tasks_so_far:
                continue  # spread the retries over the entire list
            self.tried += 1
            reasons = outcome.plan.reasons
            numbers = distinct(outcome.decided[self._rows]).tolist()
            checks = dict.fromkeys(reasons[number].filter for number in numbers if number != UNDECIDED)
            for check in checks:
                if check is not None:
                    refused.setdefault(check, []).append((brokered, outcome))
        for check, blocked in refused.items():
            without = self._without.get((activity, check.name))
            if without is None:
                without = self._without[activity, check.name] = flow.without(check.name)
            outcomes_without = self._broker(without, [brokered for brokered, _ in blocked])
            for (brokered, before), after in zip(blocked, outcomes_without, strict=True):
                if (rows := self._chosen_rows(after)).size:
                    self._helped_tasks[check.stage] += 1
                    self._examples_helped.setdefault(check.stage, _example(brokered, before, int(rows[0])))

    def _broker(self, flow: Brokerage, tasks: Sequence[Brokered]) -> list[Outcome]:
        return flow.broker_all([Case(brokered.task, brokered.chunk) for brokered in tasks], self._columns, self._rules)

    def _chosen_rows(self, outcome: Outcome) -> NDArray[np.intp]:
        """Return the rows chosen for the task, among those to be explained, best first."""
        return outcome.chosen[np.isin(outcome.chosen, self._rows)]

    def _count_reasons(self, brokered: Brokered, outcome: Outcome) -> None:
        """Count the reasons of a task that gets no queue."""
        decided, unit_of = outcome.decided[self._rows], self._columns.unit_of
        rows_by_reason: dict[_Key, dict[int, int]] = {}
        for number in distinct(decided[decided != UNDECIDED]).tolist():
            entry = outcome.plan.reasons[number]
            row_of_unit = rows_by_reason.setdefault((entry.stage, entry.reason.tag, entry.reason.meaning), {})
            for row in self._rows[decided == number].tolist():
                row_of_unit.setdefault(int(unit_of[row]), row)
        for key, rows in rows_by_reason.items():
            reason_count = self._reason_counts.setdefault(key, _ReasonCount())
            reason_count.tasks += 1
            reason_count.units.update(rows.keys())
            for unit, row in rows.items():
                if unit not in reason_count.examples:
                    reason_count.examples[unit] = _example(brokered, outcome, row)

    def reasons(self) -> list[Record]:
        """Return the reasons, most tasks first."""
        records = [
            {
                "tasks": reason_count.tasks,
                "queues": len(reason_count.units),
                **next(iter(reason_count.examples.values())),
            }
            for reason_count in self._reason_counts.values()
        ]
        return sorted(records, key=_largest_first)

    def queues(self) -> list[Record]:
        """Return the reasons by queue, most tasks first."""
        names = self._columns.unit_names
        records = [
            {"tasks": number, **reason_count.examples[unit], "queue": names[unit]}
            for reason_count in self._reason_counts.values()
            for unit, number in reason_count.units.items()
        ]
        return sorted(records, key=_largest_first)

    def help(self) -> list[Record]:
        """Return the checks without which tasks find queues, most tasks first."""
        records = [
            {"tasks": number, "check": check, **self._examples_helped[check]}
            for check, number in self._helped_tasks.items()
        ]
        return sorted(records, key=_largest_first)


def _example(brokered: Brokered, outcome: Outcome, row: int) -> Record:
    verdict = outcome.verdict(row)
    reason = verdict.of or Reason("")
    return {
        "stage": verdict.stage,
        "reason": reason.tag,
        "meaning": reason.meaning,
        "temporary": not verdict.permanent,
        "example": brokered.task.task_id,
        "queue": verdict.queue,
        "compared": verdict.details,
        "change": reason.remedy,
    }


def _largest_first(record: Record) -> tuple[int, str, str, str]:
    return -record["tasks"], record["stage"], record["reason"], record["queue"]
