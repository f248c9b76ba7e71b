"""The state file itself: its path, its check, a copy, and its history."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairq.errors.base import BackupError, StateError
from fairq.errors.pool import UnknownCycleError
from fairq.state import check, cycles, history
from fairq.state.connection import backup, compact, reading
from fairq.state.cycles import CycleSummary
from fairq.state.history import Entry
from fairq.state.location import exists, readable, resolve
from fairq.steps.cycle.document import stored_match_document


class StateFile(Struct, frozen=True):
    """The path of the state file, symbolic links resolved, and its size in bytes; None: it does not exist."""

    path: Path
    size: int | None


def locate(path: Path) -> StateFile:
    """Return the path of the state file without opening it, so that a damaged file is also found."""
    return StateFile(resolve(path), readable(path).stat().st_size if exists(path) else None)


def state_file(path: Path) -> tuple[Path, bool]:
    """Return the path of the state file, and whether it exists, without opening it or a copy of it."""
    path = resolve(path)
    return path, os.path.lexists(path)


def check_state(path: Path) -> list[str]:
    """Return the faults of the state file, one line each; none in a sound one.

    Raises StateError if there is no file.
    """
    if not exists(path):
        raise StateError(state=path, reason="it does not exist; name the file with --state")
    with reading(path) as state:
        return check.findings(state)


def shrink(path: Path) -> tuple[int, int]:
    """Release unused space of the state file; return its size in bytes before and after.

    Raises StateError if there is no file, and the errors of a file that cannot be written.
    """
    before = locate(path).size
    compact(path)
    return before or 0, locate(path).size or 0


def back_up(path: Path, target: Path) -> Path:
    """Copy the state to the new file *target* and return its absolute path.

    Raises:
        BackupError: there is no state, *target* exists already or cannot be written.
    """
    with suppress(OSError):  # the backup itself reports errors of the target
        if target.is_dir():
            raise BackupError(target=target, reason="it is a directory; give the name of the file too")
    backup(path, target)
    return target.absolute()


def recent_cycles(path: Path, limit: int | None = None) -> list[CycleSummary]:
    """Return the last *limit* negotiation cycles (None: all), newest last."""
    with reading(path) as state:
        return cycles.summaries(state, limit)


def stored_cycle(path: Path, number: int | None = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the decision of a cycle (None: the last one) in the form of `negotiate`, and its matches.

    Raises:
        UnknownCycleError: there was no such cycle.
    """
    with reading(path) as state:
        cycle = cycles.latest(state) if number is None else cycles.load(state, number)
        if cycle is None:
            last = cycles.next_number(state) - 1
            hint = f"the last one is {last}, 'fairq state cycles' lists them" if last else "there was none yet"
            raise UnknownCycleError(number="" if number is None else f" {number}", known=hint)
    document = {"cycle": cycle.number, "time": cycle.time, "rules": cycle.rules, **cycle.decision}
    return document, [stored_match_document(match) for match in cycle.matches]


def changes(
    path: Path,
    limit: int | None = None,
    *,
    subject: str | None = None,
    user: str | None = None,
    since: int | None = None,
) -> list[Entry]:
    """Return the last *limit* changes (None: all) of *subject*, by *user* and from *since* on, newest last."""
    with reading(path) as state:
        return history.load(state, limit, subject=subject, user=user, since=since)
