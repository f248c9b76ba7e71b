"""Who could replace a program: a file is safe if only root can change it, its links, and every directory above it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from fairq.common.files import user_name

_MOST_LINKS = 40


def weakness(path: Path) -> str | None:
    """Return why the file or directory *path* is not root's alone or not readable for all; None if it is safe.

    Every symbolic link on the way, and every directory above each of them, counts.
    """
    for place in _way(path):
        try:
            about = place.lstat()
        except OSError as error:
            return f"{place} cannot be reached: {error.strerror}"
        if stat.S_ISLNK(about.st_mode):
            if about.st_uid != 0:
                return f"{place} belongs to {user_name(about.st_uid)}"
            continue
        if found := _fault(place, about):
            return found
    return None


def weakness_below(top: Path) -> str | None:
    """Return the first weakness of *top* and of everything below it, None if there is none."""
    if found := weakness(top):
        return found
    for directory, folders, names in os.walk(top):
        for name in (*folders, *names):
            place = Path(directory, name)
            about = place.lstat()
            found = weakness(place) if stat.S_ISLNK(about.st_mode) else _fault(place, about)
            if found:
                return found
    return None


def _fault(place: Path, about: os.stat_result) -> str | None:
    if about.st_uid != 0:
        return f"{place} belongs to {user_name(about.st_uid)}"
    if about.st_mode & 0o002 or (about.st_mode & 0o020 and about.st_gid != 0):
        return f"others than root may write to {place}"
    least = 0o005 if stat.S_ISDIR(about.st_mode) else 0o004
    if about.st_mode & least != least:
        return f"not everybody can read {place}"
    return None


def _way(path: Path) -> Iterator[Path]:
    """Yield *path*, all directories above it, and the same for the target of every symbolic link among them."""
    waiting = list(path.absolute().parts[1:])
    place = Path("/")
    yield place
    links = 0
    while waiting:
        part = waiting.pop(0)
        if part == "..":
            place = place.parent
            continue
        place /= part
        yield place
        if place.is_symlink() and links < _MOST_LINKS:
            links += 1
            target = place.readlink()
            waiting[:0] = target.parts[1:] if target.is_absolute() else target.parts
            place = Path("/") if target.is_absolute() else place.parent
