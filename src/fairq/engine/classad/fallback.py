"""Evaluation by HTCondor's own library, once per distinct combination of the attributes read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from fairq.engine.classad.clock import at_time
from fairq.engine.classad.convert import from_values, is_constant_value
from fairq.engine.classad.distinct import distinct_rows
from fairq.engine.classad.expression import Expression
from fairq.engine.classad.kinds import ERROR
from fairq.engine.classad.library import (
    evaluate_or_raise,
    gave_up,
    tree,
)
from fairq.engine.classad.nodes import Node, unparse
from fairq.engine.classad.parties import Parties
from fairq.engine.classad.references import CURRENT_TIME, Closure, Side, closure
from fairq.engine.classad.scalar import library_ad, recurses_endlessly, timed_text
from fairq.engine.classad.vectors import NotColumnar, Rows, Vector

_GAVE_UP: Final = object()


def part_by_library(
    node: Node, side: Side, parties: Parties, rows: Rows | None, n: int, active: Iterable[tuple[Side, str]]
) -> Vector:
    """Return the values of a part of an expression.

    Raises NotColumnar if the part yields a value that is not constant. Raises it also if the part refers back to an
    attribute in *active*, whose evaluation is under way: the library must then see more of the expression.
    """
    reads = closure([(side, node)], parties)
    if reads.times:
        raise NotColumnar
    if reads.everything or not reads.read.isdisjoint(active):
        raise NotColumnar(whole=True)
    groups = _Groups(node, reads, side, parties, rows, n)
    values = groups.values(unparse(at_time(node, parties.columns.now)))
    if _GAVE_UP in values:
        raise NotColumnar(whole=True)
    if not all(map(is_constant_value, values)):
        raise NotColumnar
    return from_values(values, parties.columns.pool).take(groups.combination)


def whole_by_library(expression: Expression, side: Side, parties: Parties, rows: Rows | None, n: int) -> Vector:
    """Return the values of an entire expression; where the library gives up, the value is the error value."""
    reads = closure([(side, expression.node)], parties)
    text = timed_text(expression.text, parties.columns.now)
    groups = _Groups(expression.node, reads, side, parties, rows, n)
    values = [ERROR if value is _GAVE_UP else value for value in groups.values(text)]
    # the library returns a relative time as a float; matching does not treat it as a number
    durations = groups.values(f"isRelTime({text})") if reads.times else []
    opaque = {index for index, is_duration in enumerate(durations) if is_duration is True}
    return from_values(values, parties.columns.pool, opaque).take(groups.combination)


class _Groups:
    """The distinct combinations of the values that an expression reads, each as a pair of the library's ads."""

    def __init__(
        self, node: Node | None, reads: Closure, side: Side, parties: Parties, rows: Rows | None, n: int
    ) -> None:
        columns = parties.columns
        names = {party: parties.names(party) if reads.everything else reads.names(party) for party in Side}
        if reads.everything or reads.draws:
            firsts, self.combination = np.arange(n), np.arange(n)
        else:
            vectors = [columns.column(name).vector for name in sorted(names[Side.COLUMNS])]
            selected = vectors if rows is None else [vector.take(rows) for vector in vectors]
            firsts, self.combination = distinct_rows(selected, n)
        reads_time = reads.everything or any(name == CURRENT_TIME for _, name in reads.read)
        single = parties.json_ad(names[Side.AD])
        single_ad = library_ad(single, columns.now, reads_time)
        if reads.everything:
            reads = closure([(side, node)], parties, [(party, name) for party in Side for name in names[party]])
        risky = reads.may_recurse_endlessly()
        self._pairs: list[tuple[Any, Any] | None] = []
        for first in firsts.tolist():
            row = first if rows is None else int(rows[first])
            json_ad = columns.json_ad(row, names[Side.COLUMNS])
            my, target = (single, json_ad) if side is Side.AD else (json_ad, single)
            if risky and recurses_endlessly(node, my, target):
                self._pairs.append(None)
                continue
            ad = library_ad(json_ad, columns.now, reads_time)
            self._pairs.append((single_ad, ad) if side is Side.AD else (ad, single_ad))

    def values(self, text: str) -> list[Any]:
        """Return the value of *text* for each combination, _GAVE_UP where the library gives up."""
        parsed = tree(text)
        return [_GAVE_UP if pair is None else _value(parsed, *pair) for pair in self._pairs]


def _value(parsed: Any, my: Any, target: Any) -> Any:
    try:
        return evaluate_or_raise(parsed, my, target)
    except gave_up():
        return _GAVE_UP
