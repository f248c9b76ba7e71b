"""The settings of the running command, for code deep in a listing that does not get them as an argument."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairq.settings import Settings

settings_in_force: ContextVar[Callable[[], Settings]] = ContextVar("settings_in_force")
"""Returns the settings, which are read at first use."""
