"""Sums of many equal amounts, to the last digit as single additions round them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

_EXACT = 2.0**53
"""Whole numbers up to here are exact."""


def is_exact(total: float, amount: float, times: int) -> bool:
    """Return whether adding *amount* to *total* up to *times* times is exact in any order."""
    if total % 1 or amount % 1:  # infinity % 1 is not-a-number, which counts as true
        return False
    return -_EXACT < total < _EXACT and -_EXACT < total + amount * times < _EXACT


def added(total: float, amount: float, times: int) -> float:
    """Return *total* after *amount* is added *times* times, one addition after the other."""
    if times == 1:
        return total + amount
    if is_exact(total, amount, times):
        return total + amount * times
    for _ in range(times):
        total += amount
    return total


def summed(
    counted: Mapping[tuple[str, float], int], amounts: Iterable[tuple[str, float]]
) -> dict[str, tuple[int, float]]:
    """Return by name the number of its *amounts*, and their sum in their order; names in the order of first sight.

    *counted* has the same amounts with their counts, in the order of first sight. *amounts* is read only if a name
    has different amounts: only then does their order matter.
    """
    counts: dict[str, int] = defaultdict(int)
    sums: dict[str, float] = {}
    mixed: set[str] = set()
    for (name, amount), count in counted.items():
        if name in sums:
            mixed.add(name)
        counts[name] += count
        sums[name] = added(0.0, amount, count)
    if mixed:  # of different amounts, the order shows in the last digit
        sums |= dict.fromkeys(mixed, 0.0)
        for name, amount in amounts:
            if name in mixed:
                sums[name] += amount
    return {name: (count, sums[name]) for name, count in counts.items()}
