"""What filters read of tasks, by column: tasks that agree in it are alike to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, Generic, TypeVar

from fairq.engine.brokerage.flow.request import BrokerageRequest

TASK, RULE = "task.", "rule "
"""The beginnings of names of attributes of the task and of its two-letter rules; others are those of the request."""

_KINDS_KEPT = 10_000
"""Answers of one question that are kept: some megabytes."""

T = TypeVar("T")


class Reading:
    """Reads the same attributes of many *requests*: each of them once, however many filters look at it."""

    def __init__(self, requests: Sequence[BrokerageRequest]) -> None:
        self.requests = requests
        self._tasks = [one.task for one in requests]
        self._columns: dict[str, list[Any]] = {}

    def column(self, name: str) -> list[Any]:
        """Return a value of each request: of an attribute, such as ``task.gshare``, or the text of a rule."""
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._read(name)
        return found

    def _read(self, name: str) -> list[Any]:
        if name.startswith(TASK):
            return list(map(attrgetter(name.removeprefix(TASK)), self._tasks))
        if name.startswith(RULE):
            code = name.removeprefix(RULE)
            return [task.rules.get(code) for task in self._tasks]
        return list(map(attrgetter(name), self.requests))

    def keys(self, names: Sequence[str]) -> Iterable[Hashable]:
        """Return for each request the values of *names*: equal ones if they agree in all of them."""
        if not names:
            return repeat((), len(self.requests))
        columns = [self.column(name) for name in names]
        return columns[0] if len(columns) == 1 else zip(*columns, strict=True)


class OncePerKind(Generic[T]):
    """A question that is asked once for all tasks that agree in what it reads.

    Args:
        reads: the names of what it reads of a request; see `Reading`.
        ask: the question.
    """

    def __init__(self, reads: Sequence[str], ask: Callable[[BrokerageRequest], T]) -> None:
        self._reads = reads
        self._ask = ask
        self._known: dict[Hashable, T] = {}

    def of(self, reading: Reading) -> Iterable[T]:
        """Return the answer for each request."""
        known, keys = self._known, list(reading.keys(self._reads))
        try:
            return list(map(known.__getitem__, keys))
        except KeyError:
            if len(known) >= _KINDS_KEPT:
                known.clear()
            for key, request in zip(keys, reading.requests, strict=True):
                if key not in known:
                    known[key] = self._ask(request)
        return map(known.__getitem__, keys)
