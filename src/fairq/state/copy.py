"""Write state files, which appear complete under their names or not at all: copies, and that of a first write.

That one has fairq's mark and no schema. The process with its write lock fills it or removes it. A process that waited
for that lock sees that the file is gone, and starts again.
"""

from __future__ import annotations

import filecmp
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from itertools import chain, count
from pathlib import Path

from fairq.common import files
from fairq.errors.base import BackupError
from fairq.state.failures import from_os
from fairq.state.schema import APPLICATION_ID, is_unborn


def write_copy(source: sqlite3.Connection, target: Path, original: Path | None = None) -> None:
    """Copy the database *source* to *target*, a new file, by SQLite's online backup.

    It has the mode and owner of the file *original*, or without one the mode of the umask.

    Raises:
        BackupError: *target* already exists or cannot be written; an existing file is unchanged.
    """
    with _reported(target):
        if os.path.lexists(target):
            raise FileExistsError
        with _copied(source, target.parent, original) as copy:
            files.publish(copy, target)


def keep_copy(source: sqlite3.Connection, path: Path, version: int) -> None:
    """Keep a copy of the state *path* of schema *version* beside it, under a free name.

    There is no new copy if the last one is equal, as after an interrupted upgrade. Raises BackupError.
    """
    first = path.with_name(f"{path.name}.schema{version}")
    names = chain([first], (first.with_name(f"{first.name}-{n}") for n in count(2)))
    with _reported(first), _copied(source, path.parent, path) as copy:
        last = None
        for target in names:
            try:
                if not os.path.lexists(target):
                    if last is None or not _same(copy, last):
                        files.publish(copy, target)
                    return
            except FileExistsError:
                pass
            last = target


@contextmanager
def _reported(target: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        reason = "a file of this name exists already; choose another name"
        raise BackupError(target=target, reason=reason) from error
    except (OSError, sqlite3.Error) as error:
        cause = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BackupError(target=target, reason=cause) from error


@contextmanager
def _copied(source: sqlite3.Connection, directory: Path, original: Path | None) -> Iterator[Path]:
    """Yield a copy inside a draft in *directory*."""
    with files.draft(directory) as folder:
        # The name is short: that of the state may be as long as a name can be.
        copy = folder / "state.db"
        # Created here, since SQLite neither follows the whole umask nor says why it cannot.
        descriptor = files.create(copy)
        try:
            with closing(sqlite3.connect(copy.absolute().as_uri(), uri=True)) as target:
                source.backup(target)
            if original is not None:
                files.resemble(descriptor, original.stat())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield copy


def _same(copy: Path, former: Path) -> bool:
    return not former.is_symlink() and former.is_file() and filecmp.cmp(copy, former, shallow=False)


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
