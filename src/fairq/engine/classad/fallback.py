"""Evaluation by HTCondor's own library, once per distinct combination of the attributes that are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np

from fairq.engine.classad.clock import at_time, reads_clock
from fairq.engine.classad.columnar import NotColumnar
from fairq.engine.classad.columns import AdColumns
from fairq.engine.classad.convert import from_values, is_constant_value
from fairq.engine.classad.expression import Expression, expression_of, parse
from fairq.engine.classad.identity import distinct_rows
from fairq.engine.classad.kinds import ERROR, UNDEFINED
from fairq.engine.classad.library import (
    evaluate_or_raise,
    evaluate_tree,
    expression_text,
    gave_up,
    library,
    to_library,
    tree,
)
from fairq.engine.classad.nodes import Node
from fairq.engine.classad.parties import Parties
from fairq.engine.classad.references import Closure, closure
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
    values = groups.values(unparse(at_time(node, parties.columns.now)))
    if _GAVE_UP in values:
        raise NotColumnar(whole=True)
    if not all(map(is_constant_value, values)):
        raise NotColumnar
    return from_values(values, parties.columns.pool).take(groups.combination)


def whole_by_library(expression: Expression, side: Side, parties: Parties, rows: Rows | None, n: int) -> Vector:
    """Return the values of an entire expression; what the library gives up on is the error value."""
    found = closure([(side, expression.node)], parties)
    text = _timed_text(expression.text, parties.columns.now)
    groups = _Groups(expression.node, found, side, parties, rows, n)
    values = [ERROR if value is _GAVE_UP else value for value in groups.values(text)]
    # Python gets a length of time as a float; matching does not take it for a number
    lengths = groups.values(f"isRelTime({text})") if found.times else []
    opaque = {place for place, is_length in enumerate(lengths) if is_length is True}
    return from_values(values, parties.columns.pool, opaque).take(groups.combination)


def scalar_by_library(
    expression: Expression, my: Mapping[str, Any], target: Mapping[str, Any] | None, now: int | None
) -> Any:
    """Return the value of *expression* for one pair of ads, or for one ad alone."""
    if _recurses_endlessly(expression.node, Side.AD, Parties(my, AdColumns([target or {}]))):
        return ERROR
    other = None if target is None else _library_ad(target, now, True)
    return evaluate_tree(tree(_timed_text(expression.text, now)), _library_ad(my, now, True), other)


class _Groups:
    """The distinct combinations of what an expression reads, each as a pair of the library's ads."""

    def __init__(
        self, node: Node | None, found: Closure, side: Side, parties: Parties, rows: Rows | None, n: int
    ) -> None:
        columns = parties.columns
        names = {party: parties.names(party) if found.everything else found.names(party) for party in Side}
        if found.everything:
            firsts, self.combination = np.arange(n), np.arange(n)
        else:
            vectors = [columns.column(name).vector for name in sorted(names[Side.COLUMNS])]
            taken = vectors if rows is None else [vector.take(rows) for vector in vectors]
            firsts, self.combination = distinct_rows(taken, n)
        reads_time = found.everything or any(name == CURRENT_TIME for _, name in found.read)
        single = _library_ad(parties.json_ad(names[Side.AD]), columns.now, reads_time)
        risky = found.everything or found.may_recurse_endlessly()
        self._pairs: list[tuple[Any, Any] | None] = []
        for first in firsts.tolist():
            row = first if rows is None else int(rows[first])
            json_ad = columns.json_ad(row, names[Side.COLUMNS])
            if risky and _recurses_endlessly(node, side, parties.with_one(json_ad)):
                self._pairs.append(None)
                continue
            ad = _library_ad(json_ad, columns.now, reads_time)
            self._pairs.append((single, ad) if side is Side.AD else (ad, single))

    def values(self, text: str) -> list[Any]:
        """Return the value of *text* for each combination, _GAVE_UP where the library refuses to go on."""
        parsed = tree(text)
        return [_GAVE_UP if pair is None else _value(parsed, *pair) for pair in self._pairs]


def _recurses_endlessly(node: Node | None, side: Side, parties: Parties) -> bool:
    found = closure([(side, node)], parties)
    if found.everything:
        every = [(party, name) for party in Side for name in parties.names(party)]
        found = closure([(side, node)], parties, every)
    return found.may_recurse_endlessly()


def _value(parsed: Any, my: Any, target: Any) -> Any:
    try:
        return evaluate_or_raise(parsed, my, target)
    except gave_up():
        return _GAVE_UP


def _library_ad(ad: Mapping[str, Any], now: int | None, reads_time: bool) -> Any:
    result = library().ClassAd()
    for name, value in ad.items():
        text = expression_text(value)
        if text is not None:
            result[name] = tree(_timed_text(text, now))
        elif isinstance(value, list | Mapping) and (node := expression_of(value).node) and reads_clock(node):
            result[name] = tree(unparse(at_time(node, now)))
        else:
            result[name] = to_library(value)
    if reads_time and not any(name.lower() == CURRENT_TIME for name in ad):
        result[CURRENT_TIME] = to_library(UNDEFINED if now is None else now)
    return result


@lru_cache(maxsize=20_000)
def _timed_text(text: str, now: int | None) -> str:
    node = parse(text).node
    return text if node is None or not reads_clock(node) else unparse(at_time(node, now))
