"""A column of ads as JSON text: of the attributes of a hundred thousand slots, a cycle reads a few."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import msgspec


class RawColumn(Sequence[Any]):
    """The values of *size* rows, parsed from *text* when first read. One value alone stands for all rows."""

    def __init__(self, text: bytes, size: int) -> None:
        self._text = text
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, row: int) -> Any: ...
    @overload
    def __getitem__(self, row: slice) -> Sequence[Any]: ...
    def __getitem__(self, row: int | slice) -> Any:
        return self.values[row]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RawColumn) and self._text == other._text:
            return self._size == other._size
        return isinstance(other, Sequence) and self.values == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """All values."""
        try:
            found = msgspec.json.decode(self._text)
        except (msgspec.DecodeError, RecursionError):  # of what Python's parser alone reads: NaN, lone surrogates
            found = json.loads(self._text)
        return tuple(found) if len(found) == self._size else tuple(found * self._size)

    def numbers(self) -> bytes | None:
        """Return the text without its brackets if it has whole numbers for all rows, and nothing else."""
        inner = self._text[1:-1]
        return None if inner.translate(None, b"-0123456789,") or inner.count(b",") + 1 != self._size else inner

    def may_hold(self, *parts: bytes) -> bool:
        """Return whether any of *parts* stands anywhere in the text, behind its first bracket."""
        return any(self._text.find(part, 1) > 0 for part in parts)
