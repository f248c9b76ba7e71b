"""Ads with overlaid attributes by column, as claims add them to slots."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fairq.columns.ads import AdTable
from fairq.columns.rows import Rows
from fairq.common.records import Ad

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Over(NamedTuple):
    """An overlaid attribute of the ads in *rows* (ascending); *places* is the index of each row's value in *values*."""

    rows: NDArray[np.intp]
    values: Sequence[Any]
    places: NDArray[np.intp]


class OverlaidAds(Rows[Ad]):
    """The ads of *base* with overlaid attributes, which replace those of *base* in any letter case.

    *overlaid* are the names of these attributes; those in *plain* are no expression in any ad. `over` reads an
    attribute by column, without building ads.
    """

    base: AdTable
    overlaid: Sequence[str]
    plain: Collection[str]

    @abstractmethod
    def over(self, name: str) -> Over:
        """Return an overlaid attribute by column."""

    def column(self, name: str, absent: Any = None) -> list[Any]:
        """Return an attribute of every ad, *absent* where it is missing."""
        values = [absent] * len(self)
        for row, value in zip(self.base.order(), self.base.values([name], absent), strict=True):
            values[row] = value
        if name in self.overlaid:
            over = self.over(name)
            for row, place in zip(over.rows.tolist(), over.places.tolist(), strict=True):
                values[row] = over.values[place]
        return values

    def __len__(self) -> int:
        return len(self.base)
