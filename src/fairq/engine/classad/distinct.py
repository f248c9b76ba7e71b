"""Functions of values alone, computed once per distinct combination of arguments, mostly by HTCondor's library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairq.engine.classad.columnar import NotColumnar
from fairq.engine.classad.convert import from_values, is_constant_value, item
from fairq.engine.classad.identity import distinct_rows
from fairq.engine.classad.kinds import ERROR
from fairq.engine.classad.library import evaluate_or_raise, from_library, gave_up, library, to_library, tree, writable
from fairq.engine.classad.plain_functions import PLAIN
from fairq.engine.classad.pools import ValuePool
from fairq.engine.classad.vectors import Rows, Vector

Arguments = Sequence["Vector | Arguments"]
"""The arguments of a function: vectors; a list in braces is a sequence of vectors."""


def by_arguments(name: str, arguments: Arguments, n: int, pool: ValuePool) -> Vector:
    """Return the function's values; raises NotColumnar if they are not constants or the library gives up."""
    vectors: list[Vector] = []
    call = f"{name}({_formal(arguments, vectors)})"
    firsts, combination = distinct_rows(vectors, n)
    values = None
    if name.lower() in PLAIN and all(isinstance(argument, Vector) for argument in arguments):
        values = _plainly(name.lower(), vectors, firsts, pool)
    if values is None:
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


def _plainly(name: str, vectors: list[Vector], rows: Rows, pool: ValuePool) -> list[Any] | None:
    """Return the function's values without the library; None if any arguments are not plain."""
    values: list[Any] = []
    for row in rows.tolist():
        value = PLAIN[name](*(item(vector, row, pool) for vector in vectors))
        if value is None:
            return None
        values.append(value)
    return values


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
