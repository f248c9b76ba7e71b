"""Write a copy of an open state that appears whole under its name, or not at all."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from fairq.errors import BackupError


def write_copy(source: sqlite3.Connection, target: Path) -> None:
    """Copy the database *source* to *target*, a new file, by SQLite's online backup.

    Raises:
        BackupError: *target* exists already or cannot be written; what was there is untouched.
    """
    if os.path.lexists(target):
        raise BackupError(target=target, reason="a file of this name exists already; choose another name")
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        _fill(source, draft)
        # A link, unlike a rename, never puts itself in the place of a file that came up meanwhile.
        os.link(draft, target)
        _to_disk(target.parent)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BackupError(target=target, reason=reason) from error
    finally:
        draft.unlink(missing_ok=True)


def _fill(source: sqlite3.Connection, draft: Path) -> None:
    # Opened by the operating system first, since SQLite does not say why it cannot.
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666))
    with closing(sqlite3.connect(f"{draft.absolute().as_uri()}", uri=True)) as copy:
        source.backup(copy)


def _to_disk(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
