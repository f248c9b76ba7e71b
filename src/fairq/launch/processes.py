"""Processes, identified by number, start in ticks since boot, and boot id. Uses the standard library only."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from functools import cache

_CHUNK = 65536
_BOOT = "/proc/sys/kernel/random/boot_id"


def text_of(path: str) -> bytes:
    """Return the content of a small file, e.g. in /proc; empty if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    text = b""
    try:
        while part := os.read(descriptor, _CHUNK):
            text += part
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return text


@cache
def boot_id() -> str:
    """Return the kernel's id of this boot."""
    return text_of(_BOOT).decode("ascii").strip()


def boot_time() -> int:
    """Return when this machine was booted, in seconds since 1970."""
    with open("/proc/stat", encoding="ascii") as file:  # noqa: PTH123
        return next(int(line.split()[1]) for line in file if line.startswith("btime "))


def stat_of(pid: int) -> tuple[int, int, int, str] | None:
    """Return (parent, session, start in ticks since boot, state letter) of a process; None if it is gone."""
    text = text_of(f"/proc/{pid}/stat")
    if not text:
        return None
    # The program name may contain blanks and parentheses.
    fields = text[text.rfind(b")") + 2 :].split()
    return int(fields[1]), int(fields[3]), int(fields[19]), fields[0].decode("ascii")


def start_of(pid: int) -> int | None:
    """Return when a process started, in ticks since boot; None if it does not exist or is a zombie.

    In some containers, nothing reaps zombies.
    """
    stat = stat_of(pid)
    return None if stat is None or stat[3] == "Z" else stat[2]


def numbers() -> list[int]:
    """Return the numbers of all processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208


def descendants(root: int) -> dict[int, int]:
    """Return the descendants of *root* without zombies, each with its start in ticks since boot."""
    children: dict[int, list[tuple[int, int, bool]]] = {}
    for pid in numbers():
        stat = stat_of(pid)
        if stat is not None:
            children.setdefault(stat[0], []).append((pid, stat[2], stat[3] != "Z"))
    starts: dict[int, int] = {}
    pending = [root]
    while pending:
        for child, start, lives in children.get(pending.pop(), ()):
            pending.append(child)
            if lives:
                starts[child] = start
    return starts


def send(pid: int, start: int, signal_number: int) -> bool:
    """Send a signal to the process *pid* that started at *start*; False if it is gone or *pid* was reused."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if start_of(pid) != start:
            return False
        signal.pidfd_send_signal(descriptor, signal_number)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def memory_of(pid: int) -> int:
    """Return the memory of a process in KB; shared memory counts in proportion (PSS)."""
    for line in text_of(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith(b"Pss:"):
            return int(line.split()[1])
    words = text_of(f"/proc/{pid}/statm").split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE") // 1024 if words else 0


def wait_for_child(child: int, seconds: float) -> None:
    """Wait until *child*, which leads a process group, has ended; after *seconds*, kill the group."""
    descriptor = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(int(1000 * seconds)):
            with suppress(OSError):
                os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    finally:
        os.close(descriptor)
