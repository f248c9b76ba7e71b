"""Runs whose supervisor is gone, and runs that the state has forgotten."""

from __future__ import annotations

import os
import time

from fairq.launch import processes
from fairq.launch.root.policy import Policy
from fairq.launch.strays import end_strays
from fairq.launch.supervisor import record
from fairq.launch.supervisor.identity import run_in_child

_PATIENCE = 20
"""Seconds until the removal of a directory is given up; a later call tries again."""


def end(policy: Policy, directory: int, run: str) -> None:
    """End the processes of a run that has begun but has no supervisor; then record its end as lost."""
    try:
        run_directory = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return
    lock = None
    try:
        begun = record.read(run_directory, "begun")
        if record.exists(run_directory, "end") or not record.exists(run_directory, "begun"):
            return
        lock = record.lock(run_directory)
        # The supervisor may have ended meanwhile.
        if lock is None or record.exists(run_directory, "end"):
            return
        begun = begun if isinstance(begun, dict) else {}
        facts = {"run": run, **{name: begun.get(name) for name in ("pid", "start", "boot")}, "reason": "lost"}
        if begun.get("boot") not in (None, processes.boot_id()):
            facts["detail"] = "the machine was rebooted"
        else:
            group = f"{begun['cgroup']}/{run}" if begun.get("cgroup") else None
            if end_strays(run, record.read(run_directory, "job"), group, begun.get("uid")):
                return
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            facts |= {"detail": "its supervisor was killed", "ended": time.time(), "ended_boottime": now}
        record.write_end(f"{policy.runs}/{run}", run_directory, None, facts)
        _remove(f"{policy.runs}/{run}/{record.SCRATCH}")
    finally:
        if lock is not None:
            os.close(lock)
        os.close(run_directory)


def forget(policy: Policy, directory: int, run: str) -> None:
    """Remove the directory of a run that has ended, or never began."""
    try:
        run_directory = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return
    try:
        if record.is_locked(run_directory) or (
            record.exists(run_directory, "begun") and not record.exists(run_directory, "end")
        ):
            return
    finally:
        os.close(run_directory)
    _remove(f"{policy.runs}/{run}")


def _remove(path: str) -> None:
    """Remove a tree in which a user may still write: rm follows no links and stays in this file system."""
    if not os.path.lexists(path):
        return
    command = ["rm", "-rf", "--one-file-system", "--", path]
    run_in_child(lambda: os.execve("/bin/rm", command, {"PATH": os.defpath}), None, _PATIENCE)
