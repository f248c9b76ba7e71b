"""The attempt to submit a run to Slurm, recorded before the call: after a crash, the job is found by its name."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from fairq.launch.supervisor import record

_FILE, _ID = "attempt", "slurm_id"
_LONGEST_CALL = 90.0
"""Seconds after which a call of sbatch has ended, even if its caller was killed."""


class Attempt(Struct, frozen=True):
    """A call of sbatch at *time*: the job's *name* in Slurm, its *index* in an array, and its *engine_id* if known."""

    name: str
    index: int | None
    time: float
    engine_id: str | None = None

    @property
    def may_be_under_way(self) -> bool:
        """Whether the call may still create the job."""
        return self.engine_id is None and 0 <= time.time() - self.time < _LONGEST_CALL


def read(path: Path) -> Attempt | None:
    """Return the attempt for the run in the directory *path*; None if there was none."""
    try:
        attempt = Attempt(**json.loads((path / _FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    with suppress(OSError):
        name, _, engine_id = (path / _ID).read_text().partition(" ")
        if name == attempt.name and engine_id.endswith("\n"):
            return replace(attempt, engine_id=engine_id.strip())
    return attempt


def note(path: Path, attempt: Attempt) -> None:
    """Record an attempt; raises OSError.

    It is not synced to disk, which would take longer than the submission. If a power failure loses it, the run may
    be submitted twice, but only one of its batch jobs can begin it.
    """
    draft = path / f"{_FILE}.draft"
    draft.write_text(json.dumps(asdict(attempt)), encoding="utf-8")
    draft.replace(path / _FILE)


def note_id(path: Path, attempt: Attempt, engine_id: str) -> None:
    """Record the id from Slurm; a failure does no harm, because the job is found by its name."""
    with suppress(OSError):
        (path / _ID).write_text(f"{attempt.name} {engine_id}\n")


def drop(path: Path) -> None:
    """Record that Slurm refused the attempt."""
    with suppress(OSError):
        (path / _FILE).unlink()


def cancel(path: Path, reason: str) -> None:
    """Order the run to end for *reason*; if it has not begun, it never will. Raises OSError."""
    path.mkdir(0o700, parents=True, exist_ok=True)
    directory = record.open_directory(str(path))
    try:
        record.write_order(directory, reason)
        lock = record.lock(directory)
        if lock is not None:
            record.begin(directory, {"cancelled": True})
            os.close(lock)
    finally:
        os.close(directory)
