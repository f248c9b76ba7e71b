"""A long table, printed page by page while it is being read.

Whoever reads the state keeps its writers waiting. Before the table's source is released, nothing is written for which
fairq would have to wait: the reader of stdout may be a pager, or a terminal that is stopped.
"""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TextIO

from fairq.cli.output.terminal_table import Drawing
from fairq.cli.output.view import Record, Table

_PAGE = 4096
"""Number of records of a page after the first one."""

_EARLY = 2
"""Number of pages printed before all is read. A program such as head has what it needs by then, and has ended."""

_PATIENCE = 100
"""Milliseconds to wait for the reader of stdout while the source is not released."""


def write(table: Table, drawing: Drawing, first: Sequence[Record], rest: Iterator[Record], stream: TextIO) -> None:
    """Print *table* as *drawing* lays it out: its *first* records, and the *rest* as they are read."""
    release, page, number = table.release, first, 0
    while page:
        text = "".join(line + "\n" for line in drawing.lines(page))
        number += 1
        if release is None:
            stream.write(text)
        else:
            data = text.encode(stream.encoding or "utf-8", stream.errors or "strict")
            left = _left_to_write(data, stream)
            if left or number == _EARLY:
                release()
                release = None
            if len(left) == len(data):
                stream.write(text)
            elif left:
                stream.buffer.write(left)
        page = list(islice(rest, _PAGE))


def _left_to_write(data: memoryview | bytes, stream: TextIO) -> memoryview | bytes:
    """Write of *data* what *stream* takes without waiting, and return what is left."""
    descriptor = _never_waiting(stream)
    if descriptor is None:
        return data
    left = memoryview(data)
    try:
        stream.flush()
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        while left and poll.poll(_PATIENCE):
            left = left[os.write(descriptor, left) :]
    except BrokenPipeError:
        raise
    except OSError:
        # It is full, or broken: writing the rest to the stream itself waits, or reports the error.
        pass
    finally:
        os.close(descriptor)
    return left


def _never_waiting(stream: TextIO) -> int | None:
    """Open the pipe or terminal behind *stream* once more, so that a write never waits; None if that is impossible.

    The descriptor of stdout itself is shared with other processes: it must not be changed.
    """
    try:
        mode = os.fstat(stream.fileno()).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            return os.open(f"/proc/self/fd/{stream.fileno()}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        pass
    return None
