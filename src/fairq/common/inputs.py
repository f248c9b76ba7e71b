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
"""Largest size in bytes of a text that is read into memory."""

_CHUNK = 1 << 20


def standard_input() -> BinaryIO:
    """Return the standard input; raises OSError if it is closed, as by ``<&-``."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed")
    return sys.stdin.buffer


def too_large(most: int = LARGEST) -> OSError:
    """Return the error for a text of more than *most* bytes, or without end."""
    return OSError(errno.EFBIG, f"it has no end, or more than {most >> 20} MiB")


def read_bytes(name: str | Path) -> bytes:
    """Return the content of the file *name*; ``-`` is the standard input.

    A file that contains a zero byte is no text: return only its beginning. Raises OSError, also for a file of more than
    LARGEST bytes, or ValueError for an invalid name.
    """
    if str(name) == STANDARD_INPUT:
        return _read_all(standard_input())
    with Path(name).open("rb", buffering=0) as stream:
        return _read_all(stream)


def read_once(file: Path) -> bytes:
    """Return the content of *file* as `read_bytes` does; a pipe's content is kept, because it can be read only once."""
    status = file.stat()
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return read_bytes(file)
    return _read_pipe(os.fspath(file), status.st_dev, status.st_ino)


def read_text_once(file: Path) -> str:
    """Return the content of *file* (UTF-8) with plain line ends; raises OSError or ValueError."""
    return read_once(file).decode().replace("\r\n", "\n").replace("\r", "\n")


@lru_cache(maxsize=16)
def _read_pipe(name: str, _device: int, _number: int) -> bytes:
    return read_bytes(Path(name))


def _read_all(stream: BinaryIO) -> bytes:
    chunks = []
    size = 0
    while chunk := stream.read(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if b"\0" in chunk:
            break
        if size > LARGEST:
            raise too_large()
    return b"".join(chunks)


def says_nothing(text: str) -> bool:
    """Return whether *text* has only blanks and comments, e.g. the output of a failed command."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())
