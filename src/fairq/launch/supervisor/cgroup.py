"""A control group (version 2) for each run, where one can be made: it ends a tree at once and limits its memory."""

from __future__ import annotations

import contextlib
import os
import time

_PATIENCE = 5.0
"""Seconds that killed processes may take to leave their group; the caller tries again afterwards."""


def base(setting: str) -> str | None:
    """Return the directory under which groups for runs can be made; None if there is none.

    *setting* is that directory, ``auto`` (a group ``fairq`` inside this process's own) or ``none``.
    """
    if setting == "none":
        return None
    place = setting if setting != "auto" else _own()
    if place is None:
        return None
    try:
        os.makedirs(place, exist_ok=True)  # noqa: PTH103 - a supervisor imports no pathlib
        with open(f"{place}/cgroup.controllers", encoding="ascii") as file:  # noqa: PTH123
            found = [name for name in ("memory", "pids") if name in file.read().split()]
    except OSError:
        return None
    if found:
        # Where processes are in the group above, the kernel refuses: then groups only end trees.
        _write(f"{place}/cgroup.subtree_control", " ".join(f"+{name}" for name in found))
    return place if os.access(place, os.W_OK) else None


def _own() -> str | None:
    """Return where a group inside this process's own would be."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            mounts = [line.split(" - ") for line in file]
        with open("/proc/self/cgroup", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            own = next(line[3:].strip() for line in file if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    for left, right in mounts:
        if right.startswith("cgroup2 "):
            mount = left.split()[4]
            return f"{mount}{own.rstrip('/')}/fairq"
    return None


def make(place: str, run: str, memory_mb: int | None) -> str | None:
    """Make the group of *run* with a limit of memory, if any; None if it cannot be made."""
    group = f"{place}/{run}"
    try:
        os.mkdir(group)  # noqa: PTH102
    except FileExistsError:
        pass
    except OSError:
        return None
    if memory_mb is not None:
        _write(f"{group}/memory.max", str(memory_mb * 1024**2))
        _write(f"{group}/memory.swap.max", "0")
        # The whole job ends, not one process of it.
        _write(f"{group}/memory.oom.group", "1")
    return group


def limits_memory(group: str) -> bool:
    """Tell whether the kernel limits the memory of *group*."""
    return os.path.exists(f"{group}/memory.max")  # noqa: PTH110


def enter(group: str) -> None:
    """Put this process into *group*; raises OSError."""
    with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("0")


def members(group: str) -> list[int]:
    """Return the processes in *group*."""
    return [int(line) for line in _read(f"{group}/cgroup.procs").split()]


def kill(group: str) -> None:
    """End every process in *group* at once, and wait a while until they have left it."""
    if not _write(f"{group}/cgroup.kill", "1"):
        return
    end = time.monotonic() + _PATIENCE
    while "populated 1" in _read(f"{group}/cgroup.events") and time.monotonic() < end:
        time.sleep(0.001)


def is_empty(group: str) -> bool:
    """Tell whether no process is in *group*, or in a group inside it."""
    return "populated 1" not in _read(f"{group}/cgroup.events")


def remove(group: str) -> None:
    """Remove an empty group, and what a job made inside it."""
    for directory, names, _ in os.walk(group, topdown=False):
        for name in names:
            _remove(f"{directory}/{name}")
    _remove(group)


def killed_for_memory(group: str) -> bool:
    """Tell whether the kernel ended *group* for its memory."""
    words = _read(f"{group}/memory.events").split()
    return any(name.startswith("oom") and count != "0" for name, count in zip(words[::2], words[1::2], strict=False)
               if name in ("oom_kill", "oom_group_kill"))  # fmt: skip


def peak_kb(group: str) -> int | None:
    """Return the most memory that *group* had, in KB; None where the kernel does not tell."""
    text = _read(f"{group}/memory.peak").strip()
    return int(text) // 1024 if text.isdigit() else None


def _remove(group: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(group)  # noqa: PTH106


def _write(path: str, text: str) -> bool:
    try:
        with open(path, "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(text)
    except OSError:
        return False
    return True


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""
