"""Sums of many equal amounts, to the last digit as single additions round them."""

from __future__ import annotations

_EXACT = 2.0**53
"""Whole numbers up to here are exact."""


def is_exact(total: float, amount: float, times: int) -> bool:
    """Tell whether *total* plus up to so many *times* the *amount* is exact, however it is added up."""
    if not (float(total).is_integer() and float(amount).is_integer()):
        return False
    return max(abs(total), abs(total + amount * times)) < _EXACT


def added(total: float, amount: float, times: int) -> float:
    """Return *total* plus *amount*, added so many *times* one after the other."""
    if times == 1:
        return total + amount
    if is_exact(total, amount, times):
        return total + amount * times
    for _ in range(times):
        total += amount
    return total
