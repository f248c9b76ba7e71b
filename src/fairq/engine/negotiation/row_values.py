"""Values of expressions over all slots, of which a memory has those of slots that are as in an earlier cycle.

In a small pool, to walk the tree of an expression takes longer than to compute its value for every slot. From cycle to
cycle, few slots change; those that do mostly become like another one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.engine.classad import EVERY_ATTRIBUTE, AdColumns, Expression, evaluate_in_ad, evaluate_in_columns
from fairq.engine.classad.column import Column
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.references import closure
from fairq.engine.classad.scopes import Side
from fairq.engine.classad.unknown import UnknownAd
from fairq.engine.negotiation.expression_cache import expressions_key
from fairq.records import Ad

MOST_ROWS = 300
"""In larger pools, to look up each slot takes longer than to evaluate."""

_MOST_KEPT = 200_000
"""So many values and kinds of slots are kept, at most; then they are forgotten, all at once."""

Start = Sequence[tuple[Side, Node | None]]


class Reads(Struct, frozen=True):
    """The attributes read of the job and of the slots, in order, and whether the time matters."""

    of_job: tuple[str, ...]
    of_slots: tuple[str, ...]
    clock: bool


class RowMemory(Struct):
    """The values by expression and job, and by the number of a kind of slot.

    Args:
        reads: by expressions, what they read; None: values do not tell the result.
        numbers: the number of slots with certain values of certain attributes.
        values: the values.
    """

    reads: dict[Hashable, Reads | None] = field(default_factory=dict)
    numbers: dict[Hashable, int] = field(default_factory=dict)
    values: dict[Hashable, dict[int, Any]] = field(default_factory=dict)
    new_numbers: count[int] = field(default_factory=count)
    _kept: int = 0

    def keep(self, more: int) -> None:
        """Forget everything if *more* values would be too many."""
        self._kept += more
        if self._kept > _MOST_KEPT or len(self.numbers) > _MOST_KEPT:
            self._kept = more
            # Numbers are not used again: some may still be in use.
            self.numbers.clear()
            self.values.clear()


class RowValues:
    """Evaluates for all *slots* of a cycle; without a *memory*, nothing is known before."""

    def __init__(self, slots: AdColumns, memory: RowMemory | None) -> None:
        self._slots = slots
        self._memory = memory if 0 < len(slots) <= MOST_ROWS else None
        self._numbers: dict[tuple[str, ...], tuple[list[Column], list[int]]] = {}
        self._made: dict[Hashable, tuple[list[int], NDArray[Any]]] = {}
        self._last_job: tuple[Ad, Hashable] | None = None

    def rank(self, expression: Expression, job: Ad, otherwise: float) -> NDArray[np.float64]:
        """The numbers of an expression with MY = slot and TARGET = job; *otherwise* where it is no number."""
        slots = self._slots
        return self._find(
            ("rank", expression.text, otherwise),
            [(Side.COLUMNS, expression.node)],
            job,
            lambda rows: evaluate_in_columns(expression, slots, job, rows).as_rank(otherwise),
        )

    def rank_of_job(self, expression: Expression, job: Ad) -> NDArray[np.float64]:
        """The numbers of an expression with MY = job and TARGET = slot; 0 where it is no number."""
        slots = self._slots
        return self._find(
            ("job", expression.text),
            [(Side.AD, expression.node)],
            job,
            lambda rows: evaluate_in_ad(expression, job, slots, rows).as_rank(0.0),
        )

    def true(self, expression: Expression, job: Ad) -> NDArray[np.bool_]:
        """Where an expression with MY = slot and TARGET = job is true."""
        slots = self._slots
        return self._find(
            ("true", expression.text),
            [(Side.COLUMNS, expression.node)],
            job,
            lambda rows: evaluate_in_columns(expression, slots, job, rows).is_true(),
        )

    def _find(
        self, what: Hashable, start: Start, job: Ad, make: Callable[[NDArray[np.intp] | None], NDArray[Any]]
    ) -> NDArray[Any]:
        memory = self._memory
        reads = None if memory is None else self._reads(memory, what, start, job)
        if memory is None or reads is None:
            return make(None)
        own = tuple([repr(job[name]) if name in job else None for name in reads.of_job])
        key = (what, own, self._slots.now if reads.clock else None)
        numbers = self._numbers_of(memory, reads.of_slots)
        made = self._made.get(key)
        if made is None or made[0] is not numbers:
            found = self._look_up(memory, memory.values.setdefault(key, {}), numbers, make)
            if found is None:
                return make(None)
            found.flags.writeable = False
            made = self._made[key] = numbers, found
        return made[1]

    def _look_up(
        self,
        memory: RowMemory,
        known: dict[int, Any],
        numbers: list[int],
        make: Callable[[NDArray[np.intp] | None], NDArray[Any]],
    ) -> NDArray[Any] | None:
        """The value of every slot, by its number; None if a budget cut the evaluation of missing ones short."""
        with suppress(KeyError):
            return np.array([known[number] for number in numbers])
        missing = {number: row for row, number in enumerate(numbers) if number not in known}
        budget = self._slots.budget
        before = 0 if budget is None else budget.cut_short
        values = make(np.fromiter(missing.values(), np.intp, len(missing)))
        if budget is not None and budget.cut_short > before:
            return None
        known.update(zip(missing, values.tolist(), strict=True))
        found = np.array([known[number] for number in numbers], values.dtype)
        memory.keep(len(missing))
        return found

    def _reads(self, memory: RowMemory, what: Hashable, start: Start, job: Ad) -> Reads | None:
        if self._last_job is None or self._last_job[0] is not job:
            self._last_job = job, expressions_key(job)
        key = what, self._last_job[1]
        if key not in memory.reads:
            found = closure(start, UnknownAd([job], self._slots))
            names = found.single_names()
            is_known = EVERY_ATTRIBUTE not in names and not found.draws
            columns = found.names(Side.COLUMNS)
            memory.reads[key] = Reads(tuple(sorted(names)), tuple(sorted(columns)), found.clock) if is_known else None
        return memory.reads[key]

    def _numbers_of(self, memory: RowMemory, names: tuple[str, ...]) -> list[int]:
        """The number of every slot among those with other values of these attributes, which may change in the cycle."""
        columns = [self._slots.column(name) for name in names]
        made = self._numbers.get(names)
        if made is None or any(old is not new for old, new in zip(made[0], columns, strict=True)):
            size = len(self._slots)
            rows = zip(*(column.keys(size) for column in columns), strict=True) if columns else [()] * size
            numbers, new = memory.numbers, memory.new_numbers
            found = []
            for row in rows:
                number = numbers.get((names, row))
                if number is None:
                    number = numbers[names, row] = next(new)
                found.append(number)
            made = self._numbers[names] = columns, found
        return made[1]
