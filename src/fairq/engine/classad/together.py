"""One expression for many single ads at once, each against the same rows.

Walking a tree costs more than comparing a few hundred rows. Ads of one shape differ only in short constants: these
become columns, and the tree is walked once.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad.column import build
from fairq.engine.classad.columns import AdColumns
from fairq.engine.classad.evaluator import evaluate_freely
from fairq.engine.classad.expression import Expression
from fairq.engine.classad.parties import Parties
from fairq.engine.classad.references import Closure, closure
from fairq.engine.classad.scopes import Side
from fairq.engine.classad.unknown import UnknownAd
from fairq.engine.classad.values import Values
from fairq.engine.classad.vectors import Vector
from fairq.expression_form import may_read


class NotTogetherError(Exception):
    """HTCondor's library has to evaluate a part, which takes one single ad."""


def shape_of(ad: Mapping[str, Any], columns: AdColumns) -> Hashable:
    """Return a key that is equal for ads which differ only in short constants."""
    return Parties(ad, columns).shape()


def reads(ad: Mapping[str, Any], columns: AdColumns, of_ad: Expression, of_columns: Expression) -> Closure:
    """Return what an expression of the single *ad*, and one of the columns, read of the two parties."""
    start = [(Side.AD, of_ad.node), (Side.COLUMNS, of_columns.node)]
    return closure(start, UnknownAd([ad], columns))


class Together:
    """Many single *ads* of one shape, with names in lower case, and the same *rows* of *columns* for each."""

    def __init__(self, ads: Sequence[Mapping[str, Any]], columns: AdColumns, rows: NDArray[np.intp]) -> None:
        self._parties = _Pairs(ads, columns.of_rows(np.tile(rows, len(ads))), len(rows))

    def true(self, expression: Expression, side: Side, pairs: NDArray[np.intp] | None = None) -> NDArray[np.bool_]:
        """Return for each of *pairs* (None: all), counted ad by ad, whether *expression* of *side* is true.

        Raises NotTogetherError.
        """
        columns = self._parties.columns
        size = len(columns) if pairs is None else len(pairs)
        if not size:
            return np.empty(0, np.bool_)
        return Values(evaluate_freely(expression, side, self._parties, pairs, size), size, columns.pool).is_true()


class _Pairs(Parties):
    def __init__(self, ads: Sequence[Mapping[str, Any]], columns: AdColumns, each: int) -> None:
        super().__init__(ads[0], columns)
        owners = np.repeat(np.arange(len(ads)), each)
        self._differing = {
            name: build([ad[name] for ad in ads], columns.pool).vector.take(owners)
            for name, value in ads[0].items()
            if not may_read(value) and any(ad[name] is not value for ad in ads)
        }

    def attribute(self, name: str) -> Vector | Expression | None:
        vector = self._differing.get(name)
        return super().attribute(name) if vector is None else vector

    def json_ad(self, names: frozenset[str]) -> dict[str, Any]:
        if not names.isdisjoint(self._differing):
            raise NotTogetherError
        return super().json_ad(names)
