"""Wait, without busy waiting, until processes end or a file changes."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from fairq.launch import processes

SLICE = 0.25
"""Seconds between two checks of the file; the end of a process wakes at once."""

_MOST_WATCHED = 500
"""Maximum number of processes watched by descriptors; with more, the wait is cut to `_SHORT_WAIT` seconds."""

_SHORT_WAIT = 2.0


def stamp(path: Path) -> tuple[int, ...]:
    """Return a stamp of a file (inode, size, mtime) that changes whenever its content changes; empty without a file."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


def wait(path: Path, former: tuple[int, ...], watched: Collection[tuple[int, int]], seconds: float) -> bool:
    """Wait until one of the *watched* processes (number, start) ends or the stamp of *path* differs from *former*.

    Return whether this happened within *seconds*.
    """
    descriptors = []
    try:
        for pid, start in list(watched)[:_MOST_WATCHED]:
            if processes.start_of(pid) != start:
                return True
            with suppress(OSError):
                descriptors.append(os.pidfd_open(pid))
        poll = select.poll()
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        deadline = time.monotonic() + (seconds if len(watched) <= _MOST_WATCHED else min(seconds, _SHORT_WAIT))
        while (remaining := deadline - time.monotonic()) > 0:
            if poll.poll(int(1000 * min(remaining, SLICE)) + 1) or stamp(path) != former:
                return True
        return len(watched) > _MOST_WATCHED
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
