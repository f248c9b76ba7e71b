"""Conversion between Python values and vectors."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np

from fairq.engine.classad.kinds import (
    BOOLEAN,
    ERROR,
    ERROR_KIND,
    INTEGER,
    LIST,
    OTHER,
    REAL,
    STRING,
    UNDEFINED,
    UNDEFINED_KIND,
    Absent,
)
from fairq.engine.classad.parser import wrapped_integer
from fairq.engine.classad.vectors import (
    ERROR_VECTOR,
    FALSE_VECTOR,
    MIXED,
    TRUE_VECTOR,
    UNDEFINED_VECTOR,
    ValuePool,
    Vector,
)


def is_scalar(value: Any) -> bool:
    """Return whether *value* is a constant of the language other than a list."""
    return isinstance(value, bool | int | float | str | Absent)


def is_constant_value(value: Any) -> bool:
    """Return whether *value* is a constant or a list of constants."""
    return is_scalar(value) or (isinstance(value, list | tuple) and all(map(is_scalar, value)))


def constant(value: Any, pool: ValuePool) -> Vector:  # noqa: PLR0911 - one per case
    """Return the vector of a Python value in all rows; a list must hold scalars only."""
    if value is True:
        return TRUE_VECTOR
    if value is False:
        return FALSE_VECTOR
    if value is UNDEFINED or value is None:
        return UNDEFINED_VECTOR
    if value is ERROR:
        return ERROR_VECTOR
    if isinstance(value, int):
        return Vector(INTEGER, np.array([wrapped_integer(value)], np.int64))
    if isinstance(value, float):
        return Vector(REAL, np.array([value], np.float64))
    if isinstance(value, str):
        return Vector(STRING, np.array([pool.strings[value]], np.int64))
    if is_constant_value(value):
        return Vector(LIST, np.array([pool.lists.code(tuple(value))], np.int64))
    return _other(value, pool)


def _other(value: Any, pool: ValuePool) -> Vector:
    return Vector(OTHER, np.array([pool.others.code(value)], np.int64))


def python_value(kind: int, code: Any, pool: ValuePool) -> Any:  # noqa: PLR0911 - one per case
    """Return one value as a Python value; *code* is the number itself, or a code in *pool*."""
    match int(kind):
        case 0:
            return UNDEFINED
        case 1:
            return ERROR
        case 2:
            return bool(code)
        case 3:
            return int(code)
        case 4:
            return float(code)
        case 5:
            return pool.strings.texts[int(code)]
        case 7:
            return list(pool.lists.items[int(code)])
        case _:
            return pool.others.items[int(code)]


def item(vector: Vector, row: int, pool: ValuePool) -> Any:
    """Return the Python value of *vector* in *row*."""
    kind = vector.kind
    if vector.kinds is not None:
        kind = int(vector.kinds[row])
        source = vector.reals if kind == REAL else vector.codes
    else:
        source = vector.data
    if source is None:
        return UNDEFINED if kind == UNDEFINED_KIND else ERROR
    return python_value(kind, source[row if len(source) > 1 else 0], pool)


def from_values(values: list[Any], pool: ValuePool, opaque: Container[int] = ()) -> Vector:
    """Return the vector of one Python value per row; the rows *opaque* are of the kind OTHER."""
    kinds = np.empty(len(values), np.uint8)
    codes = np.zeros(len(values), np.int64)
    reals = np.zeros(len(values), np.float64)
    for row, value in enumerate(values):
        single = _other(value, pool) if row in opaque else constant(value, pool)
        kinds[row] = single.kind
        if single.data is not None:
            if single.kind == REAL:
                reals[row] = single.data[0]
            else:
                codes[row] = single.data[0]
    if len(values) and (kinds == kinds[0]).all():
        kind = int(kinds[0])
        if kind in (UNDEFINED_KIND, ERROR_KIND):
            return Vector(kind)
        return Vector(kind, reals if kind == REAL else codes.astype(bool) if kind == BOOLEAN else codes)
    return Vector(MIXED, kinds=kinds, codes=codes, reals=reals)
