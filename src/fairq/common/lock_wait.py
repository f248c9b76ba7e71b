"""Wait for another process's lock: for a limited time, with a message."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from pathlib import Path

from msgspec import Struct

WAIT = 60.0
"""Seconds that a command waits for another process's lock before it gives up."""

_SILENCE = 2.0
"""Seconds of waiting before the listener is called."""

_NAP = 0.05


class Holder(Struct, frozen=True):
    """A process that holds a lock: its number, and its command line if that can be seen."""

    process: int
    command: str


Listener = Callable[[Path, Sequence[Holder]], None]


def _ignore(path: Path, holders: Sequence[Holder]) -> None:
    """Report nothing."""


LISTENER: ContextVar[Listener] = ContextVar("LISTENER", default=_ignore)
"""Called once for every long wait, with the locked path and the known lock holders (none if unknown)."""


class Patience:
    """Limits the wait for the lock on *path* to *seconds*."""

    def __init__(self, seconds: float, path: Path) -> None:
        self._start = time.monotonic()
        self._seconds = seconds
        self._path = path
        self._has_reported = False

    def lasts(self) -> bool:
        """Return whether to try again."""
        waited = time.monotonic() - self._start
        if waited >= self._seconds:
            return False
        if waited >= _SILENCE and not self._has_reported:
            self._has_reported = True
            LISTENER.get()(self._path, holders(self._path))
        return True


def take(descriptor: int, patience: Patience) -> bool:
    """Take the lock (flock) of an open file; False if another process held it until the time limit. Raises OSError."""
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if not patience.lasts():
                return False
            time.sleep(_NAP)


def holders(path: Path) -> list[Holder]:
    """Return the other processes that hold a lock on *path*: the writers, else the readers.

    The kernel's list names a file by device and inode. Without a list, or if it shows another device (as on some
    network and overlay file systems), none are found.
    """
    try:
        status = path.stat()
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    by_kind: dict[str, set[int]] = {"WRITE": set(), "READ": set()}
    for line in lines:
        # 2: POSIX  ADVISORY  WRITE 4711 fe:00:2146415 1073741825 1073741825
        words = line.split()
        if len(words) == 8 and words[5] == file and words[3] in by_kind and words[4].isdigit():
            by_kind[words[3]].add(int(words[4]))
    others = [numbers - {0, os.getpid()} for numbers in by_kind.values()]
    return [Holder(number, _command(number)) for number in sorted(others[0] or others[1])]


def _command(process: int) -> str:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    return os.fsdecode(words.rstrip(b"\0").replace(b"\0", b" "))
