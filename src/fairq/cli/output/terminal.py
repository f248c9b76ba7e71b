"""The properties of the terminal: whether there is one, its width, and whether it shows colour.

``FORCE_COLOR`` forces the terminal's table in a pipe; ``NO_COLOR`` and ``TERM=dumb`` are respected.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TextIO

from msgspec import Struct


class Style(Struct, frozen=True):
    """How to draw on a terminal: *width* in cells (None: unlimited), and whether in colour.

    *dots* replace the part that is cut out of a text.
    """

    width: int | None
    colour: bool
    dots: str = "…"


def style(stream: TextIO) -> Style | None:
    """Return how to draw on *stream*, or None if it takes plain text."""
    no_colour = bool(os.environ.get("NO_COLOR"))
    forced = bool(os.environ.get("FORCE_COLOR")) and not no_colour
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    if not terminal and not forced:
        return None
    return Style(width=_columns(stream), colour=not no_colour, dots=".." if is_plain(stream) else "…")


def is_plain(stream: TextIO) -> bool:
    """Return whether *stream* can only show ASCII."""
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    encoding = (stream.encoding or "ascii").lower().replace("-", "")
    return encoding != "utf8" or locale == "C" or os.environ.get("TERM") == "dumb"


def _columns(stream: TextIO) -> int | None:
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        return None
    size = 0
    if not os.environ.get("COLUMNS", "").isdigit():
        with contextlib.suppress(OSError):  # the stream of a frame that is drawn anew has no file
            size = os.get_terminal_size(stream.fileno()).columns
    return max(size or shutil.get_terminal_size().columns, 20)
