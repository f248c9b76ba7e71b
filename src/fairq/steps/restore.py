"""Put a copy of the state in its place; what stood there is kept beside it."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

from fairq import committed, files
from fairq.errors.base import BackupError, StateError
from fairq.records import Actor, Change
from fairq.state import check, cycles, history
from fairq.state.connection import backup, cycle_lock, is_written, reading, writing
from fairq.state.cycle_lock import BROKERAGE
from fairq.state.failures import from_os
from fairq.state.location import exists, resolve


def restore(path: Path, copy: Path, actor: Actor) -> Path | None:
    """Put the state *copy* in the place of the one at *path*; return where that one is kept now, if there was one.

    Others that wait for the state go on with the restored one.

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
    with reading(copy) as opened:
        faults = check.findings(opened)
    if faults:
        raise StateError(state=copy, reason=f"it has faults, first: {faults[0]}; restore another copy")
    with cycle_lock(path), cycle_lock(path, BROKERAGE), files.draft(path.parent) as place:
        draft = place / "state.db"
        backup(copy, draft)
        if not exists(path):
            _record(draft, actor, copy, None)
            files.publish(draft, path)
            return None
        with writing(path) as state:
            _record(draft, actor, copy, cycles.next_number(state) - 1)
            former = _keep(path)
            try:
                descriptor = os.open(draft, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    files.resemble(descriptor, path.stat())
                finally:
                    os.close(descriptor)
                draft.replace(path)
            except OSError as error:
                raise from_os(error, path, "replace") from error
            files.to_disk(path.parent)
    committed.mark()
    return former


def _record(draft: Path, actor: Actor, copy: Path, cycle: int | None) -> None:
    with writing(draft) as state:
        after = {"Cycle": cycles.next_number(state) - 1, "Copy": str(copy)}
        history.record(state, actor, [Change("state", None if cycle is None else {"Cycle": cycle}, after)])


def _keep(path: Path) -> Path:
    """Give the file at *path* a second name beside it, and return that."""
    for number in count(1):
        former = path.with_name(f"{path.name}.before-restore{number if number > 1 else ''}")
        try:
            os.link(path, former, follow_symlinks=False)
        except FileExistsError:
            continue
        except OSError as error:
            raise BackupError(target=former, reason=error.strerror) from error
        return former
    raise AssertionError
