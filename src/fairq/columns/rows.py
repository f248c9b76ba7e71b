"""Sequences whose items are made when they are read, as tables by column have them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

Item_co = TypeVar("Item_co", covariant=True)


class Rows(Sequence[Item_co]):
    """A sequence that makes the item of a row at each reading."""

    __slots__ = ()

    @abstractmethod
    def at(self, row: int) -> Item_co:
        """Make the item of *row*, which is counted from 0 and in the sequence."""

    @overload
    def __getitem__(self, row: int) -> Item_co: ...
    @overload
    def __getitem__(self, row: slice) -> list[Item_co]: ...
    def __getitem__(self, row: int | slice) -> Item_co | list[Item_co]:
        rows = range(len(self))[row]
        return [self.at(each) for each in rows] if isinstance(rows, range) else self.at(rows)
