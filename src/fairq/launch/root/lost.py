"""Runs whose supervisor is gone, and runs that the state has forgotten."""

from __future__ import annotations

import os
import time

from fairq.launch import processes
from fairq.launch.root.policy import Policy
from fairq.launch.strays import end_strays
from fairq.launch.supervisor import record
from fairq.launch.supervisor.identity import work_apart

_PATIENCE = 20
"""Seconds until the removal of a directory is given up; a later call tries again."""


def end(policy: Policy, directory: int, run: str) -> None:
    """End the processes of a run that has begun but has no supervisor; then record its end as lost."""
    try:
        place = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return
    lock = None
    try:
        begun = record.read(place, "begun")
        if record.exists(place, "end") or not record.exists(place, "begun"):
            return
        lock = record.lock(place)
        # The supervisor may have ended meanwhile.
        if lock is None or record.exists(place, "end"):
            return
        begun = begun if isinstance(begun, dict) else {}
        facts = {"run": run, **{name: begun.get(name) for name in ("pid", "start", "boot")}, "reason": "lost"}
        if begun.get("boot") not in (None, processes.boot_id()):
            facts["detail"] = "the machine was rebooted"
        else:
            group = f"{begun['cgroup']}/{run}" if begun.get("cgroup") else None
            if end_strays(run, record.read(place, "job"), group, begun.get("uid")):
                return
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            facts |= {"detail": "its supervisor was killed", "ended": time.time(), "ended_boottime": now}
        record.write_end(f"{policy.runs}/{run}", place, None, facts)
        _remove(f"{policy.runs}/{run}/{record.SCRATCH}")
    finally:
        if lock is not None:
            os.close(lock)
        os.close(place)


def forget(policy: Policy, directory: int, run: str) -> None:
    """Remove the directory of a run that has ended, or never began."""
    try:
        place = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return
    try:
        if record.is_locked(place) or (record.exists(place, "begun") and not record.exists(place, "end")):
            return
    finally:
        os.close(place)
    _remove(f"{policy.runs}/{run}")


def _remove(path: str) -> None:
    """Remove a tree in which a user may still write: rm follows no link, and stays in this file system."""
    if not os.path.lexists(path):
        return
    words = ["rm", "-rf", "--one-file-system", "--", path]
    work_apart(lambda: os.execve("/bin/rm", words, {"PATH": os.defpath}), None, _PATIENCE)
