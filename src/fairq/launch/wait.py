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
"""Seconds between two checks of the file; the end of a process is noticed at once."""

_MOST = 500
"""Maximum number of processes watched by descriptors; with more, the wait is cut to `_FEW` seconds."""

_FEW = 2.0


def stamp(path: Path) -> tuple[int, ...]:
    """Return a stamp of a file (inode, size, mtime) that changes whenever its content changes; empty without a file."""
    try:
        about = path.stat()
    except OSError:
        return ()
    return about.st_ino, about.st_size, about.st_mtime_ns


def wait(path: Path, former: tuple[int, ...], watched: Collection[tuple[int, int]], seconds: float) -> bool:
    """Wait until one of the *watched* processes (number, start) ends or the stamp of *path* differs from *former*.

    Return whether this happened within *seconds*.
    """
    descriptors = []
    try:
        for pid, start in list(watched)[:_MOST]:
            if processes.start_of(pid) != start:
                return True
            with suppress(OSError):
                descriptors.append(os.pidfd_open(pid))
        poll = select.poll()
        for descriptor in descriptors:
            poll.register(descriptor, select.POLLIN)
        end = time.monotonic() + (seconds if len(watched) <= _MOST else min(seconds, _FEW))
        while (left := end - time.monotonic()) > 0:
            if poll.poll(int(1000 * min(left, SLICE)) + 1) or stamp(path) != former:
                return True
        return len(watched) > _MOST
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
