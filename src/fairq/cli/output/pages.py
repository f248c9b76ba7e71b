"""A long table, printed page by page while it is being read.

A reader of the state makes its writers wait. Before the table's source is released, nothing is written for which
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
"""Number of pages printed before everything is read. By then, a program such as head has enough and has ended."""

_PATIENCE = 100
"""Milliseconds to wait for the reader of stdout while the source is not released."""


def write(table: Table, drawing: Drawing, first: Sequence[Record], remaining: Iterator[Record], stream: TextIO) -> None:
    """Print *table* as *drawing* lays it out: its *first* records, and the *remaining* ones as they are read."""
    release, page, number = table.release, first, 0
    while page:
        text = "".join(line + "\n" for line in drawing.lines(page))
        number += 1
        if release is None:
            stream.write(text)
        else:
            data = text.encode(stream.encoding or "utf-8", stream.errors or "strict")
            unwritten = _write_without_waiting(data, stream)
            if unwritten or number == _EARLY:
                release()
                release = None
            if len(unwritten) == len(data):
                stream.write(text)
            elif unwritten:
                stream.buffer.write(unwritten)
        page = list(islice(remaining, _PAGE))


def _write_without_waiting(data: memoryview | bytes, stream: TextIO) -> memoryview | bytes:
    """Write the part of *data* that *stream* takes without waiting; return the unwritten part."""
    descriptor = _open_without_waiting(stream)
    if descriptor is None:
        return data
    unwritten = memoryview(data)
    try:
        stream.flush()
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        while unwritten and poll.poll(_PATIENCE):
            unwritten = unwritten[os.write(descriptor, unwritten) :]
    except BrokenPipeError:
        raise
    except OSError:
        # It is full or broken: writing the remaining data to the stream itself waits, or reports the error.
        pass
    finally:
        os.close(descriptor)
    return unwritten


def _open_without_waiting(stream: TextIO) -> int | None:
    """Open the pipe or terminal of *stream* again, so that a write never waits; None if that is impossible.

    The descriptor of stdout itself is shared with other processes: it must not be changed.
    """
    try:
        mode = os.fstat(stream.fileno()).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            return os.open(f"/proc/self/fd/{stream.fileno()}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        pass
    return None
