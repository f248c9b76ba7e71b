"""Processes of a run whose supervisor is gone, found by control group, session and environment."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from fairq.launch import processes
from fairq.launch.supervisor import cgroup

MARKER = "FAIRQ_RUN"
"""The environment variable that marks every process of a run, unless the process cleared it."""

_ROUNDS = 50
_FIRST_WAIT = 0.001
_LONGEST_WAIT = 0.05


def end_strays(run: str, job: dict[str, int] | None, group: str | None) -> list[int]:
    """Kill the remaining processes of *run*; return those that survive, e.g. in uninterruptible sleep.

    *job* is its first process as the supervisor recorded it, *group* its control group.
    """
    wait = _FIRST_WAIT
    left: list[int] = []
    for _ in range(_ROUNDS):
        if group is not None:
            cgroup.kill(group)
        left = strays(run, job, group)
        if not left:
            if group is not None:
                cgroup.remove(group)
            return []
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(wait)
        wait = min(wait * 1.5, _LONGEST_WAIT)
    return left


def strays(run: str, job: dict[str, int] | None, group: str | None) -> list[int]:
    """Return the existing processes of *run* and their descendants."""
    found = set(cgroup.members(group)) if group is not None else set()
    marker = f"{MARKER}={run}".encode()
    leader = job["pid"] if job else None
    if leader is not None and processes.start_of(leader) not in (None, job and job["start"]):
        leader = None  # the pid was reused
    for pid in processes.numbers():
        about = processes.stat_of(pid)
        if about is None or about[3] == "Z" or pid == os.getpid():
            continue
        if (leader is not None and about[1] == leader) or marker in _environment(pid):
            found.add(pid)
    return sorted(found.union(*(processes.descendants(pid) for pid in found)))


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
