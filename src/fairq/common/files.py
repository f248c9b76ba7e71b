"""Write files atomically, complete or not at all, and never through a planted link.

A file is written in a *draft*, a directory beside the target. Its name cannot be guessed, nobody else may enter it, and
a rename out of it is atomic. A lock on the directory lives as long as its process. The next process that drafts in the
same place recognises the drafts of killed processes and removes them.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

NEW_MODE = 0o666
"""Mode of a new file, less the umask."""

_DRAFT = r"\.fairq-[0-9a-f]{16}\.draft"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""Errors of link(2) on a file system that has no hard links."""


def own_state() -> Path:
    """Return the path of the user's own state, in the XDG state directory."""
    from platformdirs import user_state_path

    return user_state_path("fairq") / "state.db"


def followed(path: Path) -> Path:
    """Return the target of *path* with symbolic links followed.

    Raises OSError (EPERM) if *path* is a link that belongs neither to this user nor to root. Anyone who may write in
    the same directory can plant a link to a file that only this user may change.
    """
    current = path
    for _ in range(40):
        current = Path(os.path.realpath(current.parent)) / current.name
        status = _lstat(current)
        if status is None or not stat.S_ISLNK(status.st_mode):
            return Path(os.path.realpath(current))
        if status.st_uid not in {os.geteuid(), 0}:
            reason = f"{current} is a symbolic link of another user ({user_name(status.st_uid)})"
            raise OSError(errno.EPERM, reason, str(path))
        current = current.parent / current.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def user_name(number: int) -> str:
    """Return the name of the user with this *number*, or the number as text."""
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def sweep(directory: Path) -> None:
    """Remove visible drafts of this user that nobody has locked: their processes were killed."""
    try:
        drafts = [path for path in directory.iterdir() if re.fullmatch(_DRAFT, path.name)]
    except OSError:
        return
    for path in drafts:
        with suppress(OSError):
            descriptor = os.open(path, _DIRECTORY)
            try:
                status = os.fstat(descriptor)
                private = status.st_uid == os.geteuid() and not status.st_mode & 0o077
                if private and _locked(descriptor) and is_at(descriptor, path):
                    _clear(descriptor)
                    path.rmdir()
            finally:
                os.close(descriptor)


@contextmanager
def draft(directory: Path) -> Iterator[Path]:
    """Create a directory inside *directory* that nobody else may enter; afterwards, remove it with its files.

    Also removes drafts of killed processes of the same user in *directory*. Raises OSError.
    """
    sweep(directory)
    path, descriptor = _create_draft(directory)
    try:
        yield path
    finally:
        with suppress(OSError):
            _clear(descriptor)
            path.rmdir()
        os.close(descriptor)


def create(path: Path, mode: int = NEW_MODE) -> int:
    """Create a file and return its descriptor; raises OSError if the name exists."""
    return os.open(path, _CREATE, mode)


@contextmanager
def replacing(target: Path, mode: int = NEW_MODE, original: Path | None = None) -> Iterator[BinaryIO]:
    """Open a draft file; it replaces *target* when the body ends, and is removed if the body raises.

    It gets the mode and owner of the file *original*, by default those of the replaced file; a new file has *mode* less
    the umask. If *target* is a symbolic link, the link itself is replaced. Raises OSError.
    """
    with draft(target.parent) as draft_directory:
        with os.fdopen(create(draft_directory / "file", mode), "wb") as stream:
            yield stream
            stream.flush()
            former = _lstat(original or target)
            if former is not None and stat.S_ISREG(former.st_mode):
                resemble(stream.fileno(), former)
            os.fsync(stream.fileno())
        (draft_directory / "file").replace(target)
        to_disk(target.parent)


def write(target: Path, content: bytes, original: Path | None = None) -> None:
    """Replace *target* with *content*, as `replacing` does."""
    with replacing(target, original=original) as stream:
        stream.write(content)


def publish(finished: Path, target: Path) -> None:
    """Give the *finished* file of a draft the name *target*; raises FileExistsError if the name exists."""
    try:
        # Unlike a rename, a link never replaces a file that was created meanwhile.
        os.link(finished, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(create(target))
        finished.replace(target)
    to_disk(target.parent)


def resemble(descriptor: int, original: os.stat_result) -> None:
    """Give an open file the mode of *original*, and its owner and group as far as this process is allowed.

    If the group cannot be kept, the file's actual group gets no more permissions than everybody.
    """
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (original.st_uid, original.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, -1, original.st_gid)
        with suppress(OSError):
            os.fchown(descriptor, original.st_uid, -1)
    mode = stat.S_IMODE(original.st_mode) & 0o777
    if os.fstat(descriptor).st_gid != original.st_gid:
        mode &= 0o707 | (mode & 0o007) << 3
    os.fchmod(descriptor, mode)


def is_at(descriptor: int, path: Path) -> bool:
    """Return whether *path* still names this open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def to_disk(directory: Path) -> None:
    """Sync the names in *directory* to disk; skip a directory that may not be read."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _create_draft(directory: Path) -> tuple[Path, int]:
    while True:
        path = directory / f".fairq-{os.urandom(8).hex()}.draft"
        try:
            path.mkdir(0o700)
        except FileExistsError:
            continue
        try:
            descriptor = os.open(path, _DIRECTORY)
        except FileNotFoundError:
            continue  # another process removed it as a leftover before it was locked
        if _locked(descriptor) is not False and is_at(descriptor, path):
            return path, descriptor
        os.close(descriptor)


def _locked(descriptor: int) -> bool | None:
    """Lock a directory without waiting; False: another process has it; None: locks are not supported."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _clear(descriptor: int) -> None:
    """Remove the contents of an open directory."""
    for entry in os.listdir(descriptor):
        try:
            os.unlink(entry, dir_fd=descriptor)
        except IsADirectoryError:
            inner = os.open(entry, _DIRECTORY, dir_fd=descriptor)
            try:
                _clear(inner)
            finally:
                os.close(inner)
            os.rmdir(entry, dir_fd=descriptor)
