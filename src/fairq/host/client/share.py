"""The program's side of reading: a copy of the state for everybody, or for the asker alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairq.common.people import Person
from fairq.common.records import Actor
from fairq.state.readers_copy import copy_for, one_copy_each, publish, withdraw

__all__ = ["shared", "withdraw"]


@contextmanager
def shared(state: Path, person: Person, actor: Actor, *, private: bool) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the answer to *person*, and the copy to send after it, complete before its first byte is sent.

    The answer is the path of the copy for everybody. With *private* jobs, or if the disk has no room for that copy, it
    is the size and the time of the copy that follows.
    """
    if private:
        withdraw(state)
    elif public := publish(state):
        yield {"copy": str(public)}, b""
        return
    with one_copy_each(state, person.uid):
        content, time = copy_for(state, actor.user if private and not actor.administrator else None)
        yield {"size": len(content), "time": time}, content
