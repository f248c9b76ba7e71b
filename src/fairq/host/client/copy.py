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
from fairq.state.readers_copy import public_copy, time_of


def read_a_copy(state: Path, site: Path, door: Door, refusal: Callable[[], FairqError], *, private: bool) -> None:
    """Read the pool's *state* from a copy from now on; a change is refused with *refusal*.

    With *private* jobs, the copy is the user's own. It is used again until the state or the *site* file changes.
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
        self._asked: Path | None = None
        self._asked_at: int | None = None

    def current(self) -> Path:
        """Return the path of a copy that is up to date.

        Raises the errors of `Door.ask`.
        """
        now = time_of(self._state)
        if self._asked is not None and now is not None and now == self._asked_at:
            return self._asked
        for known in (self._public, self._own):
            if known is not None and now is not None and time_of(known) == now:
                return known
        self._asked, self._asked_at = None, now
        answer = self._door.ask(READ, {}, self._receive)
        if "copy" in answer:
            self._asked = Path(answer["copy"])
        if self._asked is None:
            raise NoAnswerError(problem="its answer is not a copy")
        return self._asked

    def last(self) -> Path | None:
        """Return the last copy if there is one."""
        known = (self._asked, self._public, self._own)
        return next((copy for copy in known if copy is not None and time_of(copy) is not None), None)

    def _receive(self, answer: dict[str, Any], stream: IO[bytes]) -> None:
        """Store the copy in *stream*; one that is incomplete is not stored."""
        if "size" not in answer:
            return
        target = _usable(self._own)
        with files.draft(target.parent) as place:
            draft = place / "copy.db"
            with os.fdopen(files.create(draft, 0o600), "wb") as file:
                left = int(answer["size"])
                while left and (content := stream.read(min(left, 1 << 20))):
                    file.write(content)
                    left -= len(content)
            if left:
                raise NoAnswerError(problem="the copy of its state is incomplete")
            os.utime(draft, ns=(answer["time"], answer["time"]))
            draft.replace(target)
        for other in target.parent.glob("*.db"):
            if other != target:
                other.unlink(missing_ok=True)
        self._asked = target


def _usable(copy: Path) -> Path:
    """Return the path for a user's own *copy*, in a temporary directory until the process ends if need be."""
    with suppress(OSError):
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(copy.parent, os.W_OK) and copy.parent.stat().st_uid == os.getuid():
            return copy
    folder = Path(tempfile.mkdtemp(prefix="fairq-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / copy.name
