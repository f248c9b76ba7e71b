"""Restore a copy of the state; the former state is kept beside it."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import count
from pathlib import Path

from fairq.common import commit, files
from fairq.common.records import Actor, Change
from fairq.errors.base import BackupError, StateDamagedError, StateError
from fairq.state import check, cycles, history
from fairq.state.connection import backup, is_written, reading, writing
from fairq.state.cycle_lock import BROKERAGE, cycle_lock
from fairq.state.failures import from_os
from fairq.state.location import exists, resolve

_JOURNAL_SUFFIXES = ("-journal", "-wal", "-shm")
"""The ends of the names of the files that SQLite keeps beside a database."""


def restore(path: Path, copy: Path, actor: Actor) -> Path | None:
    """Replace the state at *path* by the state *copy*; return the path of the former state, or None if there was none.

    Other processes that wait for the state continue with the restored one.

    Raises:
        StateError: *copy* does not exist, is empty, or has faults.
        CycleUnderWayError: a cycle is working on the state.
    """
    path, copy = resolve(path), resolve(copy)
    if not exists(copy):
        raise StateError(state=copy, reason="it does not exist; name a copy that 'fairq state backup' made")
    if path == copy:
        raise StateError(state=copy, reason="it is the state itself; name a copy of it")
    if not is_written(copy):
        raise StateError(state=copy, reason="it is empty; name a copy that 'fairq state backup' made")
    with reading(copy) as copy_state:
        faults = check.findings(copy_state)
    if faults:
        raise StateError(state=copy, reason=f"it has faults, first: {faults[0]}; restore another copy")
    with cycle_lock(path), cycle_lock(path, BROKERAGE), files.draft(path.parent) as directory:
        draft = directory / "state.db"
        backup(copy, draft)
        if not exists(path):
            _record(draft, actor, copy, None)
            _set_aside(path, _free_name(path))
            files.publish(draft, path)
            return None
        former = _replace(draft, path, copy, actor)
    commit.mark()
    return former


def _replace(draft: Path, path: Path, copy: Path, actor: Actor) -> Path:
    former = None
    with suppress(StateDamagedError):
        if is_written(path):
            # Upgrade an older state first: SQLite would otherwise roll back its unfinished changes in the copy.
            with writing(path):
                pass
            with writing(path) as state:
                _record(draft, actor, copy, cycles.next_number(state) - 1)
                former = _swap(draft, path)
    if former is None:
        # The file cannot be used, so that nobody needs to be locked out.
        _record(draft, actor, copy, None)
        former = _swap(draft, path)
    return former


def _swap(draft: Path, path: Path) -> Path:
    """Replace the file at *path* by the *draft*; return the path of the former file."""
    former = _keep(path)
    try:
        descriptor = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
        try:
            files.resemble(descriptor, path.stat())
        finally:
            os.close(descriptor)
        _set_aside(path, former)
        draft.replace(path)
    except OSError as error:
        raise from_os(error, path, "replace") from error
    files.to_disk(path.parent)
    return former


def _set_aside(path: Path, former: Path) -> None:
    """Move the journals of a killed writer to the *former* file: SQLite would undo its changes in the restored one."""
    for suffix in _JOURNAL_SUFFIXES:
        with suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{former}{suffix}")


def _record(draft: Path, actor: Actor, copy: Path, cycle: int | None) -> None:
    with writing(draft) as state:
        after = {"Cycle": cycles.next_number(state) - 1, "Copy": str(copy)}
        history.record(state, actor, [Change("state", None if cycle is None else {"Cycle": cycle}, after)])


def _keep(path: Path) -> Path:
    """Give the file at *path* a second name beside it; return that name."""
    while True:
        former = _free_name(path)
        try:
            os.link(path, former, follow_symlinks=False)
        except FileExistsError:
            continue
        except OSError as error:
            raise BackupError(target=former, reason=error.strerror) from error
        return former


def _free_name(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.before-restore{'' if number == 1 else number}") for number in count(1))
    return next(
        name for name in names if not any(os.path.lexists(f"{name}{suffix}") for suffix in ("", *_JOURNAL_SUFFIXES))
    )
