"""Read a file named by the user (an ordinary file, a pipe or stdin) once, up to a size limit."""

from __future__ import annotations

import errno
import os
import stat
import sys
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

STANDARD_INPUT = "-"
LARGEST = 1 << 28
"""Largest size of a text that is read whole, in bytes."""

_CHUNK = 1 << 20


def standard_input() -> BinaryIO:
    """Return the standard input; raises OSError if it is closed, as by ``<&-``."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    return sys.stdin.buffer


def too_large(most: int = LARGEST) -> OSError:
    """Return the error for a text with more than *most* bytes or without end."""
    return OSError(errno.EFBIG, f"it has no end, or more than {most >> 20} MiB")


def read_bytes(name: str | Path) -> bytes:
    """Return the content of the file *name*; ``-`` is the standard input.

    A file that contains a zero byte is no text: only its beginning is returned. Raises OSError, also for a file of more
    than LARGEST bytes, or ValueError for an invalid name.
    """
    if str(name) == STANDARD_INPUT:
        return _all_of(standard_input())
    with Path(name).open("rb", buffering=0) as stream:
        return _all_of(stream)


def read_once(file: Path) -> bytes:
    """Return the content of *file* as `read_bytes` does; a pipe's content is kept, because it can be read only once."""
    found = file.stat()
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
        return read_bytes(file)
    return _remembered(os.fspath(file), found.st_dev, found.st_ino)


def read_text_once(file: Path) -> str:
    """Return the content of *file* (UTF-8) with plain line ends; raises OSError or ValueError."""
    return read_once(file).decode().replace("\r\n", "\n").replace("\r", "\n")


@lru_cache(maxsize=16)
def _remembered(name: str, _device: int, _number: int) -> bytes:
    return read_bytes(Path(name))


def _all_of(stream: BinaryIO) -> bytes:
    pieces = []
    size = 0
    while piece := stream.read(_CHUNK):
        pieces.append(piece)
        size += len(piece)
        if b"\0" in piece:
            break
        if size > LARGEST:
            raise too_large()
    return b"".join(pieces)


def says_nothing(text: str) -> bool:
    """Return whether *text* has only blanks and comments, as what a command that failed has written."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())
