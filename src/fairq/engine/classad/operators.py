"""The operators over uniform vectors, as HTCondor's Operation.

Arithmetic and bits are those of doArithmetic and doBitwise. Comparisons (doComparison): ``==`` and the orders take
numbers with numbers and strings with strings, ignoring the case of ASCII letters; ``is`` and ``isnt`` compare kind and
value exactly and are never undefined.

Logic is three-valued (doLogical and shortCircuit): a number counts as a boolean, true unless zero. A value other than a
boolean, a number or undefined counts as error. ``&&`` and ``||`` evaluate the left side first: false for ``&&``, true
for ``||``, or an error there decides.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from fairq.engine.classad.kinds import BOOLEAN, ERROR_KIND, INTEGER, LIST, REAL, STRING, UNDEFINED_KIND
from fairq.engine.classad.vectors import (
    ERROR_VECTOR,
    FALSE_VECTOR,
    MIXED,
    TRUE_VECTOR,
    UNDEFINED_VECTOR,
    Array,
    NotColumnar,
    ValuePool,
    Vector,
    merge,
)

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
