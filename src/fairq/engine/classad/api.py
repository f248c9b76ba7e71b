"""The calls for the rest of the engine: evaluate expressions, and find the attributes that they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad.columns import AdColumns
from fairq.engine.classad.expression import Expression
from fairq.engine.classad.metered import evaluate
from fairq.engine.classad.nodes import Node, Reference
from fairq.engine.classad.parties import Parties
from fairq.engine.classad.references import EVERY_ATTRIBUTE, closure
from fairq.engine.classad.scopes import Side
from fairq.engine.classad.unknown import UnknownAd
from fairq.engine.classad.values import Values

RowNumbers = NDArray[Any] | Sequence[int] | None


def evaluate_in_ad(
    expression: Expression, ad: Mapping[str, Any], columns: AdColumns, rows: RowNumbers = None
) -> Values:
    """Evaluate with MY the single *ad* and TARGET each row: a job's Requirements or Rank over slots."""
    return _evaluate(expression, Side.AD, ad, columns, rows)


def evaluate_in_columns(
    expression: Expression | str, columns: AdColumns, ad: Mapping[str, Any], rows: RowNumbers = None
) -> Values:
    """Evaluate with MY each row and TARGET the single *ad*: the negotiator's ranks over slots.

    A string is the name of an attribute: each row's own expression of that name (undefined where it has none).
    """
    if isinstance(expression, str):
        expression = Expression(f"MY.{expression}", Reference(Reference(None, "MY"), expression))
    return _evaluate(expression, Side.COLUMNS, ad, columns, rows)


def _evaluate(
    expression: Expression, side: Side, ad: Mapping[str, Any], columns: AdColumns, rows: RowNumbers
) -> Values:
    numbers = None if rows is None else np.asarray(rows, np.intp)
    vector = evaluate(expression, side, Parties(ad, columns), numbers)
    return Values(vector, len(columns) if numbers is None else len(numbers), columns.pool)


def attributes_read(
    expressions: Iterable[Expression],
    side: Literal["my", "target"],
    columns: AdColumns,
    ads: Iterable[Mapping[str, Any]] = (),
) -> frozenset[str]:
    """Return the lower-case names of all attributes of the single ad that can influence the expressions.

    *side* is the role of the single ad: "my" as in a job's Requirements, "target" as in the negotiator's ranks.
    References are followed through the expressions of *columns* and of *ads*. The answer holds for all *ads*
    as the single ad. EVERY_ATTRIBUTE is among the names if the attributes cannot be determined.
    """
    party = Side.AD if side == "my" else Side.COLUMNS
    start: list[tuple[Side, Node | None]] = [(party, expression.node) for expression in expressions]
    return closure(start, UnknownAd(ads, columns)).single_names()


def columns_read(
    expressions: Iterable[Expression], side: Literal["my", "target"], columns: AdColumns
) -> frozenset[str]:
    """Return the lower-case names of all attributes of *columns* that can influence the expressions.

    *side* is the role of the single ad, as in `attributes_read`. EVERY_ATTRIBUTE is among the names if the
    attributes cannot be determined.
    """
    party = Side.AD if side == "my" else Side.COLUMNS
    found = closure([(party, expression.node) for expression in expressions], UnknownAd((), columns))
    every: frozenset[str] = frozenset({EVERY_ATTRIBUTE}) if found.everything else frozenset()
    return found.names(Side.COLUMNS) | every
