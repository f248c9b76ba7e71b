"""The locks that let one negotiation cycle, and one brokerage run, at a time work on a state file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairq.common.files import NEW_MODE, is_at, resemble
from fairq.errors.base import CycleUnderWayError, StateError
from fairq.state.failures import from_os
from fairq.state.location import exists, make_directory, resolve_for_writing

CYCLE = "negotiation cycle"
BROKERAGE = "brokerage run"
MAIL = "mail about ends"
_SUFFIXES = {CYCLE: ".cycle", BROKERAGE: ".broker", MAIL: ".mail"}


def lock_file(state: Path, what: str = CYCLE) -> Path:
    """Return the file beside the file *state* that `cycle_lock` locks."""
    return Path(f"{state}{_SUFFIXES[what]}")


@contextmanager
def cycle_lock(path: Path, what: str = CYCLE) -> Iterator[None]:
    """Hold the lock of *what* on a state file; the system lets go of it however the process ends.

    The lock is on a file `<state>.cycle` (or `.broker`, `.mail`) beside the state file, which is gone again afterwards.
    Who may open it is who may open the state.

    Raises:
        CycleUnderWayError: another process holds it.
    """
    state = resolve_for_writing(path)
    like = state.stat() if exists(state) else None
    sidecar = lock_file(state, what)
    make_directory(state)
    try:
        descriptor = _take(state, sidecar, what, like)
    except OSError as error:
        if os.path.islink(sidecar):  # noqa: PTH114 - Path's own raises for a name that is too long
            raise StateError(state=state, reason=f"{sidecar} is a symbolic link; remove it") from error
        raise from_os(error, state, "lock") from error
    try:
        yield
    finally:
        with suppress(OSError):  # another user's, left over in a directory where each removes only his own
            sidecar.unlink()
        os.close(descriptor)


def _take(state: Path, sidecar: Path, what: str, like: os.stat_result | None) -> int:
    mode = NEW_MODE if like is None else like.st_mode & NEW_MODE
    while True:
        descriptor = os.open(sidecar, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise CycleUnderWayError(what=what, state=state) from error
        if is_at(descriptor, sidecar):
            if like is not None:
                with suppress(OSError):  # left over by another user who may write the state
                    resemble(descriptor, like)
            return descriptor
        # The holder before us removed the file between our open and our lock: that lock guards nothing.
        os.close(descriptor)
