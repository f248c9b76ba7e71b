"""The tolerance for slot weights: they are sums of fractions, and rounding errors must not change a decision."""

from __future__ import annotations

import math

_TOLERANCE = 1e-9
"""Fraction of the pie that counts as nothing (docs/htcondor.md 3.2)."""

_DECIMALS = 6
"""Precision of a slice, and of a weight in proportion to a share."""


def tolerance(pie: float) -> float:
    """Return the slot weight that counts as nothing in a *pie* of that weight."""
    return _TOLERANCE * pie


def rounded(weight: float) -> float:
    """Return *weight* without rounding errors: shares of a third and slots of weight 1 come out even."""
    return round(weight, _DECIMALS)


def whole(weight: float) -> int:
    """Return *weight* rounded down to a whole number."""
    return math.floor(weight + tolerance(max(1.0, weight)))
