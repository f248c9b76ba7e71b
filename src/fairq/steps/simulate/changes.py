"""Changes to try out, as people type them: ``--factor NAME=VALUE``, ``--ceiling NAME=N``."""

from __future__ import annotations

import math
from collections.abc import Iterable

from fairq.engine.accounting.factors import MINIMUM_FACTOR
from fairq.errors.simulation import InvalidChangeError

_LARGEST_WEIGHT = 2**31 - 1

_BOUNDS = {
    "factor": (MINIMUM_FACTOR, 1e100),
    "ceiling": (-1.0, _LARGEST_WEIGHT),
    "floor": (0.0, _LARGEST_WEIGHT),
    "limit": (0.0, _LARGEST_WEIGHT),
}
"""The least and the largest number of each kind: priority factors, slot weights (ceiling -1: none), and licences."""


def read_numbers(noun: str, texts: Iterable[str]) -> dict[str, float]:
    """Return the numbers in *texts* of the option ``--noun`` by name; raises InvalidChangeError."""
    option, (minimum, maximum) = f"--{noun}", _BOUNDS[noun]
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
