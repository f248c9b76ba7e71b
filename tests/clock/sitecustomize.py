"""Loaded by every Python process of a test run under libfaketime.

`time.sleep` waits for a moment of the monotonic clock, which libfaketime moves even where it leaves that clock alone:
the call fails or sleeps for years. `select` waits for a stretch of time and is not touched.

libfaketime keeps a file of its own open. In a process that starts with a standard stream closed, it takes its number.
"""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path


def _sleep(seconds: float) -> None:
    select.select((), (), (), seconds)


def _is_of_libfaketime(descriptor: int) -> bool:
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith("/dev/shm/faketime_")
    except OSError:
        return False


time.sleep = _sleep
for _number, _stream in enumerate(("stdin", "stdout", "stderr")):
    if _is_of_libfaketime(_number):
        os.close(_number)
        setattr(sys, _stream, None)
        setattr(sys, f"__{_stream}__", None)
