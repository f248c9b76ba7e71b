"""Changes to try out, as people type them: ``--factor NAME=VALUE``, ``--set KEY=VALUE``."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.engine.accounting.factors import MINIMUM_FACTOR
from fairq.errors.simulation import InvalidChangeError

LARGEST_FACTOR = 1e100


def read_factors(texts: Iterable[str]) -> dict[str, float]:
    """Return the factors in *texts* by name; raises InvalidChangeError."""
    factors: dict[str, float] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        try:
            factor = float(value)
        except ValueError:
            factor = 0.0
        if not (equals and name) or not MINIMUM_FACTOR <= factor <= LARGEST_FACTOR:
            raise InvalidChangeError(
                option="--factor",
                value=text,
                problem="not a factor",
                cure=f"give NAME=VALUE, with a value of at least {MINIMUM_FACTOR:g}",
            )
        if name in factors:
            raise InvalidChangeError(
                option="--factor", value=text, problem=f"{name} is given twice", cure="give one factor"
            )
        factors[name] = factor
    return factors
