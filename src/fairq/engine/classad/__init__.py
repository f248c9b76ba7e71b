"""ClassAd expressions: parsed once, evaluated for one ad against many at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad.kinds import (
    BOOLEAN, ERROR, ERROR_KIND, INTEGER, OTHER, REAL, STRING, UNDEFINED, UNDEFINED_KIND,
)
from fairq.engine.classad.library import (
    evaluate_tree, expression_text, from_library, library, to_ad, to_library, tree,
)
from fairq.errors import ExpressionError


@dataclass(frozen=True)
class Expression:
    text: str


@lru_cache(maxsize=10000)
def parse(text: str) -> Expression:
    try:
        tree(text)
    except Exception:
        raise ExpressionError(text=text, near=text) from None
    return Expression(text)


def expression_of(value: Any) -> Expression:
    text = expression_text(value)
    return parse(text if text is not None else str(to_ad({"a": value}).lookup("a")))


def _kind(value: Any) -> int:
    if value is UNDEFINED:
        return UNDEFINED_KIND
    if value is ERROR:
        return ERROR_KIND
    return {bool: BOOLEAN, int: INTEGER, float: REAL, str: STRING}.get(type(value), OTHER)


class Values:
    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self.kind = np.array([_kind(v) for v in items], np.uint8)

    def __len__(self) -> int:
        return len(self._items)

    @property
    def numbers(self) -> NDArray[np.float64]:
        return self.as_rank(float("nan"))

    def is_true(self) -> NDArray[np.bool_]:
        return np.array([isinstance(v, bool | int | float) and bool(v) for v in self._items], bool)

    def as_rank(self, default: float = 0.0) -> NDArray[np.float64]:
        return np.array([float(v) if isinstance(v, bool | int | float) else default for v in self._items], float)

    def python(self, i: int) -> Any:
        return self._items[i]


class AdColumns:
    def __init__(self, ads: Sequence[Mapping[str, Any]], now: int | None = None) -> None:
        self.ads = [dict(ad) for ad in ads]
        self.now = now
        self.version = 0
        self._trees: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.ads)

    def trees(self) -> list[Any]:
        if self._trees is None:
            self._trees = [to_ad(ad) for ad in self.ads]
        return self._trees

    def with_column(self, name: str, values: Any) -> Self:
        if isinstance(values, np.ndarray):
            values = values.tolist()
        for i, (ad, value) in enumerate(zip(self.ads, values, strict=True)):
            for key in [key for key in ad if key.lower() == name.lower()]:
                del ad[key]
            if value is not None:
                ad[name] = value
            if self._trees is not None:
                self._trees[i] = to_ad(ad)
        return self

    def value(self, row: int, name: str) -> Any:
        return from_library(self.trees()[row].eval(name)) if name in self.trees()[row] else UNDEFINED

    def external_references(self) -> frozenset[str]:
        result: set[str] = set()
        for ad in self.ads:
            for value in ad.values():
                text = expression_text(value)
                if text is not None:
                    result |= {r.split(".")[-1].lower() for r in to_ad({}).externalRefs(tree(text)) if r}
        return frozenset(result)


def _rows(columns: AdColumns, rows: Any) -> Iterable[int]:
    return range(len(columns)) if rows is None else [int(r) for r in rows]


def evaluate_in_ad(expression: Expression, ad: Mapping[str, Any], columns: AdColumns, rows: Any = None) -> Values:
    e, my, ads = tree(expression.text), to_ad(ad), columns.trees()
    return Values([evaluate_tree(e, my, ads[r]) for r in _rows(columns, rows)])


def evaluate_in_columns(
    expression: Expression | str, columns: AdColumns, ad: Mapping[str, Any], rows: Any = None
) -> Values:
    e, target, ads = tree(expression if isinstance(expression, str) else expression.text), to_ad(ad), columns.trees()
    return Values([evaluate_tree(e, ads[r], target) for r in _rows(columns, rows)])


def attributes_read(
    expressions: Iterable[Expression], side: str, columns: AdColumns, ads: Iterable[Mapping[str, Any]] = ()
) -> frozenset[str]:
    result = set(columns.external_references())
    for expression in expressions:
        result |= {r.split(".")[-1].lower() for r in to_ad({}).externalRefs(tree(expression.text)) if r}
    return frozenset(result)


def evaluate_scalar(expression: Expression, my: Mapping[str, Any], target: Mapping[str, Any] | None = None) -> Any:
    return evaluate_tree(tree(expression.text), to_ad(my), None if target is None else to_ad(target))


__all__ = [
    "ERROR", "UNDEFINED", "AdColumns", "Expression", "Values", "attributes_read", "evaluate_in_ad",
    "evaluate_in_columns", "evaluate_scalar", "expression_of", "parse", "to_library",
]
