"""Explain why tasks wait, all of them together: reasons by stage and queue, and the checks that hold most tasks up."""

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
"""Tasks that are brokered again without each check that refused them; of more, some from all parts of the list."""

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
        placed: how many of them a run would give queues now; with *queue*, how many it would give this queue.
        reasons: the reasons for which the others are refused, most tasks first.
        queues: the same by queue, most tasks first; empty with *queue*.
        tried: how many of the others were brokered again without each check; all of them unless there are many tasks.
        help: the checks without which most of those tried would find queues (or this *queue*), each tried alone.
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

    Every check that refused such a task is left out by itself, and the task brokered again without it: that is done
    with at most `_MOST_TRIED` tasks, from all parts of the list. *watch* shows the progress.

    Raises UnknownQueueError, BrokerPluginError.
    """
    plugins = load_plugins()
    with reading(path) as state:
        chosen = waiting_tasks(state)
        columns = columns_of(load_world(state, now, datasets_of(state, chosen)))
        rows = None if queue is None else rows_of(columns, queue)
        counts = _Counts(columns, rules, brokerages(plugins), rows, len(chosen))
        left = each_brokered(state, load_types(state), chosen)
        with watch(len(chosen)) as advance:
            while some := list(islice(left, _AT_ONCE)):
                for activity in counts.flows:
                    counts.add(activity, [one for one in some if one.task.activity == activity])
                advance(len(some))
    return WhyWaiting(
        now, rules.name, queue, len(chosen), counts.placed, counts.tried, counts.reasons(),
        [] if queue else counts.queues(), counts.help(),
    )  # fmt: skip


def waiting_tasks(state: State) -> list[int]:
    """Return the numbers of the tasks that wait for queues, whether or not their retry is due."""
    return [task for task, status in broker_data.load(state, TASKS, ["jediTaskID", "status"]) if status in STATES]


class _Seen(Struct):
    """A reason: how many tasks have it, at each queue, and the first of them there."""

    tasks: int = 0
    units: Counter[int] = field(default_factory=Counter)
    examples: dict[int, Record] = field(default_factory=dict)


class _Counts:
    """Counts the reasons of tasks without a queue among *rows* (None: all), and what leaving out a check changes."""

    def __init__(
        self,
        columns: Columns,
        rules: Rules,
        flows: dict[Activity, Brokerage],
        rows: Sequence[int] | None,
        total: int,
    ) -> None:
        self.flows, self.placed, self.tried = flows, 0, 0
        self._seen_tasks, self._total = 0, total
        self._columns, self._rules = columns, rules
        self._rows = np.arange(len(columns)) if rows is None else np.array(rows, np.intp)
        self._without: dict[tuple[Activity, str], Brokerage] = {}
        self._seen: dict[_Key, _Seen] = {}
        self._helped: Counter[str] = Counter()
        self._freed: dict[str, Record] = {}

    def add(self, activity: Activity, tasks: Sequence[Brokered]) -> None:
        """Broker *tasks* of one activity, and again without each check those that get no queue."""
        flow = self.flows[activity]
        refused: dict[Filter, list[tuple[Brokered, Outcome]]] = {}
        for one, outcome in zip(tasks, self._broker(flow, tasks), strict=True):
            self._seen_tasks += 1
            if self._taken(outcome).size:
                self.placed += 1
                continue
            self._note(one, outcome)
            if self.tried * self._total >= _MOST_TRIED * self._seen_tasks:
                continue  # the rest is for tasks further down the list
            self.tried += 1
            reasons = outcome.plan.reasons
            numbers = distinct(outcome.decided[self._rows]).tolist()
            checks = dict.fromkeys(reasons[number].filter for number in numbers if number != UNDECIDED)
            for check in checks:
                if check is not None:
                    refused.setdefault(check, []).append((one, outcome))
        for check, blocked in refused.items():
            without = self._without.get((activity, check.name))
            if without is None:
                without = self._without[activity, check.name] = flow.without(check.name)
            freed = self._broker(without, [one for one, _ in blocked])
            for (one, before), after in zip(blocked, freed, strict=True):
                if (rows := self._taken(after)).size:
                    self._helped[check.stage] += 1
                    self._freed.setdefault(check.stage, _example(one, before, int(rows[0])))

    def _broker(self, flow: Brokerage, tasks: Sequence[Brokered]) -> list[Outcome]:
        return flow.broker_all([Case(one.task, one.chunk) for one in tasks], self._columns, self._rules)

    def _taken(self, outcome: Outcome) -> NDArray[np.intp]:
        """Return the rows that the task gets of those asked about, best first."""
        return outcome.chosen[np.isin(outcome.chosen, self._rows)]

    def _note(self, one: Brokered, outcome: Outcome) -> None:
        """Count the reasons of a task that gets no queue."""
        decided, unit_of = outcome.decided[self._rows], self._columns.unit_of
        found: dict[_Key, dict[int, int]] = {}
        for number in distinct(decided[decided != UNDECIDED]).tolist():
            entry = outcome.plan.reasons[number]
            first = found.setdefault((entry.stage, entry.reason.tag, entry.reason.meaning), {})
            for row in self._rows[decided == number].tolist():
                first.setdefault(int(unit_of[row]), row)
        for key, rows in found.items():
            seen = self._seen.setdefault(key, _Seen())
            seen.tasks += 1
            seen.units.update(rows.keys())
            for unit, row in rows.items():
                if unit not in seen.examples:
                    seen.examples[unit] = _example(one, outcome, row)

    def reasons(self) -> list[Record]:
        """Return the reasons, most tasks first."""
        found = [
            {"tasks": seen.tasks, "queues": len(seen.units), **next(iter(seen.examples.values()))}
            for seen in self._seen.values()
        ]
        return sorted(found, key=_largest_first)

    def queues(self) -> list[Record]:
        """Return the reasons by queue, most tasks first."""
        names = self._columns.unit_names
        found = [
            {"tasks": number, **seen.examples[unit], "queue": names[unit]}
            for seen in self._seen.values()
            for unit, number in seen.units.items()
        ]
        return sorted(found, key=_largest_first)

    def help(self) -> list[Record]:
        """Return the checks without which tasks find queues, most tasks first."""
        found = [{"tasks": number, "check": check, **self._freed[check]} for check, number in self._helped.items()]
        return sorted(found, key=_largest_first)


def _example(one: Brokered, outcome: Outcome, row: int) -> Record:
    verdict = outcome.verdict(row)
    reason = verdict.of or Reason("")
    return {
        "stage": verdict.stage,
        "reason": reason.tag,
        "meaning": reason.meaning,
        "temporary": not verdict.permanent,
        "example": one.task.task_id,
        "queue": verdict.queue,
        "compared": verdict.details,
        "change": reason.remedy,
    }


def _largest_first(record: Record) -> tuple[int, str, str, str]:
    return -record["tasks"], record["stage"], record["reason"], record["queue"]
