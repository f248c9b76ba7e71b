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
"""Seconds for all logs: a file system of an owner may hang, and nobody else waits for it longer."""


def write(logs: list[dict[str, Any]], policy: Policy) -> list[int]:
    """Write the entries of *logs*; return the numbers of those logs that are done.

    Each owner has one process, which has only the owner's rights. A log that its owner deleted, or of an owner who is
    gone, is done as well if nobody can ever write it.
    """
    done: list[int] = []
    by_owner: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, log in enumerate(logs):
        try:
            check_log(log)
        except WrongError:
            done.append(number)
            continue
        by_owner.setdefault(log["owner"], []).append((number, log))
    writers: dict[int, tuple[int, set[int]]] = {}
    told: dict[int, bytes] = {}
    for owner, mine in by_owner.items():
        try:
            hear, child = _fork(account_of(owner, policy), mine)
        except RefusedError:
            done += [number for number, _ in mine]
            continue
        except OSError:
            continue
        writers[hear], told[hear] = (child, {number for number, _ in mine}), b""
    end = time.monotonic() + _PATIENCE
    waiting = set(writers)
    while waiting and (left := end - time.monotonic()) > 0:
        for hear in select.select(list(waiting), [], [], left)[0]:
            text = os.read(hear, 1 << 16)
            told[hear] += text
            if not text:
                waiting.discard(hear)
    for hear, (child, mine_) in writers.items():
        os.close(hear)
        os.kill(child, signal.SIGKILL)
        done += [number for line in told[hear].split(b"\n")[:-1] if line.isdigit() and (number := int(line)) in mine_]
    return done


def _fork(owner: Account, logs: list[tuple[int, dict[str, Any]]]) -> tuple[int, int]:
    hear, say = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.dup2(say, 3, inheritable=False)
            os.closerange(4, 1 << 20)
            os.setsid()
            become(owner)
            from fairq.launch.event_log import append

            for number, log in logs:
                with contextlib.suppress(OSError):
                    append(log["path"], [entry.encode("utf-8", "surrogateescape") for entry in log["entries"]])
                    os.write(3, f"{number}\n".encode())
        os._exit(0)
    os.close(say)
    return hear, child
