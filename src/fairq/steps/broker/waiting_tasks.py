"""Explain why tasks wait, over all tasks: reasons by stage and queue, and the checks that block most tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.columns.broker.work import TASKS
from fairq.engine.brokerage.flow.course import UNDECIDED
from fairq.engine.brokerage.flow.outcome import Outcome
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Filter
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.distinct import distinct
from fairq.state import broker_data
from fairq.state.connection import State, reading
from fairq.steps.broker.flows import Watch, broker, broker_in_turn, plans_of, unwatched
from fairq.steps.broker.plugins import load_plugins
from fairq.steps.broker.run import PENDING, READY, WAITING
from fairq.steps.broker.tasks import datasets_of
from fairq.steps.broker.why import Record, rows_of
from fairq.steps.broker.world import load_world

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
    plans = plans_of(load_plugins())
    with reading(path) as state:
        numbers = waiting_tasks(state)
        pool = Pool(load_world(state, now, datasets_of(state, numbers)), rules)
        counts = _Counts(pool, rows_of(pool, queue), len(numbers))
        for batch in broker_in_turn(state, numbers, pool, plans, watch):
            counts.add([(brokered.case, outcome) for brokered, outcome in batch])
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
    """Counts the reasons of tasks without a queue among *rows*, and the effect of leaving out a check."""

    def __init__(self, pool: Pool, rows: Sequence[int], total: int) -> None:
        self.placed, self.tried, self._tasks_so_far, self._total = 0, 0, 0, total
        self._pool, self._rows = pool, np.array(rows, np.intp)
        self._without: dict[tuple[Plan, str], Plan] = {}
        self._reason_counts: dict[_Key, _ReasonCount] = {}
        self._helped_tasks: Counter[str] = Counter()
        self._examples_helped: dict[str, Record] = {}

    def add(self, brokered: Iterable[tuple[Case, Outcome]]) -> None:
        """Count tasks, and broker those that get no queue again without each check."""
        refused: dict[tuple[Plan, Filter], list[tuple[Case, Outcome]]] = {}
        for case, outcome in brokered:
            self._tasks_so_far += 1
            if self._chosen_rows(outcome).size:
                self.placed += 1
                continue
            self._count_reasons(case, outcome)
            if self.tried * self._total >= _MOST_TRIED * self._tasks_so_far:
                continue  # spread the retries over the entire list
            self.tried += 1
            reasons = outcome.plan.reasons
            numbers = distinct(outcome.decided[self._rows]).tolist()
            checks = dict.fromkeys(reasons[number].filter for number in numbers if number != UNDECIDED)
            for check in checks:
                if check is not None:
                    refused.setdefault((outcome.plan, check), []).append((case, outcome))
        for (plan, check), blocked in refused.items():
            without = self._without.get((plan, check.name))
            if without is None:
                without = self._without[plan, check.name] = plan.without(check.name)
            outcomes_without = broker([case for case, _ in blocked], self._pool, without)
            for (case, before), after in zip(blocked, outcomes_without, strict=True):
                if (rows := self._chosen_rows(after)).size:
                    self._helped_tasks[check.stage] += 1
                    self._examples_helped.setdefault(check.stage, _example(case, before, int(rows[0])))

    def _chosen_rows(self, outcome: Outcome) -> NDArray[np.intp]:
        """Return the rows chosen for the task, among those to be explained, best first."""
        return outcome.chosen[np.isin(outcome.chosen, self._rows)]

    def _count_reasons(self, case: Case, outcome: Outcome) -> None:
        """Count the reasons of a task that gets no queue."""
        decided, unit_of = outcome.decided[self._rows], self._pool.unit_of
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
                    reason_count.examples[unit] = _example(case, outcome, row)

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
        names = self._pool.unit_names
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


def _example(case: Case, outcome: Outcome, row: int) -> Record:
    verdict = outcome.verdict(row)
    return {
        "stage": verdict.stage,
        "reason": verdict.reason,
        "meaning": verdict.of.meaning,
        "temporary": not verdict.permanent,
        "example": case.task.task_id,
        "queue": verdict.queue,
        "compared": verdict.details,
        "change": verdict.of.remedy,
    }


def _largest_first(record: Record) -> tuple[int, str, str, str]:
    return -record["tasks"], record["stage"], record["reason"], record["queue"]
