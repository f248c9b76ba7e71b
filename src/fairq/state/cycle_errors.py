"""Errors of cycles, counted in the file ``STATE.errors`` beside the state: the state itself may be the fault."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import asdict

from fairq.common.files import resemble

_LONGEST = 1000
"""Most characters that are kept of a message."""

_LARGEST = 1 << 16


class CycleErrors(Struct):
    """The number of failed cycles by kind of error, and the last one: its *time* and its *message*."""

    counts: dict[str, int] = field(default_factory=dict)
    time: int = 0
    kind: str = ""
    message: str = ""


def load(state: Path) -> CycleErrors:
    """Return the errors of the cycles on the file *state*; none if they cannot be read."""
    try:
        with _file(state).open("rb") as stream:
            return _read(stream.read(_LARGEST))
    except OSError:
        return CycleErrors()


def add(state: Path, time: int, kind: str, message: str) -> None:
    """Count an error of a cycle at *time*. Raises OSError if there is no file *state*, or if it cannot be stored."""
    # Who may read the state may read its errors. Written in place: this works on a full disk if the file exists.
    like = state.stat()
    descriptor = os.open(_file(state), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, like.st_mode & 0o666)
    try:
        with suppress(OSError):  # the file of another user who may write the state
            resemble(descriptor, like)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        errors = _read(os.pread(descriptor, _LARGEST, 0))
        errors.counts[kind] = errors.counts.get(kind, 0) + 1
        errors.time, errors.kind, errors.message = time, kind, message[:_LONGEST]
        content = json.dumps(asdict(errors)).encode()
        os.pwrite(descriptor, content, 0)
        os.ftruncate(descriptor, len(content))
    finally:
        os.close(descriptor)


def _file(state: Path) -> Path:
    return Path(f"{state}.errors")


def _read(content: bytes) -> CycleErrors:
    try:
        errors = CycleErrors(**json.loads(content))
        return errors if all(isinstance(count, int) for count in errors.counts.values()) else CycleErrors()
    except (ValueError, TypeError, AttributeError):
        return CycleErrors()
