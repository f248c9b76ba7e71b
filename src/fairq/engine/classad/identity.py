"""Find the rows with equal values, so that each computation runs once for all of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fairq.engine.classad.pools import Codes
from fairq.engine.classad.vectors import MIXED, Array, Rows, Vector


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
