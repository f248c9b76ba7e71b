"""What filters read of tasks, by column: tasks that agree in it are alike to them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, Generic, TypeVar

from fairq.engine.brokerage.flow.request import BrokerageRequest

TASK, RULE = "task.", "rule "
"""The beginnings of names of attributes of the task and of its two-letter rules; others are those of the request."""

VARIES = object()
"""In place of a value in which requests do not agree."""

_KINDS_KEPT = 10_000
"""Answers of one question that are kept: some megabytes."""

T = TypeVar("T")


class Reading:
    """Reads the same attributes of many *requests*: each of them once, however many filters look at it."""

    def __init__(self, requests: Sequence[BrokerageRequest]) -> None:
        self.requests = requests
        self._tasks = [one.task for one in requests]
        self._columns: dict[str, list[Any]] = {}
        self._in_common: dict[str, Any] = {}

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

    def in_common(self, name: str) -> Any:
        """Return the value that all requests have under *name*; `VARIES` if they do not agree."""
        if name not in self._in_common:
            column = self.column(name)
            first, last = column[0], column[-1]
            agree = first == last and column.count(first) == len(column)
            self._in_common[name] = first if agree else VARIES
        return self._in_common[name]


class OncePerKind(Generic[T]):
    """A question that is asked once for all tasks that agree in what it reads.

    Args:
        reads: the names of what it reads of a request; see `Reading`.
        ask: the question.
    """

    def __init__(self, reads: Sequence[str], ask: Callable[[BrokerageRequest], T]) -> None:
        self._reads = reads
        self._ask = ask
        # By what many tasks have in common, and then by the rest: most of what filters read varies little.
        self._known: dict[tuple[Any, ...], dict[Hashable, T]] = {}
        self._asked = 0

    def of(self, reading: Reading) -> Iterable[T]:
        """Return the answer for each request."""
        if not reading.requests:
            return ()
        in_common = tuple(map(reading.in_common, self._reads))
        known = self._known.setdefault(in_common, {})
        columns = [reading.column(name) for name, value in zip(self._reads, in_common, strict=True) if value is VARIES]
        if not columns:
            return repeat(self._answer(known, (), reading.requests[0]), len(reading.requests))
        keys = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        try:
            return list(map(known.__getitem__, keys))
        except KeyError:
            return [self._answer(known, key, request) for key, request in zip(keys, reading.requests, strict=True)]

    def _answer(self, known: dict[Hashable, T], key: Hashable, request: BrokerageRequest) -> T:
        if key not in known:
            if self._asked >= _KINDS_KEPT:
                self._known.clear()
                known.clear()
                self._asked = 0
            self._asked += 1
            known[key] = self._ask(request)
        return known[key]
