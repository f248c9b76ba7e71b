"""Loaded by every Python process of a test run under libfaketime.

`time.sleep` waits for a moment of the monotonic clock, which libfaketime moves even where it leaves that clock alone:
the call fails or sleeps for years. `select` waits for a stretch of time and is not touched.
"""

from __future__ import annotations

import select
import time


def _sleep(seconds: float) -> None:
    select.select((), (), (), seconds)


time.sleep = _sleep
