"""Errors that do not end a step, and that its user must see at any verbosity."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar


def _ignore(text: str) -> None:
    """Report nothing."""


LISTENER: ContextVar[Callable[[str], None]] = ContextVar("LISTENER", default=_ignore)
"""Called once for each of these errors, with one sentence."""
