"""The properties of the terminal: whether there is one, its width, and whether it shows colour.

``FORCE_COLOR`` forces the terminal's table in a pipe; ``NO_COLOR`` and ``TERM=dumb`` are respected.
"""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from msgspec import Struct


class Style(Struct, frozen=True):
    """How to draw on a terminal: *width* in cells (None: unlimited), and whether in colour."""

    width: int | None
    colour: bool


def style(stream: TextIO) -> Style | None:
    """Return how to draw on *stream*, or None if it takes plain text."""
    no_colour = bool(os.environ.get("NO_COLOR"))
    forced = bool(os.environ.get("FORCE_COLOR")) and not no_colour
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    if not terminal and not forced:
        return None
    return Style(width=_columns(stream.isatty()), colour=not no_colour)


def _columns(terminal: bool) -> int | None:
    if not terminal and not os.environ.get("COLUMNS", "").isdigit():
        return None
    return max(shutil.get_terminal_size().columns, 20)
