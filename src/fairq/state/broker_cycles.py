"""What the brokerage decided: its cycles, and of every task the verdict on each queue."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from fairq.state import rows
from fairq.state.connection import State


class BrokerCycle(Struct):
    """One brokerage run; *document* says what it decided in all, and what the packed verdicts refer to."""

    number: int
    time: int
    rules: str
    document: dict[str, Any]


class TaskVerdict(Struct):
    """What one run decided about one task: its new *status*, and packed in *data* the verdict on every queue."""

    task: int
    cycle: int
    status: str
    data: bytes


_CYCLES = rows.Records(BrokerCycle, "broker_cycle", "document")
_VERDICTS = rows.Records(TaskVerdict, "broker_verdict")


def next_number(state: State) -> int:
    """Return the number that the next run will have; the first one is 1."""
    return int(state.value("SELECT coalesce(max(number), 0) + 1 FROM broker_cycle"))


def add(state: State, cycle: BrokerCycle) -> None:
    """Store a run."""
    _CYCLES.add(state, [cycle])


def add_verdicts(state: State, verdicts: Iterable[TaskVerdict]) -> None:
    """Store verdicts of runs that are there."""
    _VERDICTS.add(state, verdicts)


def load(state: State, number: int) -> BrokerCycle | None:
    """Return one run, None if there is none of this number."""
    return _CYCLES.first(state, "WHERE number = ?", (number,))


def load_all(state: State) -> list[BrokerCycle]:
    """Return every run that is kept, oldest first."""
    return _CYCLES.select(state, "ORDER BY number")


def load_verdicts(state: State, task: int | None = None) -> list[TaskVerdict]:
    """Return the verdicts that are kept, of one task or (None) of all, oldest first."""
    return _VERDICTS.select(state, "WHERE ?1 IS NULL OR task = ?1 ORDER BY cycle, task", (task,))


def load_verdict(state: State, task: int, cycle: int | None = None) -> TaskVerdict | None:
    """Return the verdict on a task of one run, or (None) the latest; None if there is none."""
    return _VERDICTS.first(state, "WHERE task = ?1 AND (?2 IS NULL OR cycle = ?2) ORDER BY cycle DESC", (task, cycle))


def prune(state: State, before: int) -> None:
    """Forget the verdicts of runs with numbers below *before*, but for the latest of each task, and those on tasks that
    are no more; and runs without any verdict.

    What these decided in all is in the history.
    """
    state.connection.execute('DELETE FROM broker_verdict WHERE task NOT IN (SELECT "jediTaskID" FROM broker_tasks)')
    state.connection.execute(
        "DELETE FROM broker_verdict WHERE cycle < ?1 AND EXISTS (SELECT 1 FROM broker_verdict AS later "
        "WHERE later.task = broker_verdict.task AND later.cycle > broker_verdict.cycle)",
        (before,),
    )
    state.connection.execute(
        "DELETE FROM broker_cycle WHERE number < ? AND number NOT IN (SELECT cycle FROM broker_verdict)", (before,)
    )
