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
        self._legend, self._kept = legend, unpack(verdict.data, legend)
        self._weights = dict(self._kept.candidates)

    @property
    def queues(self) -> list[str]:
        return list(self._weights)

    def record(self) -> Record:
        return {"cycle": self._cycle, "status": self.status, "queues": self.queues}

    def at(self, queue: str) -> Record:
        """Return the decision about a queue: its rank among the best, or the reason for its refusal."""
        if queue in self._weights:
            return _at(place=self.queues.index(queue) + 1, weight=self._weights[queue])
        if queue not in self._legend.names:
            return _at(reason=ABSENT)
        if self._kept.stopped_by:
            return _at(reason=self._kept.stopped_by)
        row = self._legend.names.index(queue)
        reason, weight = self._kept.reason_at(row), self._kept.weight_at(row)
        if reason is None:
            return _at(reason=OUTRANKED, weight=weight)
        return _at(stage=reason.stage, reason=reason.tag, meaning=reason.meaning, weight=weight)


def _at(
    *, place: int | None = None, stage: str = "", reason: str = "", meaning: str = "", weight: float | None = None
) -> Record:
    return {"place": place, "stage": stage, "reason": reason, "meaning": meaning, "weight": weight}


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
    then, now = ({one.task: one for one in verdicts if one.cycle <= number} for number in (before, after))
    every = [(then.get(task), now.get(task)) for task in sorted(then.keys() | now.keys())]

    @cache
    def legend(cycle: int) -> Legend:
        return legend_of(runs[cycle].document)

    def decision(one: TaskVerdict | None) -> _Decision | None:
        return None if one is None else _Decision(legend(one.cycle), one)

    decided = ((decision(old), decision(new)) for old, new in every if old is not new)
    return _difference(runs[before], runs[after], decided, len(every))


def difference_of(
    before: tuple[BrokerCycle, list[TaskVerdict]], after: tuple[BrokerCycle, list[TaskVerdict]]
) -> Difference:
    """Return the changes for each task between two runs over the same tasks, of which neither need be stored."""
    (was, then), (is_, now) = before, after
    legends = legend_of(was.document), legend_of(is_.document)
    decided = ((_Decision(legends[0], old), _Decision(legends[1], new)) for old, new in zip(then, now, strict=True))
    return _difference(was, is_, decided, len(now))


def _difference(
    before: BrokerCycle, after: BrokerCycle, decided: Iterable[tuple[_Decision | None, _Decision | None]], count: int
) -> Difference:
    """Return the changes between two runs over *count* tasks, of which others than those *decided* are unchanged."""
    tasks = [change for old, new in decided if (change := _change(old, new)) is not None]
    return Difference(_head(before), _head(after), tasks, count - len(tasks))


def _change(old: _Decision | None, new: _Decision | None) -> Record | None:
    """Return the changes for a task, None if neither its state nor its queues changed."""
    were, are = (one.queues if one else [] for one in (old, new))
    if old and new and (old.status, were) == (new.status, are):
        return None
    changed = [queue for queue in dict.fromkeys([*were, *are]) if (queue in were) != (queue in are)]
    return {
        "task": next(one.task for one in (old, new) if one),
        "before": old.record() if old else None,
        "after": new.record() if new else None,
        "gained": [queue for queue in are if queue not in were],
        "lost": [queue for queue in were if queue not in are],
        "queues": [
            {"queue": queue, "before": old.at(queue) if old else None, "after": new.at(queue) if new else None}
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
