"""Differences between two brokerage runs: tasks, queues and reasons."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairq.errors.broker import NoSuchRunError
from fairq.state import broker_cycles
from fairq.state.broker_cycles import BrokerCycle, TaskVerdict
from fairq.state.connection import reading
from fairq.steps.broker.kept_verdict import Legend, legend_of, unpack

Record = dict[str, Any]

ABSENT = "absent"
"""The reason for a queue that a run did not know."""

OUTRANKED = "weight"
"""The reason for a queue that passed every check but was not among the best."""


class Difference(Struct, frozen=True):
    """The runs *before* and *after*, the *tasks* that changed between them, and how many are *unchanged*."""

    before: Record
    after: Record
    tasks: list[Record]
    unchanged: int


class _Decision:
    """What one run decided about one task."""

    def __init__(self, legend: Legend, verdict: TaskVerdict) -> None:
        self.task, self._cycle, self.status = verdict.task, verdict.cycle, verdict.status
        self._legend, self._outcome = legend, unpack(verdict.data, legend)
        self._weights = dict(self._outcome.candidates)

    @property
    def queues(self) -> list[str]:
        return list(self._weights)

    def record(self) -> Record:
        return {"cycle": self._cycle, "status": self.status, "queues": self.queues}

    def decision_about(self, queue: str) -> Record:
        """Return the decision about a queue: its rank among the best, or the reason for its refusal."""
        if queue in self._weights:
            return _queue_decision(rank=self.queues.index(queue) + 1, weight=self._weights[queue])
        if queue not in self._legend.names:
            return _queue_decision(reason=ABSENT)
        if self._outcome.stopped_by:
            return _queue_decision(reason=self._outcome.stopped_by)
        row = self._legend.names.index(queue)
        reason, weight = self._outcome.reason_at(row), self._outcome.weight_at(row)
        if reason is None:
            return _queue_decision(reason=OUTRANKED, weight=weight)
        return _queue_decision(stage=reason.stage, reason=reason.tag, meaning=reason.meaning, weight=weight)


def _queue_decision(
    *, rank: int | None = None, stage: str = "", reason: str = "", meaning: str = "", weight: float | None = None
) -> Record:
    return {"place": rank, "stage": stage, "reason": reason, "meaning": meaning, "weight": weight}


def diff(path: Path, before: int, after: int) -> Difference:
    """Return the changes for each task between the runs *before* and *after*.

    For a task that a run did not decide about, the last earlier decision counts.

    Raises NoSuchRunError.
    """
    with reading(path) as state:
        runs = {run.number: run for run in broker_cycles.load_all(state)}
        verdicts = broker_cycles.load_verdicts(state)
    for number in (before, after):
        if number not in runs:
            raise NoSuchRunError(number=number, hint=hint_of(runs))
    verdicts_before, verdicts_after = (
        {verdict.task: verdict for verdict in verdicts if verdict.cycle <= number} for number in (before, after)
    )
    pairs = [
        (verdicts_before.get(task), verdicts_after.get(task))
        for task in sorted(verdicts_before.keys() | verdicts_after.keys())
    ]

    @cache
    def legend(cycle: int) -> Legend:
        return legend_of(runs[cycle].document)

    def decision(verdict: TaskVerdict | None) -> _Decision | None:
        return None if verdict is None else _Decision(legend(verdict.cycle), verdict)

    decided = ((decision(old), decision(new)) for old, new in pairs if old is not new)
    return _difference(runs[before], runs[after], decided, len(pairs))


def difference_of(
    before: tuple[BrokerCycle, list[TaskVerdict]], after: tuple[BrokerCycle, list[TaskVerdict]]
) -> Difference:
    """Return the changes for each task between two runs over the same tasks; the runs need not be stored."""
    (run_before, verdicts_before), (run_after, verdicts_after) = before, after
    legends = legend_of(run_before.document), legend_of(run_after.document)
    decided = (
        (_Decision(legends[0], old), _Decision(legends[1], new))
        for old, new in zip(verdicts_before, verdicts_after, strict=True)
    )
    return _difference(run_before, run_after, decided, len(verdicts_after))


def _difference(
    before: BrokerCycle, after: BrokerCycle, decided: Iterable[tuple[_Decision | None, _Decision | None]], count: int
) -> Difference:
    """Return the changes between two runs over *count* tasks; tasks that are not in *decided* are unchanged."""
    tasks = [change for old, new in decided if (change := _change(old, new)) is not None]
    return Difference(_head(before), _head(after), tasks, count - len(tasks))


def _change(old: _Decision | None, new: _Decision | None) -> Record | None:
    """Return the changes for a task, None if neither its state nor its queues changed."""
    old_queues, new_queues = (decision.queues if decision else [] for decision in (old, new))
    if old and new and (old.status, old_queues) == (new.status, new_queues):
        return None
    changed = [
        queue for queue in dict.fromkeys([*old_queues, *new_queues]) if (queue in old_queues) != (queue in new_queues)
    ]
    return {
        "task": next(decision.task for decision in (old, new) if decision),
        "before": old.record() if old else None,
        "after": new.record() if new else None,
        "gained": [queue for queue in new_queues if queue not in old_queues],
        "lost": [queue for queue in old_queues if queue not in new_queues],
        "queues": [
            {
                "queue": queue,
                "before": old.decision_about(queue) if old else None,
                "after": new.decision_about(queue) if new else None,
            }
            for queue in changed
        ],
    }


def _head(run: BrokerCycle) -> Record:
    return {"cycle": run.number, "time": run.time, "rules": run.rules}


def hint_of(runs: dict[int, BrokerCycle]) -> str:
    """Return the stored runs, as a hint for an error message."""
    if not runs:
        return "start one with 'fairq broker run'"
    return f"give one of {', '.join(map(str, sorted(runs)[-10:]))}"
