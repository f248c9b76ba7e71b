"""Convert errors of SQLite and the operating system to fairq's errors."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairq.errors.base import (
    FairqError,
    InvalidNameError,
    StateDamagedError,
    StateError,
    StateForeignError,
    StateFullError,
    StateLockedError,
    StatePermissionError,
    StateReadOnlyError,
)

_PRIMARY_CODE = 0xFF
"""SQLite's extended result codes keep the primary one in the low byte."""

STORAGE_ERROR = sqlite3.Error
"""An error of SQLite before `mapped` has converted it."""

BUSY_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code of an error, 0 if the error did not come from SQLite."""
    return int(getattr(error, "sqlite_errorcode", 0)) & _PRIMARY_CODE


@contextmanager
def mapped(path: Path, wait: float) -> Iterator[None]:
    """Run the body; convert an error of SQLite to one of fairq's, with its cause.

    The same applies to text that SQLite cannot store: bytes of a command line that are not Unicode. Other errors are
    reported as damage if a record of the state is damaged.
    """
    try:
        yield
    except UnicodeEncodeError as error:
        expected = "the state holds Unicode text only"
        raise InvalidNameError(what="a text", value=error.object, expected=expected) from error
    except (FairqError, MemoryError, OSError):
        raise
    except Exception as error:
        # SQLite has no code, or that of a wrong statement, for a text that cannot be read.
        of_reading = not isinstance(error, sqlite3.Error) or primary_code(error) in (0, sqlite3.SQLITE_ERROR)
        if of_reading and (reason := _damage(path)):
            raise StateDamagedError(state=path, reason=reason) from error
        if isinstance(error, sqlite3.Error):
            raise from_sqlite(error, path, wait) from error
        raise


def _damage(path: Path) -> str | None:
    from fairq.state.damage import first_damage

    return first_damage(path) if path.exists() else None


def from_sqlite(error: sqlite3.Error, path: Path, wait: float) -> FairqError:
    """Return fairq's error for an error of SQLite on the file *path*; *wait* is the time spent waiting for a lock."""
    match primary_code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            result: FairqError = StateLockedError(what=f"the state file {path}", wait=wait, place=path)
        case sqlite3.SQLITE_NOTADB:
            cure = "move it away and restore a backup with 'fairq state restore'"
            problem = f"it is not an SQLite file, or its beginning is damaged; if it is the state, {cure}"
            result = StateForeignError(state=path, found=problem)
        case sqlite3.SQLITE_CORRUPT:
            result = StateDamagedError(state=path, reason=error)
        case sqlite3.SQLITE_FULL:
            result = StateFullError(state=path)
        case sqlite3.SQLITE_READONLY:
            result = StateReadOnlyError(state=path, reason=_why_read_only(error))
        case _:
            result = StateError(state=path, reason=error)
    return result


def _why_read_only(error: sqlite3.Error) -> str:
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
        return "a write to it was interrupted, and must be undone by somebody who may write it"
    return str(error)


def from_os(error: OSError, path: Path, action: str) -> FairqError:
    """Return fairq's error for an error of the operating system in an *action* on the state file *path*."""
    if error.errno in {errno.EACCES, errno.EPERM}:
        return StatePermissionError(action=action, state=path, reason=error.strerror)
    if error.errno == errno.EROFS:
        return StateReadOnlyError(state=path, reason="the file system is read-only")
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StateFullError(state=path)
    return StateError(state=path, reason=error.strerror or error)
