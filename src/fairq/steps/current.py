"""The settings of the command that runs, for what lies so deep in a listing that nobody hands them down."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairq.settings import Settings

settings_in_force: ContextVar[Callable[[], Settings]] = ContextVar("settings_in_force")
"""Returns them; they are read when first asked for."""
