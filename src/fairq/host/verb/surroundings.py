"""Drop all that a process inherits from its caller but the document: session, signals, limits, directory, variables."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from fairq.errors.people import SurroundingsError

_IGNORED = (
    signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE,
    signal.SIGXFSZ,
)  # fmt: skip
"""Signals of a terminal, and PIPE and XFSZ, which become errors of the write if ignored."""

_MINIMUM_LIMITS = {
    "open files": (resource.RLIMIT_NOFILE, 64),
    "CPU time": (resource.RLIMIT_CPU, 600),
    "file size": (resource.RLIMIT_FSIZE, 1 << 40),
    "address space": (resource.RLIMIT_AS, 4 << 30),
    "data segment": (resource.RLIMIT_DATA, 4 << 30),
    "stack": (resource.RLIMIT_STACK, 1 << 20),
}
"""Minimum resource limits for a change; with lower limits, the caller could make it fail at a chosen moment."""

_NICEST = 10
"""Highest nice value: a nicer process could hold the lock for long on a busy machine."""

_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
"""Numbers of the system call ioprio_set, for which Python has no function, by machine."""

_BEST_EFFORT = 2 << 13 | 4
"""The usual I/O priority, see ioprio_set(2)."""

_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}


def run_in_session(work: Callable[[], int]) -> int:
    """Do *work* in a child process with its own session and return its exit code.

    The caller's terminal can stop or end the waiting parent, but not the child.
    """
    for signal_number in signal.valid_signals():
        with contextlib.suppress(OSError, ValueError):  # signals that cannot be set
            signal.signal(signal_number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for signal_number in _IGNORED:
        signal.signal(signal_number, signal.SIG_IGN)
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        os.setsid()
        code = work()
        sys.stdout.flush()
    finally:
        os._exit(code)


def clear() -> None:
    """Keep only standard input and output of the caller: no other descriptor, variable, directory, umask or group.

    Raises SurroundingsError if something cannot be dropped.
    """
    for number, unusable in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, None)):
        try:
            mode = fcntl.fcntl(number, fcntl.F_GETFL)
        except OSError:
            raise SurroundingsError(problem=f"descriptor {number} is closed or a directory", cure="open it") from None
        if mode & os.O_PATH or mode & os.O_ACCMODE == unusable:
            operation = "written" if number else "read"
            raise SurroundingsError(problem=f"descriptor {number} cannot be {operation}", cure="open it for that")
    for number in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if number > 2:  # one descriptor belonged to the directory listing and is already closed
            with contextlib.suppress(OSError):
                os.close(number)
    os.environ.clear()
    os.environ.update(_ENVIRONMENT)
    os.umask(0o077)
    os.chdir("/")
    if os.getuid() != os.geteuid() or os.getgid() != os.getegid():
        raise SurroundingsError(problem="real and effective user differ", cure="run it by sudo")
    if set(os.getgroups()) - {os.getgid()}:
        raise SurroundingsError(problem="it has the caller's groups", cure="run sudo without -P")
    _run_as_usual()
    for name, (limit, minimum) in _MINIMUM_LIMITS.items():
        soft, hard = resource.getrlimit(limit)
        if 0 <= soft < minimum:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(limit, (hard, hard))
            soft = resource.getrlimit(limit)[0]
        if 0 <= soft < minimum:
            raise SurroundingsError(problem=f"the limit of {name} is {soft}", cure=f"raise it to {minimum} with ulimit")


def _run_as_usual() -> None:
    """Use all cores with the usual scheduling; raises SurroundingsError if the process must run too slowly.

    A process that gets little CPU time would keep others waiting while it holds the lock. `fairq.host.client.stuck`
    ends one that holds the lock too long, e.g. in a frozen control group.
    """
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    if (number := _IOPRIO_SET.get(os.uname().machine)) is not None:
        import ctypes

        ctypes.CDLL(None).syscall(number, 1, 0, _BEST_EFFORT)
    if os.sched_getscheduler(0) == os.SCHED_IDLE:
        raise SurroundingsError(problem="it has the scheduling policy idle", cure="run it without chrt or schedtool")
    if (nice := os.getpriority(os.PRIO_PROCESS, 0)) > _NICEST:
        raise SurroundingsError(problem=f"its nice value is {nice}", cure=f"run it with at most {_NICEST}")
