"""The locks that let one negotiation cycle, and one brokerage run, at a time work on a state file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairq.errors import CycleUnderWayError
from fairq.state.failures import from_os
from fairq.state.location import exists, resolve

CYCLE = "negotiation cycle"
BROKERAGE = "brokerage run"
_SUFFIXES = {CYCLE: ".cycle", BROKERAGE: ".broker"}


@contextmanager
def cycle_lock(path: Path, what: str = CYCLE) -> Iterator[None]:
    """Hold the lock of *what* on a state file; the system lets go of it however the process ends.

    The lock is on a file `<state>.cycle` (or `.broker`) beside the state file, which is gone again afterwards.

    Raises:
        CycleUnderWayError: another process holds it.
    """
    state = resolve(path)
    exists(state)  # refuses a directory and the like, before anything is made beside it
    sidecar = Path(f"{state}{_SUFFIXES[what]}")
    try:
        state.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _take(state, sidecar, what)
    except OSError as error:
        raise from_os(error, state, "lock") from error
    try:
        yield
    finally:
        sidecar.unlink(missing_ok=True)
        os.close(descriptor)


def _take(state: Path, sidecar: Path, what: str) -> int:
    while True:
        descriptor = os.open(sidecar, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, sidecar):
                return descriptor
        except BlockingIOError as error:
            os.close(descriptor)
            raise CycleUnderWayError(what=what, state=state) from error
        # The holder before us removed the file between our open and our lock: that lock guards nothing.
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
