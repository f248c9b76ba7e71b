"""The caller's side of reading: finds a copy of the pool's state that is up to date, or asks for one."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from fairq.common import files
from fairq.errors.base import FairqError
from fairq.errors.people import NoAnswerError
from fairq.host.client.ask import Door
from fairq.host.client.form import READ
from fairq.state.location import Elsewhere, read_elsewhere
from fairq.state.readers_copy import public_copy, time_of, withdraw

__all__ = ["read_a_copy", "withdraw"]


def read_a_copy(state: Path, site: Path, door: Door, refusal: Callable[[], FairqError], *, private: bool) -> None:
    """From now on, read the pool's *state* from a copy; refuse changes with *refusal*.

    With *private* jobs, the copy is the user's own. It is reused until the state or the *site* file changes.
    """
    copies = _Copies(state, site, door, private=private)
    read_elsewhere(state, Elsewhere(copies.current, refusal, copies.last))


class _Copies:
    """The copies of one state that this user can read."""

    def __init__(self, state: Path, site: Path, door: Door, *, private: bool) -> None:
        self._state = state
        self._public = None if private else public_copy(state)
        self._door = door
        from platformdirs import user_cache_path

        name = f"{state}\0{time_of(site)}\0{os.getuid()}"
        folder = user_cache_path("fairq") / "pools" / hashlib.sha256(bytes(state)).hexdigest()[:16]
        self._own = folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.db"
        self._received: Path | None = None
        self._received_at: int | None = None

    def current(self) -> Path:
        """Return the path of a copy that is up to date.

        Raises the errors of `Door.ask`.
        """
        now = time_of(self._state)
        if self._received is not None and now is not None and now == self._received_at:
            return self._received
        for copy in (self._public, self._own):
            if copy is not None and now is not None and time_of(copy) == now:
                return copy
        self._received, self._received_at = None, now
        answer = self._door.ask(READ, {}, self._receive)
        if "copy" in answer:
            self._received = Path(answer["copy"])
        if self._received is None:
            raise NoAnswerError(problem="its answer is not a copy")
        return self._received

    def last(self) -> Path | None:
        """Return the last copy if there is one."""
        copies = (self._received, self._public, self._own)
        return next((copy for copy in copies if copy is not None and time_of(copy) is not None), None)

    def _receive(self, answer: dict[str, Any], stream: IO[bytes]) -> None:
        """Store the copy in *stream* if it is complete."""
        if "size" not in answer:
            return
        target = _writable_path(self._own)
        with files.draft(target.parent) as directory:
            draft = directory / "copy.db"
            with os.fdopen(files.create(draft, 0o600), "wb") as file:
                remaining = int(answer["size"])
                while remaining and (content := stream.read(min(remaining, 1 << 20))):
                    file.write(content)
                    remaining -= len(content)
            if remaining:
                raise NoAnswerError(problem="the copy of its state is incomplete")
            os.utime(draft, ns=(answer["time"], answer["time"]))
            draft.replace(target)
        for copy in target.parent.glob("*.db"):
            if copy != target:
                copy.unlink(missing_ok=True)
        self._received = target


def _writable_path(copy: Path) -> Path:
    """Return the path for a user's own *copy*; if its directory is unusable, one in a temporary directory."""
    with suppress(OSError):
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(copy.parent, os.W_OK) and copy.parent.stat().st_uid == os.getuid():
            return copy
    folder = Path(tempfile.mkdtemp(prefix="fairq-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / copy.name
