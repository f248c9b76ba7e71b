"""Processes of a run whose supervisor is gone, found by control group, session and environment."""

from __future__ import annotations

import os
import signal
import time

from fairq.launch import processes
from fairq.launch.supervisor import cgroup

MARKER = "FAIRQ_RUN"
"""The environment variable that marks every process of a run, unless the process cleared it."""

_ROUNDS = 50
_FIRST_WAIT = 0.001
_LONGEST_WAIT = 0.05


def end_strays(run: str, job: dict[str, int] | None, group: str | None, uid: int | None = None) -> list[int]:
    """Kill the remaining processes of *run*; return the ids of survivors, e.g. in uninterruptible sleep.

    *job* is its first process as the supervisor recorded it, *group* its control group. With *uid*, the marker in
    the environment counts only for processes of this user: others could set it for processes that root would kill.
    """
    wait = _FIRST_WAIT
    survivors: dict[int, int] = {}
    for _ in range(_ROUNDS):
        if group is not None:
            cgroup.kill(group)
        survivors = strays(run, job, group, uid)
        if not survivors:
            if group is not None:
                cgroup.remove(group)
            return []
        for pid, start in survivors.items():
            processes.send(pid, start, signal.SIGKILL)
        time.sleep(wait)
        wait = min(wait * 1.5, _LONGEST_WAIT)
    return sorted(survivors)


def strays(run: str, job: dict[str, int] | None, group: str | None, uid: int | None = None) -> dict[int, int]:
    """Return the existing processes of *run* and their descendants, each with its start in ticks since boot."""
    members = set(cgroup.members(group)) if group is not None else set()
    starts: dict[int, int] = {}
    marker = f"{MARKER}={run}".encode()
    leader = job["pid"] if job else None
    if leader is not None and processes.start_of(leader) not in (None, job and job["start"]):
        leader = None  # the pid was reused
    for pid in processes.numbers():
        stat = processes.stat_of(pid)
        if stat is None or stat[3] == "Z" or pid == os.getpid():
            continue
        is_inside = pid in members or (leader is not None and stat[1] == leader)
        if is_inside or (marker in _environment(pid) and uid in (None, _user_of(pid))):
            starts[pid] = stat[2]
    descendants = [processes.descendants(pid) for pid in starts]
    return {pid: start for group_starts in (*descendants, starts) for pid, start in group_starts.items()}


def _environment(pid: int) -> list[bytes]:
    return processes.text_of(f"/proc/{pid}/environ").split(b"\0")


def _user_of(pid: int) -> int | None:
    """Return the real user of a process; the owner of its directory in /proc can be root, at the process's will."""
    for line in processes.text_of(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[1])
    return None
