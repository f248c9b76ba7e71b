"""Ends a process of the pool's program that holds a lock of the pool too long.

Its caller can stop or starve it, for example in a frozen control group. SQLite undoes its unfinished change, and the
caller asks again.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fairq.common.lock_wait import Holder, holders

LONGEST = 8.0
"""Seconds for which the program may hold a lock. A change takes milliseconds, the copy of a large state a second."""

_STEP = 0.2


def end_stuck(program: Path, path: Path, lock_holders: Sequence[Holder]) -> list[int]:
    """Kill those of *lock_holders*, which hold the lock on *path*, that run *program* as this user and keep the lock.

    Return when the lock has changed hands, or with the killed processes. Cycles are other programs and may take longer.
    """
    stuck = {holder.process for holder in lock_holders if _runs(holder.process, program)}
    deadline = time.monotonic() + LONGEST
    while stuck and time.monotonic() < deadline:
        time.sleep(_STEP)
        stuck &= {holder.process for holder in holders(path)}
    for process in stuck:
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)
    return sorted(stuck)


def _runs(process: int, program: Path) -> bool:
    directory = Path(f"/proc/{process}")
    try:
        words = directory.joinpath("cmdline").read_bytes().split(b"\0")
        return os.geteuid() in (0, directory.stat().st_uid) and bytes(program) in words[:4]
    except OSError:
        return False
