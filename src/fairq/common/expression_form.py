"""Expressions among the values of an ad: as in HTCondor's JSON, texts of the form ``/Expr(…)/``."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, TypeGuard

OPEN = "/Expr("
CLOSE = ")/"


def is_expression(value: Any) -> TypeGuard[str]:
    """Return whether a value begins like an expression. In an ad that was read, it is one."""
    return isinstance(value, str) and value.startswith(OPEN)


def expression_text(value: Any) -> str | None:
    """Return the text of an expression; None for any other value, and for a text without an end."""
    return unwrapped(value) if is_expression(value) and value.endswith(CLOSE) else None


def may_read(value: Any) -> bool:
    """Return whether a value is an expression, a list or a nested ad; all others are plain."""
    if isinstance(value, str):
        return value.startswith(OPEN)
    # Most others are numbers, for which the check for Mapping is slow.
    return not isinstance(value, (int, float)) and isinstance(value, (list, tuple, Mapping))


def unwrapped(value: str) -> str:
    """Return the text of an expression; any other text is returned unchanged."""
    return value.removeprefix(OPEN).removesuffix(CLOSE)


def as_expression(text: str) -> str:
    """Return the expression *text* as an ad has it."""
    return f"{OPEN}{text}{CLOSE}"


def attribute(ad: Mapping[str, Any], lower: str) -> Any:
    """Return an attribute of an ad by its name in *lower* case; None if it is missing."""
    return next((value for name, value in ad.items() if name.lower() == lower), None)


def without_attributes(ad: Mapping[str, Any], lower: Container[str]) -> dict[str, Any]:
    """Return an ad without the attributes of these names in *lower* case."""
    return {name: value for name, value in ad.items() if name.lower() not in lower}
