"""Run work that may not return, or may use all memory, in a child process that the kernel ends.

A signal does not reach Python while HTCondor's library evaluates, so that the process itself cannot end it. The child
exits without closing resources of its parent, such as a connection to the state and its locks.
"""

from __future__ import annotations

import math
import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from fairq.engine.classad.budget import Ending, Guarded

HEADROOM: Final = 512 * 2**20
"""Bytes of memory that the work may use in addition to the process."""

MOST_RESULTS: Final = 64 * 2**20
"""Maximum bytes of results."""

_OUT_OF_MEMORY: Final = 3
_FAILED: Final = 4
_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG
_SIZE: Final = 8  # bytes before each result, its length


def guarded(work: Callable[[], Iterator[Any]], seconds: float) -> Guarded:
    """Return the results of *work* in a child process, until it has used these CPU *seconds* or too much memory.

    Results before the end are kept. Work that waits instead of computing is also ended, after ten times that time.
    """
    import ctypes

    process_control = ctypes.CDLL(None).prctl
    parent = os.getpid()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # NumPy's threads compute nothing here, and the child starts none.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            process_control(_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(_FAILED)
            _work(work, seconds, writing)
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)
        finally:
            os._exit(_FAILED)
    os.close(writing)
    ended = None
    try:
        data, ended = _read(reading, time.monotonic() + 10 * (seconds + 1))
    finally:
        os.close(reading)
        if ended is not Ending.DONE:
            os.kill(child, signal.SIGKILL)
        _, status, usage = os.wait4(child, 0)
    if ended is Ending.DONE:
        ended = _ending(os.waitstatus_to_exitcode(status))
    return Guarded(list(_results(data)), ended, usage.ru_utime + usage.ru_stime)


def _work(work: Callable[[], Iterator[Any]], seconds: float, writing: int) -> NoReturn:
    import resource

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPROF, signal.SIGXCPU, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # The library reports the cause of its end on stderr.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    _restrict(resource.RLIMIT_CORE, 0)
    _restrict(resource.RLIMIT_AS, _memory() + HEADROOM)
    _restrict(resource.RLIMIT_CPU, math.ceil(seconds) + 1)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    for value in work():
        data = pickle.dumps(value)
        _write(writing, len(data).to_bytes(_SIZE, "little") + data)
    os._exit(0)


def _restrict(resource_number: int, maximum: int) -> None:
    import resource

    hard = resource.getrlimit(resource_number)[1]
    resource.setrlimit(resource_number, (maximum if hard == resource.RLIM_INFINITY else min(maximum, hard), hard))


def _memory() -> int:
    """Return the bytes of address space that this process has."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _read(descriptor: int, deadline: float) -> tuple[bytes, Ending]:
    """Return the data until the other end is closed, there is too much data, or *deadline* is reached."""
    parts: list[bytes] = []
    size = 0
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        part = os.read(descriptor, 2**20)
        if not part:
            return b"".join(parts), Ending.DONE
        size += len(part)
        if size > MOST_RESULTS:
            return b"".join(parts), Ending.MEMORY
        parts.append(part)
    return b"".join(parts), Ending.TIME


def _results(data: bytes) -> Iterator[Any]:
    """Yield the results that arrived completely."""
    position = 0
    while position + _SIZE <= len(data):
        end = position + _SIZE + int.from_bytes(data[position : position + _SIZE], "little")
        if end > len(data):
            return
        yield pickle.loads(data[position + _SIZE : end])
        position = end


def _ending(code: int) -> Ending:
    if code == 0:
        return Ending.DONE
    if code in (-signal.SIGPROF, -signal.SIGXCPU):
        return Ending.TIME
    # the library gives up without memory, or the system chose this process to end
    return Ending.MEMORY if code in (_OUT_OF_MEMORY, -signal.SIGABRT, -signal.SIGKILL) else Ending.CRASH
