"""Handling of interrupts (SIGINT, Ctrl-C): at the start they end the process, later they raise KeyboardInterrupt.

During imports an exception is unsafe: the import system may lose it and print a traceback. At that time, there is
nothing to clean up.
"""

from __future__ import annotations

import os
import signal
from typing import Any

INTERRUPTED = 130
"""Exit code of an interrupted command, as shells show it."""


def end_at_once() -> None:
    """Let an interrupt end the process silently; keep interrupts ignored if they are (as under nohup)."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def as_usual() -> None:
    """Let an interrupt raise KeyboardInterrupt again, for the command to clean up."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore() -> None:
    """Ignore interrupts while the interpreter ends: all work is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(_signal: int, _frame: Any) -> None:
    os._exit(INTERRUPTED)
