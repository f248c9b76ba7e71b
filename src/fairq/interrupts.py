"""What an interrupt (SIGINT, as by Ctrl-C) does: at the start it ends the process, later it raises KeyboardInterrupt.

While modules are imported an exception would be unsafe: raised inside the import system it is lost, with a traceback.
Nothing has to be cleaned up then.
"""

from __future__ import annotations

import os
import signal
from typing import Any

INTERRUPTED = 130
"""The exit code of a command that was interrupted, as shells show it."""


def end_at_once() -> None:
    """Let an interrupt end the process without a word; one that is ignored, as under nohup, stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def as_usual() -> None:
    """Let an interrupt raise KeyboardInterrupt again, so that the command can clean up after itself."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore() -> None:
    """Let no interrupt disturb the end of the interpreter: all is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(_signal: int, _frame: Any) -> None:
    os._exit(INTERRUPTED)
