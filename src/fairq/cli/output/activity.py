"""What a long command is doing: one line on stderr, on a terminal only, once it takes longer than two seconds.

A timer's signal draws it, not a thread: the evaluation of expressions forks, and a fork takes no timer along.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0
"""Seconds of silence before the line appears."""

_EVERY = 0.25
_FRAMES = "|/-\\"
_CLEAR = "\r\x1b[K"
_STDERR = 2


class _Line:
    """The line; there is one at most."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.is_drawn = False
        self._start = time.monotonic()
        self._former = signal.signal(signal.SIGALRM, self._draw)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE, _EVERY)

    def _draw(self, *_: Any) -> None:
        seconds = time.monotonic() - self._start
        text = f"{_FRAMES[int(seconds / _EVERY) % len(_FRAMES)]} {self.what}: {int(seconds)} s"
        # Not by way of sys.stderr, which may be in the middle of writing.
        with contextlib.suppress(OSError):
            os.write(_STDERR, f"{_CLEAR}{text[: os.get_terminal_size(_STDERR).columns - 1]}".encode())
            self.is_drawn = True

    def clear(self) -> None:
        if self.is_drawn:
            self.is_drawn = False
            with contextlib.suppress(OSError):
                os.write(_STDERR, _CLEAR.encode())

    def end(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._former)
        self.clear()


_lines: list[_Line] = []


@contextmanager
def activity(what: str, quiet: bool) -> Iterator[None]:
    """Say that *what* is going on as long as it does, until something is printed."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if quiet or _lines or not in_main_thread or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    _lines.append(_Line(what))
    try:
        yield
    finally:
        end()


def doing(what: str) -> None:
    """Say that *what* is going on now."""
    for line in _lines:
        line.what = what


def clear() -> None:
    """Make room for a message on stderr; the line comes back."""
    for line in _lines:
        line.clear()


def end() -> None:
    """Take the line away for good: the result is being shown, or a bar shows the progress."""
    while _lines:
        _lines.pop().end()
