"""A control group (version 2) per run, where possible: it kills a process tree at once and limits its memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time

from fairq.launch import processes

_CLONE3 = 435
"""The number of the clone3 system call, the same on every architecture."""
_INTO_CGROUP = 0x200000000  # CLONE_INTO_CGROUP
# PyDLL keeps the interpreter lock during the call, so that the child holds it.
_LIBRARY = ctypes.PyDLL(None, use_errno=True)

_PATIENCE = 5.0
"""Seconds to wait for killed processes to leave their group; the caller tries again later."""


def base(setting: str) -> str | None:
    """Return the directory in which groups for runs can be created; None if there is none.

    *setting* is that directory, ``auto`` (a group ``fairq`` inside this process's own) or ``none``.
    """
    if setting == "none":
        return None
    path = setting if setting != "auto" else _own_path()
    if path is None:
        return None
    try:
        os.makedirs(path, exist_ok=True)  # noqa: PTH103 - a supervisor imports no pathlib
        with open(f"{path}/cgroup.controllers", encoding="ascii") as file:  # noqa: PTH123
            available = file.read().split()
    except OSError:
        return None
    controllers = [name for name in ("memory", "pids") if name in available]
    if controllers:
        # The kernel refuses if the parent group contains processes: then groups only kill trees.
        _write(f"{path}/cgroup.subtree_control", " ".join(f"+{name}" for name in controllers))
    return path if os.access(path, os.W_OK) else None


def _own_path() -> str | None:
    """Return the path of a group inside this process's own group."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            mounts = [line.split(" - ") for line in file]
        with open("/proc/self/cgroup", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            own_group = next(line[3:].strip() for line in file if line.startswith("0::"))
    except (OSError, StopIteration):
        return None
    for mount_fields, filesystem in mounts:
        if filesystem.startswith("cgroup2 "):
            mount = mount_fields.split()[4]
            return f"{mount}{own_group.rstrip('/')}/fairq"
    return None


def make(parent: str, run: str, memory_mb: int | None) -> str | None:
    """Create the group of *run*, with a memory limit if given; return None on failure."""
    group = f"{parent}/{run}"
    try:
        os.mkdir(group)  # noqa: PTH102
    except FileExistsError:
        pass
    except OSError:
        return None
    if memory_mb is not None:
        _write(f"{group}/memory.max", str(memory_mb * 1024**2))
        _write(f"{group}/memory.swap.max", "0")
        # The kernel's OOM killer must end the whole job, not one process.
        _write(f"{group}/memory.oom.group", "1")
    return group


def limits_memory(group: str) -> bool:
    """Return whether the kernel limits the memory of *group*."""
    return _read(f"{group}/memory.max").strip().isdigit()


def fork(group: str) -> int:
    """Fork a child that is in *group* from its first instant; return -1 if the kernel cannot.

    Moving a process into a group takes the kernel milliseconds; a child that starts there costs nothing extra.
    The child must not create threads and must soon execute another program.
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
    """Kill every process in *group* at once; wait briefly for them to leave it."""
    if is_empty(group) or not _write(f"{group}/cgroup.kill", "1"):
        return
    deadline = time.monotonic() + _PATIENCE
    while "populated 1" in _read(f"{group}/cgroup.events") and time.monotonic() < deadline:
        time.sleep(0.001)


def is_empty(group: str) -> bool:
    """Return whether no process is in *group*, or in a group inside it."""
    return "populated 1" not in _read(f"{group}/cgroup.events")


def remove(group: str) -> None:
    """Remove an empty group and the groups that a job created inside it."""
    for directory, names, _ in os.walk(group, topdown=False):
        for name in names:
            _remove(f"{directory}/{name}")
    _remove(group)


def killed_for_memory(group: str) -> bool:
    """Return whether the kernel's OOM killer ended processes of *group*."""
    words = _read(f"{group}/memory.events").split()
    return any(name.startswith("oom") and count != "0" for name, count in zip(words[::2], words[1::2], strict=False)
               if name in ("oom_kill", "oom_group_kill"))  # fmt: skip


def peak_kb(group: str) -> int | None:
    """Return the peak memory of *group* in KB; None if the kernel does not report it."""
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
