"""Where the state file is, whether the operating system lets fairq at it, and which states are read elsewhere."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from fairq.common.files import followed, own_state, user_name
from fairq.errors.base import FairqError, StateError, StateForeignError, StatePermissionError, StateReadOnlyError
from fairq.state.failures import from_os


def make_directory(state: Path) -> None:
    """Make the directory of the user's own state if it is not there; that of another state has to be.

    Raises StateError, StatePermissionError.
    """
    if state.parent.is_dir():
        return
    if state != resolve(own_state()):
        cure = f"create it with 'mkdir -p {state.parent}', or name another file with --state"
        raise StateError(state=state, reason=f"its directory does not exist; {cure}")
    try:
        state.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_os(error, state, "create") from error


def resolve(path: Path) -> Path:
    """Return the absolute path with every symbolic link followed, so that all names mean one lock."""
    return Path(os.path.realpath(path))


def readable(path: Path) -> Path:
    """Return the real path of the file to open for reading: that of a copy if the state is read elsewhere."""
    elsewhere = elsewhere_of(path)
    return resolve(path) if elsewhere is None else elsewhere.copy()


def resolve_for_writing(path: Path) -> Path:
    """Return what `resolve` does, for a change.

    Raises StatePermissionError if a link of somebody else decides what is created, and the refusal of a state that is
    read elsewhere.
    """
    if elsewhere := elsewhere_of(path):
        raise elsewhere.refusal()
    real = resolve(path)
    if not exists(real):
        try:
            followed(path)
        except OSError as error:
            raise from_os(error, path, "create") from error
    return real


def exists(path: Path) -> bool:
    """Return whether a state file is there to be read.

    Raises:
        StateForeignError: it is a directory, a device or the like.
        StatePermissionError, StateError: the operating system does not let it be seen.
    """
    path = readable(path)
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise from_os(error, path, "reach") from error
    if stat.S_ISDIR(status.st_mode):
        raise StateForeignError(state=path, found="it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise StateForeignError(state=path, found="it is not a regular file")
    if status.st_size == 1:
        # SQLite takes a file of one byte for an empty one, and would write over it.
        raise StateForeignError(state=path, found="it is not an SQLite file")
    if not os.access(path, os.R_OK):
        raise StatePermissionError(action="read", state=path, reason="the file may not be read")
    return True


def prepare_for_writing(path: Path) -> None:
    """Make its directory if needed (see `make_directory`); check that the file and its directory can be written.

    SQLite silently opens for reading only a file that it may not write.
    """
    if exists(path):
        _require_writable(path, path, "the file may not be written")
    make_directory(path)
    _require_writable(path.parent, path, "its directory may not be written, which the journal needs")


def check_journal(path: Path) -> None:
    """Refuse the file at *path* if somebody who may not write it has put a journal beside it.

    SQLite takes a journal for what a killed writer left half-done, and changes the file as it says.

    Raises:
        StateError: the journal is a symbolic link, or belongs to somebody else.
    """
    for journal in (Path(f"{path}-journal"), Path(f"{path}-wal")):
        try:
            journal_status, state = journal.lstat(), path.stat()
        except OSError:
            continue
        if not stat.S_ISREG(journal_status.st_mode):
            raise StateError(state=path, reason=f"{journal} is not a regular file; remove it")
        shared = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not shared and journal_status.st_uid not in {0, state.st_uid}:
            whose = user_name(journal_status.st_uid)
            raise StateError(state=path, reason=f"{journal} belongs to {whose}, who may not write the state; remove it")


def _require_writable(file: Path, state: Path, otherwise: str) -> None:
    if os.access(file, os.W_OK):
        return
    if os.statvfs(file).f_flag & os.ST_RDONLY:
        raise StateReadOnlyError(state=state, reason="the file system is read-only")
    raise StatePermissionError(action="write", state=state, reason=otherwise)


class Elsewhere(Struct, frozen=True):
    """How to read a state: *copy* returns a copy as recent as the state; *refusal* is the error for a change.

    *outdated* returns the last copy, which costs nothing, or None if there is none.
    """

    copy: Callable[[], Path]
    refusal: Callable[[], FairqError]
    outdated: Callable[[], Path | None] = lambda: None


_STATES: dict[str, Elsewhere] = {}


def read_elsewhere(path: Path, elsewhere: Elsewhere | None) -> None:
    """Read the state at *path* from now on *elsewhere*; None: open the file itself again."""
    name = os.path.realpath(path)
    if elsewhere is None:
        _STATES.pop(name, None)
    else:
        _STATES[name] = elsewhere


def last_copy(path: Path) -> Path:
    """Return the last copy of a state that is read elsewhere, perhaps outdated; otherwise the state itself."""
    elsewhere = elsewhere_of(path)
    return path if elsewhere is None else elsewhere.outdated() or path


def elsewhere_of(path: Path) -> Elsewhere | None:
    """Return where the state at *path* is read, None if the file itself is opened."""
    return _STATES.get(os.path.realpath(path)) if _STATES else None
