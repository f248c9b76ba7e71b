"""The creation of a state file: it remains only if something is written.

The file is created complete, as an SQLite database with fairq's mark and no schema. The process with its write lock
fills it or removes it. A process that waited for that lock sees that the file is gone, and starts again.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from fairq.errors.base import BackupError
from fairq.state.copy import write_copy
from fairq.state.failures import from_os
from fairq.state.migrations import APPLICATION_ID, is_unborn


def create_unborn(path: Path) -> None:
    """Create the file at *path*, unless another process was faster; raises the state's errors."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as unborn:
        unborn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        try:
            write_copy(unborn, path)
        except BackupError as error:
            cause = error.__cause__
            if isinstance(cause, sqlite3.Error):
                raise cause from None
            if isinstance(cause, OSError) and not isinstance(cause, FileExistsError):
                raise from_os(cause, path, "create") from cause


def remove_unborn(connection: sqlite3.Connection, path: Path, opened: os.stat_result) -> None:
    """Remove the file at *path*, which *connection* has open as *opened*, if it is still empty."""
    with suppress(sqlite3.Error, OSError):
        # Another process that waited for the lock has it now: then the file is that one's concern.
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if is_unborn(connection) and os.path.samestat(path.stat(), opened):
                path.unlink()
        finally:
            connection.rollback()
