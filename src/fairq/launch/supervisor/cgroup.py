"""A control group (version 2) for each run, where one can be made: it ends a tree at once and limits its memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time

from fairq.launch import processes

_CLONE3 = 435
"""The number of this system call, the same on every architecture."""
_INTO_CGROUP = 0x200000000  # CLONE_INTO_CGROUP
# The interpreter keeps its lock over the call: the child goes on with it.
_LIBRARY = ctypes.PyDLL(None, use_errno=True)

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
            there = file.read().split()
    except OSError:
        return None
    found = [name for name in ("memory", "pids") if name in there]
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
    return _read(f"{group}/memory.max").strip().isdigit()


def fork(group: str) -> int:
    """Fork a child that is in *group* from its first instant; -1 where the kernel cannot.

    To move a process into a group costs the kernel milliseconds; a child that begins there costs nothing more.
    The child must have no thread and soon execute another program.
    """
    try:
        directory = os.open(group, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1
    # struct clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, stack, size, tls, set_tid, size, cgroup
    arguments = (ctypes.c_uint64 * 11)(_INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, directory)
    child = int(_LIBRARY.syscall(_CLONE3, arguments, ctypes.sizeof(arguments)))
    if child != 0:
        os.close(directory)
    return child


def enter(group: str) -> None:
    """Put this process into *group*; raises OSError."""
    descriptor = os.open(f"{group}/cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, b"0")
    finally:
        os.close(descriptor)


def members(group: str) -> list[int]:
    """Return the processes in *group*."""
    return [int(line) for line in _read(f"{group}/cgroup.procs").split()]


def kill(group: str) -> None:
    """End every process in *group* at once, and wait a while until they have left it."""
    if is_empty(group) or not _write(f"{group}/cgroup.kill", "1"):
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
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(descriptor, text.encode("ascii"))
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _read(path: str) -> str:
    return processes.text_of(path).decode("ascii", "replace")
