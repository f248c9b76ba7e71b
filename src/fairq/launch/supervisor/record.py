"""The files of a run's directory: its begin, the order to end it, and its end. Each is written atomically.

- ``lock``: locked (flock) by the supervisor while it lives.
- ``begun``: created by the first process that begins or cancels the run; a run begins at most once.
- ``job``: the job's first process.
- ``order``: the reason to end the run, in one word.
- ``scratch``: the job's own temporary directory, removed at the end.
- ``end``: the facts of the end, with a checksum. Its space is reserved before the job starts, in case the disk fills.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import time
import zlib
from typing import Any

VERSION = 1
AT_ONCE = "fast"
SCRATCH = "scratch"
"""The job's own temporary directory inside the run's directory, removed at the end."""
RESERVED = 4096
_MODE = 0o640
"""The supervisor's umask decides whether the group, the account of a host's pool, may read."""
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LONGEST_WAIT = 60.0
_REMOVE = 'chmod -R u+rwX -- "$1"; rm -rf -- "$1"'


def open_directory(path: str) -> int:
    """Open a run's directory and return its descriptor; raises OSError."""
    return os.open(path, _DIRECTORY)


def lock(directory: int) -> int | None:
    """Lock the run; return the descriptor that holds the lock, or None if another process holds it."""
    descriptor = os.open("lock", os.O_RDWR | os.O_CREAT | _FLAGS, _MODE, dir_fd=directory)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def begin(directory: int, content: dict[str, Any]) -> bool:
    """Claim the right to begin the run; return False if another process claimed it before."""
    try:
        descriptor = os.open("begun", os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, _MODE, dir_fd=directory)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return True


def note_job(directory: int, content: dict[str, Any]) -> None:
    """Record the job's first process, so that leftover processes of the run can be found later."""
    try:
        descriptor = os.open("job", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, _MODE, dir_fd=directory)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file)
    except OSError:
        pass


def read(directory: int, name: str) -> Any:
    """Return the JSON of a file of the run; None if it is missing or incomplete."""
    try:
        with os.fdopen(os.open(name, os.O_RDONLY | _FLAGS, dir_fd=directory), "rb") as file:
            return json.loads(file.read())
    except (OSError, ValueError):
        return None


def write_order(directory: int, reason: str) -> None:
    """Order the run to end. The first order holds, unless a later one is to end at once. Raises OSError."""
    draft = f".order-{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, 0o600, dir_fd=directory)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"order": reason}, file)
    if reason == AT_ONCE:
        os.rename(draft, "order", src_dir_fd=directory, dst_dir_fd=directory)
        return
    try:
        os.link(draft, "order", src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        pass
    finally:
        os.unlink(draft, dir_fd=directory)


def reserve(directory: int) -> int | None:
    """Reserve disk space for the end; return the descriptor of the file, or None on failure."""
    try:
        descriptor = os.open("end.reserve", os.O_RDWR | os.O_CREAT | _FLAGS, _MODE, dir_fd=directory)
        os.posix_fallocate(descriptor, 0, RESERVED)
    except OSError:
        return None
    return descriptor


def exists(directory: int, name: str) -> bool:
    """Return whether the run has a file of this name."""
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def is_locked(directory: int) -> bool:
    """Return whether the run has a living supervisor."""
    try:
        descriptor = os.open("lock", os.O_RDONLY | _FLAGS, dir_fd=directory)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def read_end(directory: int) -> dict[str, Any] | None:
    """Return the facts of the end; None if the run has not ended or the checksum is wrong."""
    facts = read(directory, "end")
    if not isinstance(facts, dict) or facts.get("version") != VERSION:
        return None
    checksum = facts.pop("checksum", None)
    return facts if checksum == _checksum(facts) else None


def write_end(path: str, directory: int, reserved: int | None, facts: dict[str, Any]) -> None:
    """Write the end so that it survives a power failure; retry until the disk has space."""
    facts = {"version": VERSION, **facts}
    text = json.dumps({**facts, "checksum": _checksum(facts)}).encode()
    wait = 0.1
    while True:
        try:
            _write_end(directory, reserved, text)
            return
        except OSError as error:
            if error.errno == errno.ENOENT:
                # The job has deleted the run's directory.
                try:
                    os.makedirs(path, 0o700, exist_ok=True)  # noqa: PTH103
                    directory, reserved = open_directory(path), None
                    continue
                except OSError:
                    pass
        reserved = None
        time.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)


def _write_end(directory: int, reserved: int | None, text: bytes) -> None:
    name = "end.reserve"
    if reserved is None:
        name = "end.draft"
        reserved = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC | _FLAGS, _MODE, dir_fd=directory)
    os.pwrite(reserved, text, 0)
    os.ftruncate(reserved, len(text))
    os.fsync(reserved)
    os.rename(name, "end", src_dir_fd=directory, dst_dir_fd=directory)
    os.fsync(directory)
    os.close(reserved)


def _checksum(facts: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(facts, sort_keys=True).encode())


def remove_tree(path: str) -> None:
    """Remove a directory and its content as far as possible; do not follow links."""
    try:
        os.rmdir(path)  # noqa: PTH106 - a supervisor imports no pathlib
    except FileNotFoundError:
        return
    except OSError:
        # A job may have created deep trees and directories without permissions.
        with contextlib.suppress(OSError):
            os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", _REMOVE, "sh", path], {"PATH": os.defpath}), 0)
