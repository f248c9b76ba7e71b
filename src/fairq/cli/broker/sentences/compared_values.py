"""Compared values, formatted for users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SHOWN = 5
"""Number of queues shown in a sentence."""


def value_text(value: Any) -> str:
    """Return a compared number or text, formatted for users."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e15 else f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {value_text(item)}" for name, item in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_text, value)) or "none"
    return str(value) or "empty"


def compared(details: Mapping[str, Any]) -> str:
    """Return the compared values in one line."""
    return ", ".join(f"{name} {value_text(value)}" for name, value in details.items())


def first_names(queues: list[str]) -> str:
    """Return the first names, and the number of others."""
    others = len(queues) - _SHOWN
    return ", ".join(queues[:_SHOWN]) + (f" and {others} more" if others > 0 else "")


class ValueText(str):
    """A value in a template: ``{cap}`` is the value; ``{cap:job|jobs}`` adds the singular or plural word."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        singular, has_words, plural = form.partition("|")
        return f"{self} {singular if self == '1' else plural}" if has_words else super().__format__(form)
