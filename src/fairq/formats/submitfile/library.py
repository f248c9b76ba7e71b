"""HTCondor's ``htcondor2.Submit``; the library writes its warnings directly to stderr."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_STAMP = re.compile(r"^\d\d/\d\d/\d\d \d\d:\d\d:\d\d ")


class LibraryError(Exception):
    """The library refuses a text; the message is the library's own, perhaps empty."""


def new_submit(text: str) -> tuple[Any, list[str]]:
    """Return *text* parsed up to its first queue statement, and the lines that the library printed about it.

    Raises LibraryError.
    """
    from htcondor2 import Submit

    messages: list[str] = []
    try:
        with _stderr_lines(messages):
            submit = Submit(text.encode("utf-8", "backslashreplace").decode())
    except ValueError:
        raise LibraryError("; ".join(messages)) from None
    return submit, messages


@contextmanager
def _stderr_lines(lines: list[str]) -> Iterator[None]:
    """Collect in *lines* the output to the process's stderr inside the block."""
    sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:  # stderr is closed: nothing can be written to it
        yield
        return
    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            output.seek(0)
            text = output.read().decode("utf-8", "replace")
    lines += [_STAMP.sub("", line).strip() for line in text.splitlines() if line.strip()]
