"""Ads with attributes on top that are given by column, as claims give them to slots."""

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
    """An attribute on top of the ads of *rows* (ascending): the place of each row's value among *values*."""

    rows: NDArray[np.intp]
    values: Sequence[Any]
    places: NDArray[np.intp]


class OverlaidAds(Rows[Ad]):
    """The ads of *base* with attributes on top, which take the place of their own in whatever case.

    *overlaid* are the names of these attributes, of which *plain* are no expressions in any ad. Who reads by column
    reads `over`, and makes no ad.
    """

    base: AdTable
    overlaid: Sequence[str]
    plain: Collection[str]

    @abstractmethod
    def over(self, name: str) -> Over:
        """Return one of the attributes on top."""

    def __len__(self) -> int:
        return len(self.base)
