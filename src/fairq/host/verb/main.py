"""The program behind the narrow verb; the root-owned script that sudo starts calls `main`."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fairq.common.lock_wait import LISTENER, Holder
from fairq.common.people import Person
from fairq.common.records import Actor
from fairq.errors.base import DoneNotShownError, FairqError
from fairq.host.client.form import READ
from fairq.host.client.stuck import end_stuck
from fairq.host.verb.asker import asker
from fairq.host.verb.document import parse, read
from fairq.host.verb.surroundings import clear, run_in_session
from fairq.steps.rights import names

_LONGEST = 120
"""Seconds after which the system kills the process, so that no caller can keep it running."""


def main(state: Path, site: Path, *, by_socket: bool = False) -> int:
    """Carry out one request to the pool in the file *state* with the settings in *site*; return the exit code.

    The request comes from sudo, or *by_socket* from a connection that systemd has accepted. Both paths come from the
    script, never from the caller. All input is read before the state is opened, and the answer is written after it is
    closed, so the caller cannot hold its lock.
    """
    try:
        person = asker(os.environ, by_socket=by_socket)
    except FairqError as error:
        return _refuse(error)
    # Nobody reads the exit code of a connection; other codes than 0 mean for systemd that there was no answer.
    return run_in_session(lambda: _serve(state, site, person) * (not by_socket))


def _serve(state: Path, site: Path, person: Person) -> int:
    # A warning of a library would add a line to the answer.
    warnings.simplefilter("ignore")
    try:
        signal.alarm(_LONGEST)
        clear()
        LISTENER.set(_end_stuck)
        request = parse(read(0))
        from fairq.common.hardware import host_name
        from fairq.host.verb.changes import Pool, make
        from fairq.host.verb.command import command_of
        from fairq.settings import load

        settings = load(site, None, {})
        account = os.getuid()
        actor = Actor(
            user=person.name,
            command=command_of(request),
            time=int(time.time()),
            reason=request.reason,
            administrator=person.uid in (0, account) or names(settings["pool.administrators"], person),
            unix_groups=person.groups,
            request=(request.id, secrets.token_hex(16)),
        )
        if request.verb == READ:
            with _shared(state, person, actor, private=settings["pool.private_jobs"]) as (answer, content):
                return _write(1, {"done": answer}, content)
        answer = make(Pool(state, settings, host_name()), actor, request)
    except FairqError as error:
        return _refuse(error)
    except Exception as error:  # do not show internal errors to the caller
        return _refuse(FairqError(message=f"internal error: {type(error).__name__}"))
    return _write(1, {"done": answer})


@contextlib.contextmanager
def _shared(state: Path, person: Person, actor: Actor, *, private: bool) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the answer to *person*, and the copy to send after it, complete before its first byte is sent.

    The answer is the path of the copy for everybody. With *private* jobs, or if the disk has no room for that copy, it
    is the size and the time of the copy that follows.
    """
    from fairq.state.readers_copy import copy_for, one_copy_each, publish, withdraw

    if private:
        withdraw(state)
    elif public := publish(state):
        yield {"copy": str(public)}, b""
        return
    with one_copy_each(state, person.uid):
        content, time = copy_for(state, actor.user if private and not actor.administrator else None)
        yield {"size": len(content), "time": time}, content


def _end_stuck(path: Path, lock_holders: Sequence[Holder]) -> None:
    end_stuck(Path(sys.argv[0]), path, lock_holders)


def _refuse(error: FairqError) -> int:
    return _write(1, {"refused": str(error), "code": error.exit_code}) or error.exit_code


def _write(descriptor: int, answer: dict[str, object], attached: bytes = b"") -> int:
    """Write the answer and the content *attached* to it; return 0, or the exit code if it cannot be written.

    If the caller has stopped reading, it loses the answer. An answer that cannot be written goes to standard error.
    """
    try:
        for content in (memoryview((json.dumps(answer) + "\n").encode()), memoryview(attached)):
            remaining = content
            while remaining:
                remaining = remaining[os.write(descriptor, remaining) :]
    except BrokenPipeError:
        pass
    except OSError as error:
        lost = DoneNotShownError(reason=error.strerror or str(error))
        with contextlib.suppress(OSError):
            os.write(2, f"fairq: {answer.get('refused', lost)}\n".encode("utf-8", "backslashreplace"))
        return 0 if "refused" in answer else lost.exit_code
    return 0
