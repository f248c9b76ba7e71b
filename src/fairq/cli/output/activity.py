"""A status line for long commands: on stderr, only on a terminal, after two seconds.

A timer signal draws it, not a thread: expression evaluation forks, and a forked process does not inherit the timer.
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
"""Seconds before the line appears."""

_EVERY = 0.25
_FRAMES = "|/-\\"
_CLEAR = "\r\x1b[K"
_STDERR = 2


class _Line:
    """The status line; there is at most one."""

    def __init__(self, name: str) -> None:
        self.what = name
        self.is_drawn = False
        self._start = time.monotonic()
        self._former = signal.signal(signal.SIGALRM, self._draw)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE, _EVERY)

    def _draw(self, *_: Any) -> None:
        seconds = time.monotonic() - self._start
        text = f"{_FRAMES[int(seconds / _EVERY) % len(_FRAMES)]} {self.what}: {int(seconds)} s"
        # Not through sys.stderr, which may be in the middle of writing.
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
def activity(name: str, quiet: bool) -> Iterator[None]:
    """Show *name* as the current activity during the body, until something is printed."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if quiet or _lines or not in_main_thread or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    _lines.append(_Line(name))
    try:
        yield
    finally:
        end()


def doing(name: str) -> None:
    """Show *name* as the current activity."""
    for line in _lines:
        line.what = name


def clear() -> None:
    """Clear the line for a message on stderr; the line comes back."""
    for line in _lines:
        line.clear()


def end() -> None:
    """Remove the line permanently: the result is being shown, or a bar shows the progress."""
    while _lines:
        _lines.pop().end()
