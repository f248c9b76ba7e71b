"""Three-valued logic, as HTCondor's Operation::doLogical and shortCircuit.

A number counts as a boolean, true unless zero. A value other than a boolean, a number or undefined counts as error.
``&&`` and ``||`` evaluate the left side first: false for ``&&``, true for ``||``, or an error there decides.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from fairq.engine.classad.kinds import BOOLEAN, ERROR_KIND, INTEGER, REAL, UNDEFINED_KIND
from fairq.engine.classad.vectors import (
    ERROR_VECTOR,
    FALSE_VECTOR,
    MIXED,
    TRUE_VECTOR,
    UNDEFINED_VECTOR,
    Array,
    Vector,
)

FALSE: Final = 0
TRUE: Final = 1
UNDEFINED_TRUTH: Final = 2
ERROR_TRUTH: Final = 3

_F, _T, _U, _E = FALSE, TRUE, UNDEFINED_TRUTH, ERROR_TRUTH
_TABLES: Final[dict[str, Array]] = {
    "&&": np.array([[_F, _F, _F, _F], [_F, _T, _U, _E], [_F, _U, _U, _E], [_E, _E, _E, _E]], np.uint8),
    "||": np.array([[_F, _T, _U, _E], [_T, _T, _T, _T], [_U, _T, _U, _E], [_E, _E, _E, _E]], np.uint8),
}
_KINDS: Final = np.array([BOOLEAN, BOOLEAN, UNDEFINED_KIND, ERROR_KIND], np.uint8)
_VECTORS: Final = (FALSE_VECTOR, TRUE_VECTOR, UNDEFINED_VECTOR, ERROR_VECTOR)
DECIDES: Final = {"&&": FALSE, "||": TRUE}


def truths(vector: Vector, n: int) -> Array:
    """Return FALSE, TRUE, UNDEFINED_TRUTH or ERROR_TRUTH per row, or one of them for all rows."""
    data: Any = vector.data
    if vector.kind == BOOLEAN:
        return np.asarray(data).view(np.uint8)
    if vector.kind in (INTEGER, REAL):
        return np.asarray(data != 0).view(np.uint8)
    if vector.kind == MIXED:
        assert vector.kinds is not None and vector.codes is not None
        result = np.full(n, ERROR_TRUTH, np.uint8)
        result[vector.kinds == UNDEFINED_KIND] = UNDEFINED_TRUTH
        counts = (vector.kinds == BOOLEAN) | (vector.kinds == INTEGER)
        result[counts] = vector.codes[counts] != 0
        if vector.reals is not None:
            real = vector.kinds == REAL
            result[real] = vector.reals[real] != 0
        return result
    return np.array([UNDEFINED_TRUTH if vector.kind == UNDEFINED_KIND else ERROR_TRUTH], np.uint8)


def from_truths(truth: Array) -> Vector:
    """Return the vector of boolean, undefined and error values for the results of `truths`."""
    if len(truth) == 1:
        return _VECTORS[int(truth[0])]
    highest = truth.max()
    if highest <= TRUE:
        return Vector(BOOLEAN, truth.view(np.bool_))
    if (truth == highest).all():
        return _VECTORS[int(highest)]
    return Vector(MIXED, kinds=_KINDS[truth], codes=(truth == TRUE).astype(np.int64))


def combine(operator: str, left: Array, right: Array) -> Array:
    """Return ``left && right`` or ``left || right`` of truths."""
    if max(left.max(), right.max()) <= TRUE:
        return np.asarray(left & right if operator == "&&" else left | right)
    return np.asarray(_TABLES[operator][left, right])
