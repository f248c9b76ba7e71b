"""Sums of many equal amounts, to the last digit as single additions round them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

_EXACT = 2.0**53
"""Whole numbers up to here are exact."""


def is_exact(total: float, amount: float, times: int) -> bool:
    """Tell whether *total* plus up to so many *times* the *amount* is exact, however it is added up."""
    if total % 1 or amount % 1:  # of infinity it is not a number, which counts as true
        return False
    return -_EXACT < total < _EXACT and -_EXACT < total + amount * times < _EXACT


def added(total: float, amount: float, times: int) -> float:
    """Return *total* plus *amount*, added so many *times* one after the other."""
    if times == 1:
        return total + amount
    if is_exact(total, amount, times):
        return total + amount * times
    for _ in range(times):
        total += amount
    return total


def summed(each: Mapping[tuple[str, float], int], amounts: Iterable[tuple[str, float]]) -> dict[str, tuple[int, float]]:
    """Return by name how many *amounts* there are, and their sum in their order; names in the order first seen.

    *each* counts the same amounts, in the order first seen. All of them are only read where their order matters.
    """
    counts: dict[str, int] = defaultdict(int)
    sums: dict[str, float] = {}
    several: set[str] = set()
    for (name, amount), count in each.items():
        if name in sums:
            several.add(name)
        counts[name] += count
        sums[name] = added(0.0, amount, count)
    if several:  # of different amounts, the order shows in the last digit
        sums |= dict.fromkeys(several, 0.0)
        for name, amount in amounts:
            if name in several:
                sums[name] += amount
    return {name: (count, sums[name]) for name, count in counts.items()}
