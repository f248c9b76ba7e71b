"""Differences between two brokerage runs: tasks, queues and reasons."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from fairq.engine.brokerage.flow.course import UNDECIDED
from fairq.errors.broker import NoSuchRunError
from fairq.state import broker_cycles
from fairq.state.broker_cycles import BrokerCycle, TaskVerdict
from fairq.state.connection import State, reading
from fairq.steps.broker.kept_verdict import Kept, Legend, unpack

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


class _Run:
    """A run, and what the decisions of its tasks refer to."""

    def __init__(self, cycle: BrokerCycle) -> None:
        self.cycle = cycle
        self.legend = Legend(cycle.document)


class _Decision:
    """What one run decided about one task."""

    def __init__(self, run: _Run, verdict: TaskVerdict) -> None:
        self.run, self.status = run.cycle, verdict.status
        self._legend = run.legend
        self._kept: Kept = unpack(verdict.data, run.legend)

    @cached_property
    def queues(self) -> list[str]:
        return [name for name, _ in self._kept.candidates]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self._legend.names)}

    def record(self) -> Record:
        return {"cycle": self.run.number, "status": self.status, "queues": self.queues}

    def at(self, queue: str) -> Record:
        """Return the decision about a queue: its rank among the best, or the reason for its refusal."""
        weights = dict(self._kept.candidates)
        if queue in weights:
            place = self.queues.index(queue) + 1
            return {"place": place, "stage": "", "reason": "", "meaning": "", "weight": weights[queue]}
        if queue not in self._rows:
            return {"place": None, "stage": "", "reason": ABSENT, "meaning": "", "weight": None}
        if self._kept.stopped_by:
            return {"place": None, "stage": "", "reason": self._kept.stopped_by, "meaning": "", "weight": None}
        row = self._rows[queue]
        number = int(self._kept.decided[row])
        weight = float(self._kept.weights[row])
        found = ("", OUTRANKED, "", False)
        if number != UNDECIDED:
            found = self.run.document["reasons"][self._kept.activity][number]
        stage, reason, meaning, _ = found
        shown = None if np.isnan(weight) else weight
        return {"place": None, "stage": stage, "reason": reason, "meaning": meaning, "weight": shown}


def diff(path: Path, before: int, after: int) -> Difference:
    """Return the changes for each task between the runs *before* and *after*.

    For a task that a run did not decide about, the last earlier decision counts.

    Raises NoSuchRunError.
    """
    with reading(path) as state:
        runs = {run.number: run for run in broker_cycles.load_all(state)}
        for number in (before, after):
            if number not in runs:
                raise NoSuchRunError(number=number, hint=hint_of(runs))
        then, now = _decided(state, before), _decided(state, after)
    read = {number: _Run(run) for number, run in runs.items()}
    tasks, unchanged = [], 0
    for task in sorted(then.keys() | now.keys()):
        old, new = (found.get(task) for found in (then, now))
        if old is not None and new is not None and old.cycle == new.cycle:
            unchanged += 1
            continue
        change = _change(
            task, None if old is None else _Decision(read[old.cycle], old),
            None if new is None else _Decision(read[new.cycle], new),
        )  # fmt: skip
        if change is None:
            unchanged += 1
        else:
            tasks.append(change)
    return Difference(_head(runs[before]), _head(runs[after]), tasks, unchanged)


def difference_of(
    before: tuple[BrokerCycle, list[TaskVerdict]], after: tuple[BrokerCycle, list[TaskVerdict]]
) -> Difference:
    """Return the changes for each task between two runs over the same tasks, of which neither need be stored."""
    (was, then), (is_, now) = before, after
    runs = _Run(was), _Run(is_)
    changes = [
        _change(old.task, _Decision(runs[0], old), _Decision(runs[1], new)) for old, new in zip(then, now, strict=True)
    ]
    tasks = [change for change in changes if change is not None]
    return Difference(_head(was), _head(is_), tasks, len(changes) - len(tasks))


def _decided(state: State, number: int) -> dict[int, TaskVerdict]:
    """Return the last verdict on each task up to the run *number*."""
    return {one.task: one for one in broker_cycles.load_verdicts(state) if one.cycle <= number}


def _change(task: int, old: _Decision | None, new: _Decision | None) -> Record | None:
    """Return the changes for a task, None if neither its state nor its queues changed."""
    were, are = (one.queues if one else [] for one in (old, new))
    if old and new and (old.status, were) == (new.status, are):
        return None
    changed = [queue for queue in dict.fromkeys([*were, *are]) if (queue in were) != (queue in are)]
    return {
        "task": task,
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
