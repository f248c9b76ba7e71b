"""Whether a request was fulfilled before: the same request can come again after a lost answer."""

from __future__ import annotations

from pathlib import Path

from fairq.state.connection import reading
from fairq.state.history import is_fulfilled


def was_fulfilled(state: Path, request: str) -> bool:
    """Return whether the pool has fulfilled the request with this id."""
    with reading(state) as connection:
        return is_fulfilled(connection, request)
