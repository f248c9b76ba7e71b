"""The queues of a run under one set of rules."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.config import Config

T = TypeVar("T")


class Pool(Columns):
    """The queues as columns, for filters and weights. Results that depend on no rule are shared with *columns*.

    Args:
        columns: the queues.
        rules: the rules in force.

    Attributes:
        config: PanDA's own settings.
    """

    def __init__(self, columns: Columns, rules: Rules) -> None:
        self.world, self.queues, self.names, self.rows = columns.world, columns.queues, columns.names, columns.rows
        self.units, self.unit_names, self.unit_of = columns.units, columns.unit_names, columns.unit_of
        self.unit_numbers, self._kept = columns.unit_numbers, columns._kept
        self.rules = rules
        self.config: Config = columns.world.config
        self._under: dict[Hashable, Any] = {}

    def under(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of *make* under *key*, computed once for these rules."""
        try:
            value: T = self._under[key]
        except KeyError:
            value = self._under[key] = make()
        return value

    @property
    def starts(self) -> NDArray[np.intp]:
        """The first row of each unit; the rows of a unit are next to each other."""
        return self.kept("first rows", lambda: np.flatnonzero(np.diff(self.unit_of, prepend=-1)))


def pool_of(columns: Columns, rules: Rules) -> Pool:
    """Return the queues of *columns* under *rules*, created once for each set of rules."""
    return columns.kept(("pool", rules), lambda: Pool(columns, rules))
