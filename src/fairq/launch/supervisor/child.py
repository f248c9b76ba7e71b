"""From the fork to the program of the job: session, limits, directory, files, signals, exec."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import signal
from collections.abc import Iterator
from typing import Any, NoReturn

from fairq.launch import processes
from fairq.launch.supervisor import cgroup, record, terminal
from fairq.launch.supervisor.executable import fault_of
from fairq.launch.supervisor.identity import become

IGNORED = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGPIPE", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGXFSZ", "SIGUSR1", "SIGUSR2")
"""The signals that a supervisor ignores but a job must not ignore."""

_OUT_OF_MEMORY_SCORE = "500"
"""The oom_score_adj of jobs: out of memory, the kernel kills jobs before supervisors and other people's programs."""


def become_job(
    spec: dict[str, Any], directory: int, group: str | None, report: int, pair: tuple[int, int] | None
) -> NoReturn:
    """Turn this process into the job; on a failure, report (step, errno, text) as JSON and exit.

    *pair* are the sides of the terminal of an interactive job.
    """
    step = "session"
    try:
        os.setsid()
        # This process shares the supervisor's lock until its pid is recorded: until then, the run does not seem lost.
        record.note_job(directory, {"pid": os.getpid(), "start": processes.start_of(os.getpid())})
        # Before any file is opened: a job that waits for one must not keep the lock.
        _close_all_but(report, *(pair or ()))
        step = "limits"
        for name, value in spec["limits"].items():
            kind = getattr(resource, name)
            _, hard = resource.getrlimit(kind)
            top = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (top, hard))
        _set_oom_score()
        if spec["cores"]:
            os.sched_setaffinity(0, spec["cores"])
        if group is not None:
            step = "cgroup"
            cgroup.enter(group)
        os.umask(spec["umask"])
        if spec["owner"] is None:
            step = "scratch"
            os.mkdir(f"{spec['run_directory']}/{record.SCRATCH}", 0o700)  # noqa: PTH102
        else:
            # Before any file of the owner is touched: the owner's rights decide on every path.
            step = "account"
            become(spec["owner"])
        step = "log"
        if spec["log"]:
            # Before the program runs: without its log, a process that waits for the job's events would wait forever.
            os.close(_open(spec["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND))
        step = "directory"
        os.chdir(spec["directory"])
        for opening in _open_files(spec, pair):
            step = opening
        step = "program"
        _default_signals()
        _execute(spec["program"], spec["environment"])
    except BaseException as error:
        number = error.errno if isinstance(error, OSError) and error.errno else 0
        text = os.strerror(number) if number else f"{type(error).__name__}: {error}"
        if step == "program" and isinstance(error, OSError) and isinstance(error.filename, str):
            step, text = fault_of(error.filename, number) or (step, text)
        os.write(report, json.dumps([step, number, text]).encode())
    os._exit(127)


def _open_files(spec: dict[str, Any], pair: tuple[int, int] | None) -> Iterator[str]:
    """Open the standard files of the job; yield each step before it is made."""
    if pair is not None:
        master, slave = pair
        yield "terminal"
        terminal.hand_over(spec["terminal"], master)
        terminal.become_controlling(slave)
        return
    yield "input"
    _duplicate_to(0, _open(spec["input"] or os.devnull, os.O_RDONLY))
    yield "output"
    _duplicate_to(1, _open_output(spec, "output"))
    yield "error"
    if spec["error"] == spec["output"]:
        os.dup2(1, 2)
    else:
        _duplicate_to(2, _open_output(spec, "error"))


def _close_all_but(*descriptors: int) -> None:
    """Close all files but the standard ones and these *descriptors*, which close when the program is executed."""
    first = 3
    for descriptor in sorted(descriptors):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, 1 << 20)


def _set_oom_score() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(_OUT_OF_MEMORY_SCORE)
    except OSError:
        pass


def _open(path: str, flags: int) -> int:
    # Nonblocking: a named pipe without a process at its other end must not delay the start of other jobs.
    descriptor = os.open(path, flags | os.O_NOCTTY | os.O_NONBLOCK, 0o666)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    return descriptor


def _open_output(spec: dict[str, Any], stream: str) -> int:
    path = spec[stream]
    if spec["output_directory"]:
        os.makedirs(spec["output_directory"], 0o700, exist_ok=True)  # noqa: PTH103
    mode = os.O_APPEND if path in spec["append"] else os.O_TRUNC
    return _open(path, os.O_WRONLY | os.O_CREAT | mode)


def _duplicate_to(number: int, descriptor: int) -> None:
    os.dup2(descriptor, number)
    if descriptor > 3:
        os.close(descriptor)


def _default_signals() -> None:
    # exec resets signal handlers but keeps ignored signals ignored.
    for name in IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _execute(program: list[str], environment: dict[str, str]) -> None:
    name = program[0]
    if "/" in name:
        os.execve(name, program, environment)
    failure: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for directory in environment.get("PATH", os.defpath).split(":"):
        try:
            os.execve(f"{directory or '.'}/{name}", program, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            failure = error
    raise failure
