"""Restore a terminal that a command has changed, however the command ends."""

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
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        _guard(read_end, keyboard, former, sequences.encode())
    os.close(read_end)
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(keyboard, termios.TCSADRAIN, former)
        with suppress(OSError):
            os.write(write_end, b".")
        os.close(write_end)
        os.waitpid(child, 0)


def _guard(read_end: int, keyboard: int, former: Any, sequences: bytes) -> None:
    """Wait in a child for a byte from the parent; without one, restore the terminal. It keeps no other files open."""
    with suppress(BaseException):
        for number in _IGNORED:
            signal.signal(number, signal.SIG_IGN)
        os.closerange(3, read_end)
        os.closerange(read_end + 1, 1 << 20)
        changed = former
        while changed == former and not select.select([read_end], [], [], _LOOK)[0]:
            changed = termios.tcgetattr(keyboard)
        if not os.read(read_end, 1):
            # A shell that has its own modes already keeps them.
            if termios.tcgetattr(keyboard) == changed:
                termios.tcsetattr(keyboard, termios.TCSADRAIN, former)
            os.write(1, sequences)
    os._exit(0)
