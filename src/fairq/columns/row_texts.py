"""Texts that differ only in some values, joined by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat


def interleaved(literals: Sequence[str], columns: Sequence[Iterable[str]]) -> Iterator[str]:
    """Yield the text of each row: the *literals* with the row's value of each column between them.

    Without columns, the same text is repeated endlessly.
    """
    *before, last = literals
    if not columns:
        return repeat(last)
    pieces = [piece for value_pieces in zip(map(repeat, before), columns, strict=True) for piece in value_pieces]
    return map("".join, zip(*pieces, repeat(last), strict=False))
