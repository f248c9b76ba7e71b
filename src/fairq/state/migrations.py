"""Upgrade a state file to the current schema, after checking that it is one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from fairq.errors.base import StateForeignError, StateNewerError
from fairq.state.schema import MIGRATIONS

APPLICATION_ID = 0x66616972
"""SQLite's mark of whose file it is: 'fair'."""


def identify(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema number of an open file; 0 is an empty file.

    Raises:
        StateForeignError: the file belongs to another program.
        StateNewerError: the schema is newer than this program.
    """
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if application in (0, APPLICATION_ID) and version == 0 and _is_empty(connection):
        return 0
    if application != APPLICATION_ID or version < 1:
        raise StateForeignError(state=path, found="it is an SQLite file of another program")
    if version > len(MIGRATIONS):
        raise StateNewerError(state=path, found=version, known=len(MIGRATIONS))
    return version


def is_unborn(connection: sqlite3.Connection) -> bool:
    """Return whether an open file was created for a first write and is still empty."""
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    return application == APPLICATION_ID and version == 0 and _is_empty(connection)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT EXISTS (SELECT 1 FROM sqlite_master)").fetchone()[0]


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Apply the migrations after schema *version*, in the caller's transaction.

    The number is raised in the same transaction, so that a file never has half a migration.
    """
    if version == 0:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
        for statement in migration.statements():
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {number}")
