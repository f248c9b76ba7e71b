"""Append to event logs so that readers never see a torn event, and no event is written twice."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fairq.waiting import Patience, take

_PATIENCE = 1.0
"""Seconds to wait for a log that another process has locked; a turn must not wait for a user's process."""

_END = b"...\n"
_TAIL = 65536


def append(log: str, entries: Sequence[bytes]) -> None:
    """Append the *entries* that are not yet at the end of the file *log*; raises OSError."""
    with locked(log) as descriptor:
        write(descriptor, entries)


@contextmanager
def locked(log: str) -> Iterator[int]:
    """Provide the descriptor of a log, which no other writer of fairq has meanwhile; raises OSError."""
    descriptor = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    try:
        try:
            is_mine = take(descriptor, Patience(_PATIENCE, Path(log)))
        except OSError:
            is_mine = True  # some file systems have no locks
        if not is_mine:
            raise OSError(errno.EAGAIN, "another process has it locked")
        yield descriptor
    finally:
        os.close(descriptor)


def write(descriptor: int, entries: Sequence[bytes]) -> None:
    """Append those *entries* to a locked log that a crash has not let be written before; raises OSError."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - _TAIL)
    tail = os.pread(descriptor, _TAIL, start)
    if tail and not tail.endswith(_END):
        # Text after an incomplete event stops every reader: truncate the log after its last complete event.
        whole = tail.rfind(b"\n" + _END)
        kept = whole + 1 + len(_END) if whole >= 0 else 0
        if whole >= 0 or start == 0:
            os.ftruncate(descriptor, start + kept)
            tail = tail[:kept]
    there = next(count for count in range(len(entries), -1, -1) if tail.endswith(b"".join(entries[:count])))
    for entry in entries[there:]:
        os.write(descriptor, entry)
