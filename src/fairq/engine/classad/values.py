"""The results of an evaluation, one per row."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad.convert import item
from fairq.engine.classad.kinds import BOOLEAN, INTEGER, LIST, OTHER, REAL, STRING
from fairq.engine.classad.operators import TRUE, as_reals, truths
from fairq.engine.classad.vectors import MIXED, ValuePool, Vector

EXACT: Final = 2.0**53
"""Whole numbers below it are exact as reals."""


class Values:
    """*n* results; if all rows agree, only one is stored, and the arrays are read-only views of it."""

    __slots__ = ("_n", "_pool", "_vector")

    def __init__(self, vector: Vector, n: int, pool: ValuePool) -> None:
        self._vector = vector
        self._n = n
        self._pool = pool

    def __len__(self) -> int:
        return self._n

    @property
    def kind(self) -> NDArray[np.uint8]:
        """The kind of each result (uint8): UNDEFINED_KIND, ERROR_KIND, BOOLEAN, INTEGER, REAL, STRING or OTHER."""
        kinds: NDArray[np.uint8] = self._vector.kind_array(self._n)
        if self._vector.kind == LIST:
            return np.broadcast_to(np.uint8(OTHER), self._n)
        return np.where(kinds == LIST, np.uint8(OTHER), kinds) if self._vector.kind == MIXED else kinds

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The results as reals, booleans as 1 and 0; NaN for a value that is not a number."""
        return self._reals(np.nan)

    def is_true(self) -> NDArray[np.bool_]:
        """Return for each row whether the result is true or a nonzero number, as Requirements demands.

        Undefined, errors and strings are not true (Operation's notion of a boolean-equivalent value).
        """
        true = truths(self._vector, self._n) == TRUE
        return np.broadcast_to(true, self._n)

    def as_rank(self, default: float = 0.0) -> NDArray[np.float64]:
        """Return the results as finite reals, booleans as 1 and 0; *default* for a value that is not a number.

        NaN gives *default*, because it has no order. An infinite rank becomes the largest or smallest real.
        """
        return np.nan_to_num(self._reals(default), nan=default)

    def _reals(self, default: float) -> NDArray[np.float64]:
        vector = self._vector
        if vector.kind in (BOOLEAN, INTEGER, REAL):
            return np.broadcast_to(as_reals(vector), self._n)
        result = np.full(self._n if vector.kind == MIXED else 1, default, np.float64)
        if vector.kind == MIXED:
            assert vector.kinds is not None and vector.codes is not None
            integral = (vector.kinds == BOOLEAN) | (vector.kinds == INTEGER)
            result[integral] = vector.codes[integral]
            if vector.reals is not None:
                real = vector.kinds == REAL
                result[real] = vector.reals[real]
        return np.broadcast_to(result, self._n)

    def texts(self) -> list[str | None]:
        """Return one entry per row: the string, or None for a result that is not a string."""
        vector, texts = self._vector, self._pool.strings.texts
        if vector.kind == STRING:
            assert vector.data is not None
            if len(vector.data) == 1:
                return [texts[int(vector.data[0])]] * self._n
            return [texts[code] for code in vector.data.tolist()]
        result: list[str | None] = [None] * self._n
        if vector.kind == MIXED:
            assert vector.kinds is not None and vector.codes is not None
            rows = np.flatnonzero(vector.kinds == STRING)
            for row, code in zip(rows.tolist(), vector.codes[rows].tolist(), strict=True):
                result[row] = texts[code]
        return result

    def text_codes(self) -> NDArray[np.int64]:
        """Return for each row the code of the string in the columns' pool, or -1 for a result that is not a string."""
        vector = self._vector
        if vector.kind == STRING:
            assert vector.data is not None
            return np.broadcast_to(vector.data, self._n)
        if vector.kind == MIXED:
            assert vector.kinds is not None and vector.codes is not None
            return np.where(vector.kinds == STRING, vector.codes, -1)
        return np.broadcast_to(np.int64(-1), self._n)

    def python(self, i: int) -> Any:
        """Return the *i*-th result as a Python value, UNDEFINED or ERROR."""
        if not -self._n <= i < self._n:
            raise IndexError(i)
        return item(self._vector, i % self._n, self._pool)
