"""Texts that differ in some values only, put together by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat


def interleaved(literals: Sequence[str], columns: Sequence[Iterable[str]]) -> Iterator[str]:
    """Yield the text of each row: the *literals* with the row's values between them, of which each has a column.

    Without columns, the same text comes for ever.
    """
    *before, last = literals
    if not columns:
        return repeat(last)
    pieces = [one for of_value in zip(map(repeat, before), columns, strict=True) for one in of_value]
    return map("".join, zip(*pieces, repeat(last), strict=False))
