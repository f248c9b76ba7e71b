"""Progress of long work: on stderr, only on a terminal, and only if the work takes long."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fairq.cli.output import activity

PATIENCE = 0.5
"""Seconds before a bar appears."""


@contextmanager
def progress(label: str, total: int, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of newly finished steps, of *total*; it draws a bar named *label*."""
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _silent
        return
    bar = _Bar(label, total)
    try:
        yield bar.advance
    finally:
        bar.stop()


def _silent(steps: int) -> None:
    """Draw nothing."""


class _Bar:
    def __init__(self, label: str, total: int) -> None:
        self._label, self._total = label, total
        self._done = 0
        self._start = time.monotonic()
        self._drawn: Any = None
        self._task: Any = None

    def advance(self, steps: int) -> None:
        self._done += steps
        if self._drawn is None:
            if time.monotonic() - self._start < PATIENCE:
                return
            self._draw()
        self._drawn.update(self._task, completed=self._done)

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        activity.end()
        self._drawn = Progress(console=Console(file=sys.stderr), transient=True)
        self._task = self._drawn.add_task(self._label, total=self._total)
        self._drawn.start()

    def stop(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()
