"""Write a copy of an open state, which appears complete under its name or not at all."""

from __future__ import annotations

import filecmp
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain, count
from pathlib import Path

from fairq.common import files
from fairq.errors.base import BackupError


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
        told = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BackupError(target=target, reason=told) from error


@contextmanager
def _copied(source: sqlite3.Connection, directory: Path, original: Path | None) -> Iterator[Path]:
    """Yield a copy inside a draft in *directory*."""
    with files.draft(directory) as place:
        # The name is short: that of the state may be as long as a name can be.
        copy = place / "state.db"
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
