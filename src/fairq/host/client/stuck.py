"""Ends a process of the pool's program that holds a lock of the pool for long.

Its caller can make it stand still or starve, for example in a frozen control group. SQLite undoes what it has begun,
and the caller asks again.
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


def end_stuck(program: Path, place: Path, found: Sequence[Holder]) -> list[int]:
    """Kill those processes *found* holding the lock on *place* that run *program* as this user and keep the lock.

    Return when the lock has changed hands, or with the killed processes. Cycles are other programs and may take longer.
    """
    stuck = {holder.process for holder in found if _runs(holder.process, program)}
    until = time.monotonic() + LONGEST
    while stuck and time.monotonic() < until:
        time.sleep(_STEP)
        stuck &= {holder.process for holder in holders(place)}
    for process in stuck:
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)
    return sorted(stuck)


def _runs(process: int, program: Path) -> bool:
    place = Path(f"/proc/{process}")
    try:
        words = place.joinpath("cmdline").read_bytes().split(b"\0")
        return os.geteuid() in (0, place.stat().st_uid) and bytes(program) in words[:4]
    except OSError:
        return False
