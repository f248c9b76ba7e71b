"""Arithmetic and bit operators over uniform vectors, as HTCondor's Operation::doArithmetic and doBitwise."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from fairq.engine.classad.kinds import BOOLEAN, ERROR_KIND, INTEGER, REAL, UNDEFINED_KIND
from fairq.engine.classad.vectors import ERROR_VECTOR, UNDEFINED_VECTOR, Array, Vector, merge

ARITHMETIC: Final = frozenset("+-*/%")
BITWISE: Final = frozenset({"&", "|", "^", "<<", ">>", ">>>"})
_NUMBERS: Final = frozenset({BOOLEAN, INTEGER, REAL})
_LOWEST: Final = np.int64(-(2**63))
_HIGHEST: Final = np.int64(2**63 - 1)


def exceptional(*operands: Vector) -> Vector | None:
    """Return a strict operator's result if an operand is an error or undefined (an error wins); None if neither."""
    kinds = [operand.kind for operand in operands]
    if ERROR_KIND in kinds:
        return ERROR_VECTOR
    return UNDEFINED_VECTOR if UNDEFINED_KIND in kinds else None


def as_integers(vector: Vector) -> Array:
    """Return a vector of booleans or integers as integers."""
    assert vector.data is not None
    return vector.data.astype(np.int64) if vector.kind == BOOLEAN else vector.data


def as_reals(vector: Vector) -> Array:
    """Return a vector of booleans, integers or reals as reals."""
    assert vector.data is not None
    return vector.data if vector.kind == REAL else vector.data.astype(np.float64)


def error_where(wrong: Array, vector: Vector) -> Vector:
    """Return *vector* with the error value in the rows where *wrong* holds."""
    if not wrong.any():
        return vector
    if wrong.all():
        return ERROR_VECTOR
    n = len(wrong)
    bad, good = np.nonzero(wrong)[0], np.nonzero(~wrong)[0]
    return merge(n, [(bad, ERROR_VECTOR), (good, vector.take(good))])


def arithmetic(operator: str, left: Vector, right: Vector) -> Vector:  # noqa: PLR0911 - one per case
    """``+ - * / %``: 64-bit integers wrap around; integer division by zero and a real +infinity are errors."""
    strict = exceptional(left, right)
    if strict is not None:
        return strict
    if left.kind not in _NUMBERS or right.kind not in _NUMBERS:
        return ERROR_VECTOR
    if REAL in (left.kind, right.kind):
        return _real(operator, as_reals(left), as_reals(right))
    first, second = as_integers(left), as_integers(right)
    with np.errstate(over="ignore"):
        match operator:
            case "+":
                return Vector(INTEGER, first + second)
            case "-":
                return Vector(INTEGER, first - second)
            case "*":
                return Vector(INTEGER, first * second)
    return _divided(operator, *np.broadcast_arrays(first, second))


def _real(operator: str, first: Array, second: Array) -> Vector:
    with np.errstate(all="ignore"):
        match operator:
            case "+":
                result = first + second
            case "-":
                result = first - second
            case "*":
                result = first * second
            case "/":
                result = first / second
            case _:
                return ERROR_VECTOR
    return error_where(result == np.inf, Vector(REAL, result))


def _divided(operator: str, first: Array, second: Array) -> Vector:
    zero = second == 0
    overflow = (first == _LOWEST) & (second == -1)
    safe = np.where(zero | overflow, 1, second)
    remainder = np.fmod(first, safe)
    if operator == "%":
        return error_where(zero, Vector(INTEGER, np.where(overflow, 0, remainder)))
    quotient = (first - remainder) // safe
    return error_where(zero, Vector(INTEGER, np.where(overflow, _HIGHEST, quotient)))


def bitwise(operator: str, left: Vector, right: Vector) -> Vector:
    """``& | ^ << >> >>>`` of integers; shifts take the distance modulo 64, as the machine does."""
    strict = exceptional(left, right)
    if strict is not None:
        return strict
    if left.kind != INTEGER or right.kind != INTEGER:
        return ERROR_VECTOR
    first, second = as_integers(left), as_integers(right)
    return Vector(INTEGER, _BITS[operator](first, second))


def _shift_right(first: Array, second: Array) -> Array:
    negative = first >> np.clip(second, 0, 63)
    result: Array = np.where(first >= 0, first >> (second & 63), negative)
    return result


def _shift_unsigned(first: Array, second: Array) -> Array:
    negative = ((first >> 1) & _HIGHEST) >> ((second - 1) & 63)
    return np.where(first >= 0, first >> (second & 63), negative)


_BITS: Final[dict[str, Any]] = {
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": lambda first, second: first << (second & 63),
    ">>": _shift_right,
    ">>>": _shift_unsigned,
}


def unary(operator: str, operand: Vector) -> Vector:  # noqa: PLR0911 - one per case
    """``+ - ~ !`` before one operand; only ``!`` accepts booleans."""
    strict = exceptional(operand)
    if strict is not None:
        return strict
    data: Any = operand.data
    match operator, operand.kind:
        case "+", (3 | 4):
            return operand
        case "-", (3 | 4):
            with np.errstate(over="ignore"):
                return Vector(operand.kind, -data)
        case "~", 3:
            return Vector(INTEGER, ~data)
        case "!", 2:
            return Vector(BOOLEAN, ~data)
        case "!", (3 | 4):
            return Vector(BOOLEAN, data == 0)
    return ERROR_VECTOR
