"""The functions computed directly on columns; all others run once per distinct arguments, or in the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from fairq.engine.classad.kinds import (
    BOOLEAN,
    ERROR_KIND,
    INTEGER,
    LIST,
    REAL,
    STRING,
    UNDEFINED_KIND,
)
from fairq.engine.classad.vectors import (
    ERROR_VECTOR,
    FALSE_VECTOR,
    TRUE_VECTOR,
    UNDEFINED_VECTOR,
    Array,
    NotColumnar,
    Vector,
)

_LOWEST: Final = -(2**63)

KIND_TESTS: Final[dict[str, int]] = {
    "isundefined": UNDEFINED_KIND,
    "iserror": ERROR_KIND,
    "isboolean": BOOLEAN,
    "isinteger": INTEGER,
    "isreal": REAL,
    "isstring": STRING,
    "islist": LIST,
}
"""Functions that are true for one kind of value; any number of arguments other than one is an error."""


def kind_test(name: str, operand: Vector) -> Vector:
    """Return whether a uniform vector is of the kind that the function *name* tests for."""
    return TRUE_VECTOR if operand.kind == KIND_TESTS[name] else FALSE_VECTOR


def truncated(values: Array) -> Array:
    """Return reals as integers, as C does on today's machines: a value out of range is the lowest integer."""
    fits = (values >= -(2.0**63)) & (values < 2.0**63)
    if fits.all():
        return values.astype(np.int64)
    return np.where(fits, np.where(fits, values, 0).astype(np.int64), _LOWEST)


def _integer(operand: Vector) -> Vector:
    data: Any = operand.data
    match operand.kind:
        case 0:
            return UNDEFINED_VECTOR
        case 2:
            return Vector(INTEGER, data.astype(np.int64))
        case 3:
            return operand
        case 4:
            return Vector(INTEGER, truncated(data))
        case 5:
            raise NotColumnar
    return ERROR_VECTOR


def _real(operand: Vector) -> Vector:
    data: Any = operand.data
    match operand.kind:
        case 0:
            return UNDEFINED_VECTOR
        case 2 | 3:
            return Vector(REAL, data.astype(np.float64))
        case 4:
            return operand
        case 5:
            raise NotColumnar
    return ERROR_VECTOR


def _rounding(function: Callable[[Array], Array]) -> Callable[[Vector], Vector]:
    def kernel(operand: Vector) -> Vector:
        data: Any = operand.data
        match operand.kind:
            case 2:
                return Vector(INTEGER, data.astype(np.int64))
            case 3:
                return operand
            case 4:
                return Vector(INTEGER, truncated(function(data)))
            case 5:
                raise NotColumnar
        return ERROR_VECTOR

    return kernel


KERNELS: Final[dict[str, Callable[[Vector], Vector]]] = {
    "int": _integer,
    "real": _real,
    "floor": _rounding(np.floor),
    "ceil": _rounding(np.ceil),
    "ceiling": _rounding(np.ceil),
    "round": _rounding(np.rint),
}
"""Functions of one argument as kernels over uniform vectors; strings are evaluated once per distinct value."""


def random_below(limit: Vector, fractions: Array) -> Vector:
    """Return random numbers below a uniform *limit*, of its kind, from *fractions* in [0, 1)."""
    data: Any = limit.data
    if limit.kind not in (INTEGER, REAL):
        return ERROR_VECTOR
    if not (data > 0).all() or (data >= 2**31).any():
        raise NotColumnar(whole=True)
    numbers = fractions * data
    return Vector(limit.kind, numbers.astype(np.int64) if limit.kind == INTEGER else numbers)
