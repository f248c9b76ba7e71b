"""The ads of columns that refuse every single ad, whatever it has: found once, they need no look for each job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad.api import evaluate_in_columns
from fairq.engine.classad.columns import AdColumns
from fairq.engine.classad.costs import UNGUARDED
from fairq.engine.classad.expression import Expression
from fairq.engine.classad.kinds import EXPRESSION
from fairq.engine.classad.metered import bound
from fairq.engine.classad.nodes import Binary, Node
from fairq.engine.classad.parties import Parties
from fairq.engine.classad.references import closure
from fairq.engine.classad.scopes import Side
from fairq.engine.classad.unknown import UnknownAd
from fairq.engine.classad.unparse import unparse


def refusing(attribute: str, columns: AdColumns, changing: frozenset[str] = frozenset()) -> NDArray[np.bool_]:
    """Return for each row whether its expression *attribute* (lower case) is true for no single ad.

    That is so if a part joined by ``&&`` reads nothing of the single ad and is not true. Rows whose refusal cannot be
    told from such a part, cheaply, count as not refusing. The answer stays valid when attributes *changing* (lower
    case) of the columns change.
    """
    refuses = np.zeros(len(columns), np.bool_)
    column = columns.column(attribute)
    if not column.expressions:
        return refuses
    kinds = column.vector.kind_array(len(columns))
    codes = column.vector.data if column.vector.codes is None else column.vector.codes
    for code, expression in enumerate(column.expressions):
        rows = np.flatnonzero((kinds == EXPRESSION) & (codes == code))
        for node in _joined(expression.node) if len(rows) else ():
            part = Expression(unparse(node), node)
            if _stands_alone(part, columns, changing):
                refuses[rows[~evaluate_in_columns(part, columns, {}, rows).is_true()]] = True
    return refuses


def has_bound(expression: Expression, side: Literal["my", "target"], ad: Mapping[str, Any], columns: AdColumns) -> bool:
    """Return whether an evaluation needs no guard for any row, so that rows can be left out without a trace.

    *side* is the role of the single *ad*, as in `attributes_read`.
    """
    party = Side.AD if side == "my" else Side.COLUMNS
    return bound(expression, party, Parties(ad, columns)) <= UNGUARDED


def _joined(node: Node | None) -> Iterator[Node]:
    """Yield the parts of an expression that are all true where it is."""
    if isinstance(node, Binary) and node.operator == "&&":
        yield from _joined(node.left)
        yield from _joined(node.right)
    elif node is not None:
        yield node


def _stands_alone(part: Expression, columns: AdColumns, changing: frozenset[str]) -> bool:
    found = closure([(Side.COLUMNS, part.node)], UnknownAd((), columns))
    if found.single_names() or found.draws or not found.names(Side.COLUMNS).isdisjoint(changing):
        return False
    return has_bound(part, "target", {}, columns)
