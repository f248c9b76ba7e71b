"""How many cycles the search for a change may take, and how much they may look at."""

from __future__ import annotations

import math
from collections.abc import Hashable

from msgspec import Struct, field

from fairq.engine.explain.diagnosis import Outcome

_WORK = 200_000
"""What all cycles of a search together look at (`Outcome.size`), at most."""

SEARCHED = 150_000
"""What all cycles that try changes for one job cost, at most (`Outcome.work`).

In small pools, a cycle costs many times what its slots and ranges do: the steps of its turns count, too.
"""

_LARGEST = 100_000
"""A cycle that looks at so much takes long enough to wait for one only."""


def affordable_cycles(held: Outcome, most: int, fewest: int = 0, in_largest: int = 0) -> int:
    """Return the number of cycles like the one *held* that a search may run: *most*, fewer in a large pool.

    There are at least *fewest*, but *in_largest* in one of the largest pools.
    """
    return in_largest if held.size >= _LARGEST else max(fewest, min(most, _WORK // (held.size + 1)))


class Tried(Struct):
    """The cycles held until a job was matched, by what changes made of a pool.

    *missed*: those that ended without it. *left* is how much all further ones may look at (`Outcome.work`).
    """

    left: float = math.inf
    cycles: dict[Hashable, Outcome] = field(default_factory=dict)
    missed: set[Hashable] = field(default_factory=set)
