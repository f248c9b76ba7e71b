"""Sequences whose items are built when they are read, for tables by column."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

Item_co = TypeVar("Item_co", covariant=True)


class Rows(Sequence[Item_co]):
    """A sequence that builds the item of a row at each reading."""

    __slots__ = ()

    @abstractmethod
    def at(self, row: int) -> Item_co:
        """Return the item of *row*, counted from 0; the row exists."""

    @overload
    def __getitem__(self, row: int) -> Item_co: ...
    @overload
    def __getitem__(self, row: slice) -> list[Item_co]: ...
    def __getitem__(self, row: int | slice) -> Item_co | list[Item_co]:
        selected = range(len(self))[row]
        return [self.at(index) for index in selected] if isinstance(selected, range) else self.at(selected)
