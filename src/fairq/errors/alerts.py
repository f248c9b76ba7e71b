"""Errors that a step survives, and that its user must see whatever the verbosity."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar


def _unheard(text: str) -> None:
    """Report nothing."""


LISTENER: ContextVar[Callable[[str], None]] = ContextVar("LISTENER", default=_unheard)
"""Called once for each of these errors, with one sentence."""
