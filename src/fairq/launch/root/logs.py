"""The event logs of jobs, written with the rights of the jobs' owners."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from typing import Any

from fairq.launch.root.document import WrongError, check_log
from fairq.launch.root.owners import RefusedError, account_of
from fairq.launch.root.policy import Policy
from fairq.launch.supervisor.identity import Account, become

_PATIENCE = 5.0
"""Seconds for all logs: a file system of an owner may hang, and others must not wait for it longer."""


def write(logs: list[dict[str, Any]], policy: Policy) -> list[int]:
    """Write the entries of *logs*; return the indices of the logs that are done.

    Each owner has one process, with only the owner's rights. An invalid log, or one whose owner is refused, is also
    done: it can never be written.
    """
    done: list[int] = []
    by_owner: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for index, log in enumerate(logs):
        try:
            check_log(log)
        except WrongError:
            done.append(index)
            continue
        by_owner.setdefault(log["owner"], []).append((index, log))
    writers: dict[int, tuple[int, set[int]]] = {}
    outputs: dict[int, bytes] = {}
    for owner, owner_logs in by_owner.items():
        try:
            reader, child = _fork(account_of(owner, policy), owner_logs)
        except RefusedError:
            done += [index for index, _ in owner_logs]
            continue
        except OSError:
            continue
        writers[reader], outputs[reader] = (child, {index for index, _ in owner_logs}), b""
    deadline = time.monotonic() + _PATIENCE
    unfinished = set(writers)
    while unfinished and (seconds := deadline - time.monotonic()) > 0:
        for reader in select.select(list(unfinished), [], [], seconds)[0]:
            text = os.read(reader, 1 << 16)
            outputs[reader] += text
            if not text:
                unfinished.discard(reader)
    for reader, (child, indices) in writers.items():
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        done += [
            index for line in outputs[reader].split(b"\n")[:-1] if line.isdigit() and (index := int(line)) in indices
        ]
    return done


def _fork(owner: Account, logs: list[tuple[int, dict[str, Any]]]) -> tuple[int, int]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.dup2(writer, 3, inheritable=False)
            os.closerange(4, 1 << 20)
            os.setsid()
            become(owner)
            from fairq.launch.event_log import append

            for index, log in logs:
                with contextlib.suppress(OSError):
                    append(log["path"], [entry.encode("utf-8", "surrogateescape") for entry in log["entries"]])
                    os.write(3, f"{index}\n".encode())
        os._exit(0)
    os.close(writer)
    return reader, child
