"""Copies of the state for people who may not open it, so that no reader can hold a lock on it.

The copy for everybody lies beside the state and is replaced atomically. Its modification time is that of the state
when it was copied: a copy with the same time as the state is up to date. A copy for one person is made in memory.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from fairq.common import files
from fairq.common.lock_wait import WAIT, Patience, take
from fairq.errors.base import StateLockedError
from fairq.state import checksums
from fairq.state.connection import reading
from fairq.state.failures import mapped
from fairq.state.hidden import hide

_FOLDER = "public"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_TICK = 0.02
"""Seconds after which a later change certainly has a later modification time."""

_OUTDATED = 1
"""A modification time that no state has: the copy counts for who asked for it, but is outdated for the next one."""

_SPARE = 4
"""Multiple of the size of the state that must be free on the disk for a copy: readers may keep old ones open."""


def public_copy(state: Path) -> Path:
    """Return the path of the copy for everybody; it changes with each boot, because the copy is not synced to disk."""
    boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
    return state.parent / _FOLDER / f"{boot[:8]}-{state.name}"


def time_of(file: Path) -> int | None:
    """Return the modification time of *file* in nanoseconds, or None if it is not there or cannot be seen."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return None


def publish(state: Path) -> Path | None:
    """Bring the copy for everybody up to date and return its path, or None if the disk has no room for it.

    Many processes may do this at once: one copies, the others wait for it.
    """
    target = public_copy(state)
    with mapped(state, WAIT), _one_at_a_time(state.parent / "copying.lock"):
        if time_of(state) == time_of(target):
            return target
        about = os.statvfs(state.parent)
        if about.f_bavail * about.f_frsize < _SPARE * state.stat().st_size:
            return None
        target.parent.mkdir(mode=0o755, exist_ok=True)
        target.parent.chmod(0o755)
        with files.draft(state.parent) as place:
            draft = place / "copy.db"
            copied_at = _settled_time(state)
            with reading(state) as opened, closing(sqlite3.connect(draft.as_uri(), uri=True)) as copy:
                opened.connection.backup(copy)
            draft.chmod(0o644)
            os.utime(draft, ns=(copied_at, copied_at))
            draft.replace(target)
        for other in target.parent.iterdir():
            if other != target:
                other.unlink(missing_ok=True)
    return target


def withdraw(state: Path) -> None:
    """Remove the copies for everybody."""
    with suppress(FileNotFoundError):
        for copy in (state.parent / _FOLDER).iterdir():
            copy.unlink(missing_ok=True)


def copy_for(state: Path, user: str | None) -> tuple[bytes, int]:
    """Return a copy of the state without the secrets of others than *user* (None: complete), and its time.

    A copy with the time `_OUTDATED` is outdated when it is next needed.
    """
    if not state.exists():
        return b"", _OUTDATED
    copied_at = _settled_time(state)
    with mapped(state, WAIT), closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        checksums.register(copy)
        with reading(state) as opened:
            opened.connection.backup(copy)
        if user is not None:
            hide(copy, user)
        return copy.serialize(), copied_at


def _settled_time(state: Path) -> int:
    """Return the modification time of the state, which every later change will change."""
    if time.time() - state.stat().st_mtime < _TICK:
        time.sleep(_TICK)
    found = state.stat()
    return found.st_mtime_ns if abs(time.time() - found.st_mtime) >= _TICK else _OUTDATED


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if not take(descriptor, Patience(WAIT, lock)):
            raise StateLockedError(what=lock, wait=WAIT, place=lock)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def one_copy_each(state: Path, uid: int) -> Iterator[None]:
    """Let one copy at a time be made and sent to the user *uid*, who could otherwise fill the memory."""
    folder = state.parent / "readers"
    folder.mkdir(mode=0o700, exist_ok=True)
    with _one_at_a_time(folder / str(uid)):
        yield
