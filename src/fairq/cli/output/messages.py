"""Messages on stderr: one line each, whatever data they quote."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable
from contextvars import ContextVar

from fairq.cli.output import activity, terminal
from fairq.cli.output.text import escape, prose
from fairq.common.excerpt import shortened_sentence

_LINE_END = r"\s*\n\s*"


NOTE: ContextVar[Callable[[str], None]] = ContextVar("NOTE", default=lambda _: None)
"""Prints a note beside the data; each run sets it, because the run knows about ``-q``."""


def tell(text: str) -> None:
    """Write *text* as one line on stderr, with long quoted values shortened; a terminal gets it wrapped at words.

    A message that cannot be written is dropped: the outcome of the command does not depend on it.
    """
    activity.clear()
    style = terminal.style(sys.stderr) if sys.stderr.isatty() else None
    line = escape(re.sub(_LINE_END, " ", shortened_sentence(text.strip())))
    with contextlib.suppress(OSError):
        sys.stderr.writelines(f"{piece}\n" for piece in prose(line, style.width if style else None))


def tell_error(error: object) -> None:
    """Print *error* in the same form as when it ends a command."""
    tell(f"fairq: {error}")
