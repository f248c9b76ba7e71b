"""Append to event logs so that readers never see a torn event, and no event is written twice."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path

from fairq.common.lock_wait import Patience, take

_PATIENCE = 1.0
"""Seconds to wait for a log that another process has locked; a turn must not wait for a user's process."""

_END = b"...\n"
_EVENT = re.compile(rb"\d{3} \(\d+\.\d+\.\d+\) ")
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
    text = b"".join(entries)
    size = os.fstat(descriptor).st_size
    start = max(0, size - max(_TAIL, len(text)))
    tail = os.pread(descriptor, size - start, start)
    whole = _whole(tail, entries, is_all=start == 0)
    if whole < len(tail):
        # Text after an incomplete event stops every reader.
        os.ftruncate(descriptor, start + whole)
        tail = tail[:whole]
    new = memoryview(text)
    ends = [0, *accumulate(map(len, entries))]
    there = next(count for count in range(len(entries), -1, -1) if tail.endswith(new[: ends[count]]))
    for begin, end in pairwise(ends[there:]):
        left = new[begin:end]
        while left:
            left = left[os.write(descriptor, left) :]


def _whole(tail: bytes, entries: Sequence[bytes], *, is_all: bool) -> int:
    """Return the length of the *tail* of a log (or, if *is_all*, of the log) without an event that a crash cut short.

    What is not the beginning of an event stays: a job can name any file as its log.
    """
    last = tail.rfind(b"\n" + _END)
    if tail.endswith(_END) or (last < 0 and not is_all):
        return len(tail)
    whole = last + 1 + len(_END) if last >= 0 else 0
    rest = tail[whole:]
    is_torn = _EVENT.match(rest) or any(entry.startswith(rest) for entry in entries)
    return whole if is_torn else len(tail)
