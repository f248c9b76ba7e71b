"""A terminal that is as it was before, however a command ends that has changed it."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP, signal.SIGTTOU)

_LOOK = 0.2
"""Seconds between two looks at the modes, until the command has changed them."""


@contextmanager
def guarded_terminal(sequences: str = "") -> Iterator[None]:
    """Restore the modes of the terminal at the end of the body.

    If this process is killed, a child restores them, and writes *sequences* to the terminal.
    """
    keyboard = sys.stdin.fileno()
    former = termios.tcgetattr(keyboard)
    hear, say = os.pipe()
    child = os.fork()
    if child == 0:
        _guard(hear, keyboard, former, sequences.encode())
    os.close(hear)
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(keyboard, termios.TCSADRAIN, former)
        with suppress(OSError):
            os.write(say, b".")
        os.close(say)
        os.waitpid(child, 0)


def _guard(hear: int, keyboard: int, former: Any, sequences: bytes) -> None:
    """Wait in a child until the parent says that it has ended; else restore the terminal. It keeps no other files."""
    with suppress(BaseException):
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        os.closerange(3, hear)
        os.closerange(hear + 1, 1 << 20)
        changed = former
        while changed == former and not select.select([hear], [], [], _LOOK)[0]:
            changed = termios.tcgetattr(keyboard)
        if not os.read(hear, 1):
            # A shell that has its own modes already keeps them.
            if termios.tcgetattr(keyboard) == changed:
                termios.tcsetattr(keyboard, termios.TCSADRAIN, former)
            os.write(1, sequences)
    os._exit(0)
