"""stdout and stderr: characters that they cannot encode are escaped, and unwritable output is an error."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from typing import Any

from fairq.errors.base import OutputError

_STDOUT, _STDERR = 1, 2
_BUFFER = 1 << 16


class _Output(io.FileIO):
    """The descriptor of stdout; an error of the operating system becomes OutputError."""

    def write(self, data: Any) -> int:
        try:
            while (count := super().write(data)) is None:
                # Another process has made the pipe non-blocking, and the pipe is full.
                select.select([], [self], [])
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(reason=error.strerror or str(error)) from None
        return count


def prepare() -> None:
    """Set up stdout and stderr; characters that the locale cannot show are written as escapes.

    A stream that the caller closed (``>&-``) is opened on the null device. Otherwise, a file opened later could get its
    descriptor, and output or a library's messages would be written into it.
    """
    for descriptor in (_STDOUT, _STDERR):
        _occupy(descriptor)
    stdout = sys.stdout
    if stdout is None:
        sys.stdout = _reopened(_STDOUT)
    elif sys.__stdout__ is not None and stdout is sys.__stdout__:
        stdout.flush()
        sys.stdout = _checked(stdout)
    if sys.stderr is None:
        sys.stderr = _reopened(_STDERR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def close() -> None:
    """Flush the remaining output; if nobody reads it, keep the interpreter from complaining at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, OutputError):
            _redirect_to_null(stream)


def drop_output() -> None:
    """Drop the unwritten output: its reader may never read it, and the user wants to stop."""
    _redirect_to_null(sys.stdout)


def _redirect_to_null(stream: Any) -> None:
    """Redirect *stream* to the null device."""
    with contextlib.suppress(OSError):  # not a file: replaced by a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _occupy(descriptor: int) -> None:
    """Open the null device at *descriptor* if it is closed."""
    try:
        os.fstat(descriptor)
    except OSError:
        null_device = os.open(os.devnull, os.O_WRONLY)
        if null_device != descriptor:
            os.dup2(null_device, descriptor)
            os.close(null_device)


def _reopened(descriptor: int) -> io.TextIOWrapper:
    return open(descriptor, "w", encoding="utf-8", closefd=False)


def _checked(stream: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(_Output(stream.fileno(), "w", closefd=False), _BUFFER),
        encoding=stream.encoding,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
