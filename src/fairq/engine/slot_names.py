"""A name for each slot, stored once for all its slots: a hundred thousand slots have a thousand users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray


class SlotNames(Sequence[str | None]):
    """The name of each slot, or None.

    Args:
        distinct: the names.
        codes: per slot, the index of its name in *distinct*; -1 for None.
    """

    def __init__(self, distinct: Sequence[str], codes: NDArray[np.int64]) -> None:
        self.distinct = distinct
        self.codes = codes

    @classmethod
    def of(cls, names: Sequence[str | None]) -> SlotNames:
        """Return *names*, one per slot, as `SlotNames`."""
        if isinstance(names, SlotNames):
            return names
        codes_by_name: dict[str | None, int] = {None: -1}
        codes = [codes_by_name.setdefault(name, len(codes_by_name) - 1) for name in names]
        return cls([name for name in codes_by_name if name is not None], np.array(codes, np.int64))

    @classmethod
    def nobody(cls, size: int) -> SlotNames:
        """Return *size* slots without a name."""
        return cls((), np.full(size, -1))

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[str | None]:
        return map(self._or_nobody.__getitem__, self.codes.tolist())

    @overload
    def __getitem__(self, slot: int) -> str | None: ...
    @overload
    def __getitem__(self, slot: slice) -> Sequence[str | None]: ...
    def __getitem__(self, slot: int | slice) -> str | Sequence[str | None] | None:
        if isinstance(slot, slice):
            return SlotNames(self.distinct, self.codes[slot])
        return self._or_nobody[int(self.codes[slot])]

    @cached_property
    def _or_nobody(self) -> list[str | None]:
        """The names, and None last, where code -1 finds it."""
        return [*self.distinct, None]
