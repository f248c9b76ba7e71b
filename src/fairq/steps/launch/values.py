"""The values of a job's attributes; expressions are evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.expression_form import is_expression


def raw(ad: Mapping[str, Any], name: str) -> Any:
    """Return an attribute of *ad* unevaluated, ignoring letter case; None if it is missing."""
    if name in ad:
        return ad[name]
    lower = name.lower()
    return next((value for key, value in ad.items() if key.lower() == lower), None)


def computed(ad: Mapping[str, Any], name: str, now: int, target: Mapping[str, Any] | None = None) -> Any:
    """Return the value of an attribute at *now*; None if it is missing, undefined or an error."""
    value = raw(ad, name)
    if not is_expression(value):
        return value
    from fairq.engine.classad import evaluate_scalar, expression_of

    found = evaluate_scalar(expression_of(value), ad, target, now)
    return found if isinstance(found, bool | int | float | str) else None


def number(ad: Mapping[str, Any], name: str, now: int, target: Mapping[str, Any] | None = None) -> float | None:
    """Return the numeric value of an attribute at *now*; None if it is not a number."""
    value = computed(ad, name, now, target)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def is_true(ad: Mapping[str, Any], name: str, now: int) -> bool:
    """Return whether an attribute is true or a number other than 0; undefined and error count as false."""
    value = computed(ad, name, now)
    return isinstance(value, bool | int | float) and bool(value)
