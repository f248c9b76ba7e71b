"""Changes to try out, as people type them: ``--factor NAME=VALUE``, ``--ceiling NAME=N``."""

from __future__ import annotations

import math
from collections.abc import Iterable

from fairq.engine.accounting.factors import MINIMUM_FACTOR
from fairq.errors.simulation import InvalidChangeError

LARGEST_FACTOR = 1e100
LARGEST_WEIGHT = 2**31 - 1
"""The largest ceiling, floor and limit."""


def read_factors(texts: Iterable[str]) -> dict[str, float]:
    """Return the factors in *texts* by name; raises InvalidChangeError."""
    return _numbers("--factor", texts, MINIMUM_FACTOR, LARGEST_FACTOR, "factor")


def read_ceilings(texts: Iterable[str]) -> dict[str, float]:
    """Return the ceilings in *texts* by name, in slot weight, -1 for none; raises InvalidChangeError."""
    return _numbers("--ceiling", texts, -1, LARGEST_WEIGHT, "ceiling")


def read_floors(texts: Iterable[str]) -> dict[str, float]:
    """Return the floors in *texts* by name, in slot weight, 0 for none; raises InvalidChangeError."""
    return _numbers("--floor", texts, 0, LARGEST_WEIGHT, "floor")


def read_limits(texts: Iterable[str]) -> dict[str, float]:
    """Return the concurrency limits in *texts* by name; raises InvalidChangeError."""
    return _numbers("--limit", texts, 0, LARGEST_WEIGHT, "limit")


def _numbers(option: str, texts: Iterable[str], minimum: float, maximum: float, noun: str) -> dict[str, float]:
    """Return the numbers of ``NAME=VALUE`` by name."""
    numbers: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (equals and name) or not minimum <= number <= maximum:
            cure = f"give NAME=VALUE, with a value of at least {minimum:g}"
            raise InvalidChangeError(option=option, value=text, problem=f"not a {noun}", cure=cure)
        if name in numbers:
            raise InvalidChangeError(
                option=option, value=text, problem=f"{name} is given twice", cure=f"give one {noun}"
            )
        numbers[name] = number
    return numbers
