"""Append to event logs so that readers never see an incomplete event, and no event is written twice."""

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
    """Lock a log against other writers of fairq, and yield its descriptor; raises OSError."""
    descriptor = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
    try:
        try:
            is_locked = take(descriptor, Patience(_PATIENCE, Path(log)))
        except OSError:
            is_locked = True  # some file systems have no locks
        if not is_locked:
            raise OSError(errno.EAGAIN, "another process has it locked")
        yield descriptor
    finally:
        os.close(descriptor)


def write(descriptor: int, entries: Sequence[bytes]) -> None:
    """Append those *entries* to a locked log that are not yet at its end, after a crash; raises OSError."""
    text = b"".join(entries)
    size = os.fstat(descriptor).st_size
    start = max(0, size - max(_TAIL, len(text)))
    tail = os.pread(descriptor, size - start, start)
    complete = _complete_length(tail, entries, is_all=start == 0)
    if complete < len(tail):
        # Text after an incomplete event stops every reader.
        os.ftruncate(descriptor, start + complete)
        tail = tail[:complete]
    new = memoryview(text)
    ends = [0, *accumulate(map(len, entries))]
    written = next(count for count in range(len(entries), -1, -1) if tail.endswith(new[: ends[count]]))
    for begin, end in pairwise(ends[written:]):
        remaining = new[begin:end]
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]


def _complete_length(tail: bytes, entries: Sequence[bytes], *, is_all: bool) -> int:
    """Return the length of the *tail* of a log (if *is_all*, the log) without an event that a crash cut short.

    Text that does not begin an event is kept: a job can name any file as its log.
    """
    last_end = tail.rfind(b"\n" + _END)
    if tail.endswith(_END) or (last_end < 0 and not is_all):
        return len(tail)
    complete = last_end + 1 + len(_END) if last_end >= 0 else 0
    remainder = tail[complete:]
    is_torn = _EVENT.match(remainder) or any(entry.startswith(remainder) for entry in entries)
    return complete if is_torn else len(tail)
