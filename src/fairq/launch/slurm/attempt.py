"""What was tried to hand a run to Slurm, on disk before it is tried: after a crash, the job is found by its name."""

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
"""Seconds after which a call of sbatch, or what is left of one whose caller was killed, has ended."""


class Attempt(Struct, frozen=True):
    """A call of sbatch at *time*: the job's *name* in Slurm, the *index* in an array, and the *engine_id* if known."""

    name: str
    index: int | None
    time: float
    engine_id: str | None = None

    @property
    def may_be_under_way(self) -> bool:
        """Whether the call may still make the job."""
        return self.engine_id is None and 0 <= time.time() - self.time < _LONGEST_CALL


def read(place: Path) -> Attempt | None:
    """Return the attempt for the run in the directory *place*; None if there was none."""
    try:
        tried = Attempt(**json.loads((place / _FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    with suppress(OSError):
        name, _, engine_id = (place / _ID).read_text().partition(" ")
        if name == tried.name and engine_id.endswith("\n"):
            return replace(tried, engine_id=engine_id.strip())
    return tried


def note(place: Path, attempt: Attempt) -> None:
    """Record an attempt; raises OSError.

    It is not forced to the disk, which would take longer than the submission. If a power failure loses it, the run may
    be submitted twice; still only one of its batch jobs can begin it.
    """
    draft = place / f"{_FILE}.draft"
    draft.write_text(json.dumps(asdict(attempt)), encoding="utf-8")
    draft.replace(place / _FILE)


def note_id(place: Path, attempt: Attempt, engine_id: str) -> None:
    """Record the id that Slurm gave; a failure does no harm, for the job is found by its name."""
    with suppress(OSError):
        (place / _ID).write_text(f"{attempt.name} {engine_id}\n")


def drop(place: Path) -> None:
    """Record that Slurm refused the attempt."""
    with suppress(OSError):
        (place / _FILE).unlink()


def cancel(place: Path, word: str) -> None:
    """Order the run to end for the reason *word*; if it has not begun, it never will. Raises OSError."""
    place.mkdir(0o700, parents=True, exist_ok=True)
    directory = record.open_directory(str(place))
    try:
        record.write_order(directory, word)
        lock = record.lock(directory)
        if lock is not None:
            record.begin(directory, {"cancelled": True})
            os.close(lock)
    finally:
        os.close(directory)
