"""The distinct combinations of values, so that each computation runs once, and functions evaluated once for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fairq.engine.classad.convert import from_values, is_constant_value, item
from fairq.engine.classad.kinds import ERROR
from fairq.engine.classad.library import evaluate_or_raise, from_library, gave_up, library, to_library, tree, writable
from fairq.engine.classad.vectors import MIXED, Array, Codes, NotColumnar, Rows, ValuePool, Vector

Arguments = Sequence["Vector | Arguments"]
"""The arguments of a function: vectors; a list in braces is a sequence of vectors."""


def by_arguments(name: str, arguments: Arguments, n: int, pool: ValuePool) -> Vector:
    """Return the function's values; raises NotColumnar if they are not constants or the library gives up."""
    vectors: list[Vector] = []
    call = f"{name}({_formal(arguments, vectors)})"
    firsts, combination = distinct_rows(vectors, n)
    values = _by_library(call, vectors, firsts, pool)
    if not all(map(is_constant_value, values)):
        raise NotColumnar
    return from_values(values, pool).take(combination)


def by_elements(lists: Vector, places: Vector, pool: ValuePool) -> Vector:
    """Return the element at *places* of *lists*; a place outside of its list gives the error value.

    Raises NotColumnar if the library must replace characters of an element.
    """
    assert lists.data is not None and places.data is not None
    firsts, combination = distinct_rows([lists, places], max(len(lists.data), len(places.data)))
    values: list[Any] = []
    for row in firsts.tolist():
        elements, place = item(lists, row, pool), _in_32_bits(item(places, row, pool))
        # A list that the library made has the library's own marks for undefined and error.
        value = from_library(elements[place]) if 0 <= place < len(elements) else ERROR
        if isinstance(value, str) and writable(value) != value:
            raise NotColumnar
        values.append(value)
    return from_values(values, pool).take(combination)


def _in_32_bits(place: int) -> int:
    """Return the *place* that the library looks at: it takes the lower 32 bits, with their sign."""
    return (place + 2**31) % 2**32 - 2**31


def _by_library(call: str, vectors: list[Vector], rows: Rows, pool: ValuePool) -> list[Any]:
    parsed = tree(call)
    ad = library().ClassAd()
    values: list[Any] = []
    for row in rows.tolist():
        for place, vector in enumerate(vectors):
            if not values or not vector.is_constant():
                ad[f"a{place}"] = to_library(item(vector, row, pool))
        try:
            values.append(evaluate_or_raise(parsed, ad, None))
        except gave_up():
            raise NotColumnar from None
    return values


def _formal(arguments: Arguments, vectors: list[Vector]) -> str:
    parts: list[str] = []
    for argument in arguments:
        if isinstance(argument, Vector):
            parts.append(f"a{len(vectors)}")
            vectors.append(argument)
        else:
            parts.append(f"{{{_formal(argument, vectors)}}}")
    return ", ".join(parts)


def distinct_rows(vectors: Iterable[Vector], n: int) -> tuple[Rows, Rows]:
    """Return one row for each distinct combination of values, and for each row the number of its combination."""
    result, count = np.zeros(n, np.int64), 1
    for vector in vectors:
        if vector.is_constant():
            continue
        for part in _parts(vector):
            codes, more = _numbered(part)
            if more > 1:
                result, count = (codes, more) if count == 1 else _numbered(result * more + codes)
    if count == 1:
        return np.zeros(1, np.intp), np.zeros(n, np.intp)
    firsts = np.empty(count, np.intp)
    firsts[result[::-1]] = np.arange(n - 1, -1, -1)
    return firsts, result.astype(np.intp)


def _parts(vector: Vector) -> list[Array]:
    parts = [vector.kinds, vector.codes, vector.reals] if vector.kind == MIXED else [vector.data]
    return [part for part in parts if part is not None]


def _numbered(data: Array) -> tuple[Codes, int]:
    bits = data.view(np.int64) if data.dtype == np.float64 else data
    values, codes = np.unique(bits, return_inverse=True)
    return codes.astype(np.int64), len(values)
