"""The schema of the state: a baseline, the steps that lead from there to today's, and upgrades of files."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from fairq.errors.base import StateForeignError, StateNewerError, StateOlderError
from fairq.state.schema.steps import MIGRATIONS, Step

BASELINE = 23
"""The number of the schema in `baseline`. Older ones were never released, and are refused."""

APPLICATION_ID = 0x66616972
"""SQLite's mark of whose file it is: 'fair'."""

_MARKS = ("application_id", "user_version")


def newest() -> int:
    """Return the number of today's schema."""
    return BASELINE + len(MIGRATIONS)


def identify(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema number of an open file; 0 is an empty file.

    Raises:
        StateForeignError: the file belongs to another program.
        StateOlderError: the schema is older than the baseline.
        StateNewerError: the schema is newer than this program.
    """
    application, version = _marks(connection)
    if application in (0, APPLICATION_ID) and version == 0 and _is_empty(connection):
        return 0
    if application != APPLICATION_ID or version < 1:
        raise StateForeignError(state=path, found="it is an SQLite file of another program")
    if version < BASELINE:
        raise StateOlderError(state=path, found=version, oldest=BASELINE)
    if version > newest():
        raise StateNewerError(state=path, found=version, known=newest())
    return version


def is_unborn(connection: sqlite3.Connection) -> bool:
    """Return whether an open file was created for a first write and is still empty."""
    application, version = _marks(connection)
    return application == APPLICATION_ID and version == 0 and _is_empty(connection)


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the mark of whose file it is, and the number of its schema."""
    application, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS)
    return int(application), int(version)


def _is_empty(connection: sqlite3.Connection) -> bool:
    return not connection.execute("SELECT EXISTS (SELECT 1 FROM sqlite_master)").fetchone()[0]


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring schema *version* (0: an empty file) to today's, in the caller's transaction.

    The number is raised in the same transaction, so that a file never has half a migration.
    """
    if version == 0:
        # Nearly all files have a schema: no command loads the baseline in vain.
        from fairq.state.schema.baseline import STATEMENTS

        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _apply(connection, BASELINE, STATEMENTS)
        version = BASELINE
    for number, step in enumerate(MIGRATIONS[version - BASELINE :], start=version + 1):
        _apply(connection, number, step)


def _apply(connection: sqlite3.Connection, number: int, step: Step) -> None:
    for change in step:
        if callable(change):
            change(connection)
        else:
            connection.execute(change)
    connection.execute(f"PRAGMA user_version = {number}")
