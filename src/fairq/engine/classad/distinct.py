"""Functions of values alone, computed by HTCondor's library once per distinct combination of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairq.engine.classad.columnar import NotColumnar
from fairq.engine.classad.convert import from_values, is_constant_value, item
from fairq.engine.classad.identity import distinct_rows
from fairq.engine.classad.library import evaluate_or_raise, gave_up, library, to_library, tree
from fairq.engine.classad.pools import ValuePool
from fairq.engine.classad.vectors import Vector

Arguments = Sequence["Vector | Arguments"]
"""The arguments of a function: vectors; a list in braces is a sequence of vectors."""


def by_arguments(name: str, arguments: Arguments, n: int, pool: ValuePool) -> Vector:
    """Return the function's values; raises NotColumnar if they are not constants or the library gives up."""
    vectors: list[Vector] = []
    parsed = tree(f"{name}({_formal(arguments, vectors)})")
    firsts, combination = distinct_rows(vectors, n)
    ad = library().ClassAd()
    values: list[Any] = []
    for row in firsts.tolist():
        for place, vector in enumerate(vectors):
            if not values or not vector.is_constant():
                ad[f"a{place}"] = to_library(item(vector, row, pool))
        try:
            values.append(evaluate_or_raise(parsed, ad, None))
        except gave_up():
            raise NotColumnar from None
    if not all(map(is_constant_value, values)):
        raise NotColumnar
    return from_values(values, pool).take(combination)


def _formal(arguments: Arguments, vectors: list[Vector]) -> str:
    parts: list[str] = []
    for argument in arguments:
        if isinstance(argument, Vector):
            parts.append(f"a{len(vectors)}")
            vectors.append(argument)
        else:
            parts.append(f"{{{_formal(argument, vectors)}}}")
    return ", ".join(parts)
