"""Evaluation by HTCondor's own library, once per distinct combination of the attributes that are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from fairq.engine.classad.clock import at_time
from fairq.engine.classad.columnar import NotColumnar
from fairq.engine.classad.convert import from_values, is_constant_value
from fairq.engine.classad.expression import Expression
from fairq.engine.classad.identity import distinct_rows
from fairq.engine.classad.kinds import ERROR
from fairq.engine.classad.library import (
    evaluate_or_raise,
    gave_up,
    tree,
)
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.parties import Parties
from fairq.engine.classad.references import Closure, closure
from fairq.engine.classad.scalar import library_ad, recurses_endlessly, timed_text
from fairq.engine.classad.scopes import CURRENT_TIME, Side
from fairq.engine.classad.unparse import unparse
from fairq.engine.classad.vectors import Rows, Vector

_GAVE_UP: Final = object()


def part_by_library(
    node: Node, side: Side, parties: Parties, rows: Rows | None, n: int, active: Iterable[tuple[Side, str]]
) -> Vector:
    """Return the values of a part of an expression.

    Raises NotColumnar if the part yields more than constants, or if it leads back to an attribute in *active*,
    those whose evaluation is under way: then the library must see more of the expression.
    """
    found = closure([(side, node)], parties)
    if found.times:
        raise NotColumnar
    if found.everything or not found.read.isdisjoint(active):
        raise NotColumnar(whole=True)
    groups = _Groups(node, found, side, parties, rows, n)
    parsed = tree(unparse(at_time(node, parties.columns.now)))
    values = [_value(parsed, pair) for pair in groups.pairs()]
    if _GAVE_UP in values:
        raise NotColumnar(whole=True)
    if not all(map(is_constant_value, values)):
        raise NotColumnar
    return from_values(values, parties.columns.pool).take(groups.combination)


def whole_by_library(expression: Expression, side: Side, parties: Parties, rows: Rows | None, n: int) -> Vector:
    """Return the values of an entire expression; what the library gives up on is the error value."""
    whole = Whole(expression, side, parties, rows, n)
    return whole.vector(list(whole.values()))


class Whole:
    """An entire expression for the distinct combinations of what it reads, evaluated one after the other."""

    def __init__(self, expression: Expression, side: Side, parties: Parties, rows: Rows | None, n: int) -> None:
        self._found = closure([(side, expression.node)], parties)
        self._text = timed_text(expression.text, parties.columns.now)
        self._groups = _Groups(expression.node, self._found, side, parties, rows, n)
        self._pool = parties.columns.pool

    def __len__(self) -> int:
        """Return the number of combinations."""
        return len(self._groups)

    def values(self) -> Iterator[tuple[Any, bool]]:
        """Yield the value for each combination, and whether it is a length of time.

        Python gets that as a float; matching does not take it for a number.
        """
        parsed = tree(self._text)
        length = tree(f"isRelTime({self._text})") if self._found.times else None
        for pair in self._groups.pairs():
            value = _value(parsed, pair)
            is_length = length is not None and _value(length, pair) is True
            yield (ERROR if value is _GAVE_UP else value), is_length

    def vector(self, values: Sequence[tuple[Any, bool]]) -> Vector:
        """Return what the rows have of the *values* of the first combinations; ERROR of all others."""
        known = [value for value, _ in values] + [ERROR] * (len(self) - len(values))
        opaque = {place for place, (_, is_length) in enumerate(values) if is_length}
        return from_values(known, self._pool, opaque).take(self._groups.combination)

    def rows_beyond(self, count: int) -> int:
        """Return how many rows do not have one of the first *count* combinations."""
        return int(np.count_nonzero(self._groups.combination >= count))


class _Groups:
    """The distinct combinations of what an expression reads, each as a pair of the library's ads."""

    def __init__(
        self, node: Node | None, found: Closure, side: Side, parties: Parties, rows: Rows | None, n: int
    ) -> None:
        columns = parties.columns
        names = {party: parties.names(party) if found.everything else found.names(party) for party in Side}
        if found.everything or found.draws:
            firsts, self.combination = np.arange(n), np.arange(n)
        else:
            vectors = [columns.column(name).vector for name in sorted(names[Side.COLUMNS])]
            taken = vectors if rows is None else [vector.take(rows) for vector in vectors]
            firsts, self.combination = distinct_rows(taken, n)
        self._reads_time = found.everything or any(name == CURRENT_TIME for _, name in found.read)
        if found.everything:
            found = closure([(side, node)], parties, [(party, name) for party in Side for name in names[party]])
        self._node, self._side, self._parties = node, side, parties
        self._names = names
        self._risky = found.may_recurse_endlessly()
        self._rows = [int(row) for row in (firsts if rows is None else rows[firsts])]

    def __len__(self) -> int:
        return len(self._rows)

    def pairs(self) -> Iterator[tuple[Any, Any] | None]:
        """Yield MY and TARGET for each combination, None where the library would not return."""
        columns = self._parties.columns
        single = self._parties.json_ad(self._names[Side.AD])
        single_ad = library_ad(single, columns.now, self._reads_time)
        for row in self._rows:
            json_ad = columns.json_ad(row, self._names[Side.COLUMNS])
            my, target = (single, json_ad) if self._side is Side.AD else (json_ad, single)
            if self._risky and recurses_endlessly(self._node, my, target):
                yield None
                continue
            ad = library_ad(json_ad, columns.now, self._reads_time)
            yield (single_ad, ad) if self._side is Side.AD else (ad, single_ad)


def _value(parsed: Any, pair: tuple[Any, Any] | None) -> Any:
    if pair is None:
        return _GAVE_UP
    try:
        return evaluate_or_raise(parsed, *pair)
    except gave_up():
        return _GAVE_UP
