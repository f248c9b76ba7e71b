"""Find the distinct combinations of values, and evaluate functions once for each combination."""

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
    """Return the values of function *name*; raises NotColumnar if one is no constant or the library gives up."""
    vectors: list[Vector] = []
    call = f"{name}({_formal_arguments(arguments, vectors)})"
    firsts, combination = distinct_rows(vectors, n)
    values = _call_library(call, vectors, firsts, pool)
    if not all(map(is_constant_value, values)):
        raise NotColumnar
    return from_values(values, pool).take(combination)


def by_elements(lists: Vector, indexes: Vector, pool: ValuePool) -> Vector:
    """Return the element of each list at its index; an index outside the list gives the error value.

    Raises NotColumnar if the library must replace characters of an element.
    """
    assert lists.data is not None and indexes.data is not None
    firsts, combination = distinct_rows([lists, indexes], max(len(lists.data), len(indexes.data)))
    values: list[Any] = []
    for row in firsts.tolist():
        elements, index = item(lists, row, pool), _in_32_bits(item(indexes, row, pool))
        # A list that the library made has the library's own marks for undefined and error.
        value = from_library(elements[index]) if 0 <= index < len(elements) else ERROR
        if isinstance(value, str) and writable(value) != value:
            raise NotColumnar
        values.append(value)
    return from_values(values, pool).take(combination)


def _in_32_bits(index: int) -> int:
    """Return *index* as the library reads it: the lower 32 bits, with their sign."""
    return (index + 2**31) % 2**32 - 2**31


def _call_library(call: str, vectors: list[Vector], rows: Rows, pool: ValuePool) -> list[Any]:
    parsed = tree(call)
    ad = library().ClassAd()
    values: list[Any] = []
    for row in rows.tolist():
        for number, vector in enumerate(vectors):
            if not values or not vector.is_constant():
                ad[f"a{number}"] = to_library(item(vector, row, pool))
        try:
            values.append(evaluate_or_raise(parsed, ad, None))
        except gave_up():
            raise NotColumnar from None
    return values


def _formal_arguments(arguments: Arguments, vectors: list[Vector]) -> str:
    parts: list[str] = []
    for argument in arguments:
        if isinstance(argument, Vector):
            parts.append(f"a{len(vectors)}")
            vectors.append(argument)
        else:
            parts.append(f"{{{_formal_arguments(argument, vectors)}}}")
    return ", ".join(parts)


def distinct_rows(vectors: Iterable[Vector], n: int) -> tuple[Rows, Rows]:
    """Return one row for each distinct combination of values, and for each row the number of its combination."""
    numbers, number_count = np.zeros(n, np.int64), 1
    for vector in vectors:
        if vector.is_constant():
            continue
        for part in _arrays(vector):
            codes, part_count = _number_values(part)
            if part_count > 1:
                numbers, number_count = (
                    (codes, part_count) if number_count == 1 else _number_values(numbers * part_count + codes)
                )
    if number_count == 1:
        return np.zeros(1, np.intp), np.zeros(n, np.intp)
    firsts = np.empty(number_count, np.intp)
    firsts[numbers[::-1]] = np.arange(n - 1, -1, -1)
    return firsts, numbers.astype(np.intp)


def _arrays(vector: Vector) -> list[Array]:
    parts = [vector.kinds, vector.codes, vector.reals] if vector.kind == MIXED else [vector.data]
    return [part for part in parts if part is not None]


def _number_values(data: Array) -> tuple[Codes, int]:
    bits = data.view(np.int64) if data.dtype == np.float64 else data
    values, codes = np.unique(bits, return_inverse=True)
    return codes.astype(np.int64), len(values)
