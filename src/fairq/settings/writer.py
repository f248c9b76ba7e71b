"""Replace a settings file atomically."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path

from fairq.common import files
from fairq.common.lock_wait import WAIT, Patience, take
from fairq.errors.base import SettingsFileError, StateLockedError


@contextmanager
def exclusive(file: Path, wait: float = WAIT) -> Iterator[None]:
    """Lock *file* against changes by other processes; read it, change it and `replace` it inside the block.

    The lock is on the file's folder, because `replace` replaces the file itself. If the folder cannot be locked,
    there is no lock.

    Raises:
        StateLockedError: another process kept the lock for *wait* seconds.
    """
    try:
        folder = files.followed(file).parent
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        yield  # `replace` reports the problem with the folder
        return
    try:
        try:
            is_locked = take(descriptor, Patience(wait, folder))
        except OSError:
            is_locked = True
        if not is_locked:
            raise StateLockedError(what=f"the directory {folder}", wait=wait, place=folder)
        yield
    finally:
        os.close(descriptor)


def replace(file: Path, text: str, keep_former: bool = False) -> Path | None:
    """Write *text* to *file*; create its folder if necessary.

    A symbolic link is kept, but another user's link is refused; permissions and owner are kept. Return the path of
    the backup of the former file, None if there is none or nothing changes. An earlier backup is never overwritten.
    Raises SettingsFileError; the file is then unchanged.
    """
    try:
        target = files.followed(file)
        if target.exists() and not target.is_file():
            raise SettingsFileError(file=file, problem="it is not a regular file; nothing was changed")
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if keep_former and target.exists() and (content := target.read_bytes()) != text.encode():
            backup = _backup_path(target, content)
            files.write(backup, content, original=target)
        files.write(target, text.encode())
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}; nothing was changed"
        raise SettingsFileError(file=file, problem=problem) from None
    return backup


def _backup_path(target: Path, content: bytes) -> Path:
    """Return the path for a backup of *target*: the first name that holds no other backup."""
    paths = (target.with_name(f"{target.name}.bak{ending}") for ending in chain([""], map(".{}".format, count(1))))
    return next(path for path in paths if not _is_backup(path) or path.read_bytes() == content)


def _is_backup(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and path.stat().st_size > 0
