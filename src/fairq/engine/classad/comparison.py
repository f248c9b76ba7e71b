"""Comparisons over uniform vectors, as HTCondor's Operation::doComparison.

``==`` and the orders take numbers with numbers and strings with strings, ignoring the case of ASCII letters;
``is`` and ``isnt`` compare kind and value exactly and are never undefined.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from fairq.engine.classad.arithmetic import as_integers, as_reals, exceptional
from fairq.engine.classad.columnar import NotColumnar
from fairq.engine.classad.kinds import BOOLEAN, ERROR_KIND, INTEGER, LIST, REAL, STRING, UNDEFINED_KIND
from fairq.engine.classad.pools import ValuePool
from fairq.engine.classad.vectors import ERROR_VECTOR, FALSE_VECTOR, TRUE_VECTOR, Vector

COMPARE: Final[dict[str, Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
IDENTITY: Final = frozenset({"is", "isnt"})


def compare(operator: str, left: Vector, right: Vector, pool: ValuePool) -> Vector:
    """``== != < <= > >=`` of two uniform vectors."""
    strict = exceptional(left, right)
    if strict is not None:
        return strict
    kinds = {left.kind, right.kind}
    function = COMPARE[operator]
    if kinds == {STRING}:
        meaning = pool.strings.folded() if operator in ("==", "!=") else pool.strings.ranks()
        return Vector(BOOLEAN, function(meaning[left.data], meaning[right.data]))
    if not kinds <= {BOOLEAN, INTEGER, REAL}:
        return ERROR_VECTOR
    if REAL in kinds:
        return Vector(BOOLEAN, function(as_reals(left), as_reals(right)))
    return Vector(BOOLEAN, function(as_integers(left), as_integers(right)))


def identical(operator: str, left: Vector, right: Vector) -> Vector:
    """``is`` (``=?=``) and ``isnt`` (``=!=``) of two uniform vectors."""
    same, different = (TRUE_VECTOR, FALSE_VECTOR) if operator == "is" else (FALSE_VECTOR, TRUE_VECTOR)
    if left.kind != right.kind:
        return different
    if left.kind in (UNDEFINED_KIND, ERROR_KIND):
        return same
    if left.kind == LIST:
        raise NotColumnar
    return Vector(BOOLEAN, COMPARE["==" if operator == "is" else "!="](left.data, right.data))
