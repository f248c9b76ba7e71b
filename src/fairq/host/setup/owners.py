"""Find who could replace a program: it is safe if only root can change it, its links, and all directories above."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from fairq.common.files import user_name

_MOST_LINKS = 40


def weakness(path: Path) -> str | None:
    """Return why others than root can change *path*, or why not everybody can read it; None if it is safe.

    This checks every symbolic link on the way, and every directory above each of them.
    """
    for ancestor in _ancestors(path):
        try:
            status = ancestor.lstat()
        except OSError as error:
            return f"{ancestor} cannot be reached: {error.strerror}"
        if stat.S_ISLNK(status.st_mode):
            if status.st_uid != 0:
                return f"{ancestor} belongs to {user_name(status.st_uid)}"
            continue
        if fault := _fault(ancestor, status):
            return fault
    return None


def weakness_below(top: Path) -> str | None:
    """Return the first weakness of *top* and of everything below it, None if there is none."""
    if fault := weakness(top):
        return fault
    for directory, folders, names in os.walk(top):
        for name in (*folders, *names):
            path = Path(directory, name)
            status = path.lstat()
            fault = weakness(path) if stat.S_ISLNK(status.st_mode) else _fault(path, status)
            if fault:
                return fault
    return None


def _fault(path: Path, status: os.stat_result) -> str | None:
    if status.st_uid != 0:
        return f"{path} belongs to {user_name(status.st_uid)}"
    if status.st_mode & 0o002 or (status.st_mode & 0o020 and status.st_gid != 0):
        return f"others than root may write to {path}"
    needed = 0o005 if stat.S_ISDIR(status.st_mode) else 0o004
    if status.st_mode & needed != needed:
        return f"not everybody can read {path}"
    return None


def _ancestors(path: Path) -> Iterator[Path]:
    """Yield *path*, all directories above it, and the same for the target of every symbolic link among them."""
    pending = list(path.absolute().parts[1:])
    ancestor = Path("/")
    yield ancestor
    links = 0
    while pending:
        part = pending.pop(0)
        if part == "..":
            ancestor = ancestor.parent
            continue
        ancestor /= part
        yield ancestor
        if ancestor.is_symlink() and links < _MOST_LINKS:
            links += 1
            target = ancestor.readlink()
            pending[:0] = target.parts[1:] if target.is_absolute() else target.parts
            ancestor = Path("/") if target.is_absolute() else ancestor.parent
