"""Compared values, formatted for users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SHOWN = 5
"""Number of queues shown in a sentence."""


_PLAIN = frozenset({int, str})
"""Types whose values are shown as they are."""


def said(value: Any) -> str:
    """Return a compared number or text, formatted for users."""
    if type(value) in _PLAIN:  # nearly all are: quicker than to ask for each kind below
        return str(value) or "empty"
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e15 else f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {said(item)}" for name, item in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(said, value)) or "none"
    return str(value) or "empty"


def compared(details: Mapping[str, Any]) -> str:
    """Return the compared values in one line."""
    return ", ".join(f"{name} {said(value)}" for name, value in details.items())


def some(queues: list[str]) -> str:
    """Return the first of some names, and the number of others."""
    rest = len(queues) - _SHOWN
    return ", ".join(queues[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


class Said(str):
    """A value in a template: ``{cap}`` is the value alone, ``{cap:job|jobs}`` is it with the word that agrees."""

    __slots__ = ()

    def __format__(self, form: str) -> str:
        one, is_counted, several = form.partition("|")
        return f"{self} {one if self == '1' else several}" if is_counted else super().__format__(form)
