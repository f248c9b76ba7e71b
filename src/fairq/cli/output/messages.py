"""What is said on stderr: one line each, whatever data it quotes."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable
from contextvars import ContextVar

from fairq.cli.output import activity
from fairq.cli.output.text import escape
from fairq.quoting import shortened_sentence

_LINE_END = re.compile(r"\s*\n\s*")


NOTE: ContextVar[Callable[[str], None]] = ContextVar("NOTE", default=lambda _: None)
"""Tells the user something beside the data; set by each run, which knows whether it is quiet."""


def tell(text: str) -> None:
    """Write *text* as one line on stderr, the long values that it quotes shortened.

    A message that cannot be written is lost: the outcome of the command does not depend on it.
    """
    activity.clear()
    with contextlib.suppress(OSError):
        sys.stderr.write(escape(_LINE_END.sub(" ", shortened_sentence(text.strip()))) + "\n")


def tell_error(error: object) -> None:
    """Tell *error* the way a command ends with one."""
    tell(f"fairq: {error}")
