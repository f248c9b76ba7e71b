"""Sums of many equal amounts, to the last digit as single additions round them."""

from __future__ import annotations

_EXACT = 2.0**53
"""Whole numbers up to here are exact."""


def added(total: float, amount: float, times: int) -> float:
    """Return *total* plus *amount*, added so many *times* one after the other."""
    if times == 1:
        return total + amount
    end = total + amount * times
    if float(total).is_integer() and float(amount).is_integer() and max(abs(total), abs(end)) < _EXACT:
        return end
    for _ in range(times):
        total += amount
    return total
