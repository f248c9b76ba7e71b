"""The external input of a submit description: files, pipes and the output of commands, with limits on time and size."""

from __future__ import annotations

import errno
import os
import select
import signal
import stat
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from fairq.common.inputs import LARGEST, too_large

_CHUNK = 1 << 16


class Output(NamedTuple):
    """The output of a command, and its exit code."""

    text: str
    code: int


class External:
    """Reads files and the output of commands; each may take *timeout* seconds.

    Both methods raise OSError with the reason, ValueError if the content is not text, TimeoutError after *timeout*.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    def file(self, name: str) -> str:
        """Return the text of the file or pipe *name*; a pipe without a writer runs into the timeout."""
        descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            return _text(self._read_all(descriptor, self._deadline()))
        finally:
            os.close(descriptor)

    def output(self, words: Sequence[str]) -> Output:
        """Run the command *words* without input and return its output.

        On a timeout or any other error, its whole process group is killed.
        """
        deadline = self._deadline()
        # Pass os.environ: the real environment of the process also has fairq's settings for NumPy's library.
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, env=os.environ
        )
        assert process.stdout is not None
        try:
            text = _text(self._read_all(process.stdout.fileno(), deadline))
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except BaseException as failure:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(failure, subprocess.TimeoutExpired):
                raise self._timeout_error() from None
            raise
        finally:
            process.stdout.close()
        return Output(text, code)

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout

    def _timeout_error(self) -> TimeoutError:
        problem = f"it did not end within {self._timeout:g} s (submit.command_timeout)"
        return TimeoutError(errno.ETIMEDOUT, problem)

    def _read_all(self, descriptor: int, deadline: float) -> bytes:
        """Return all data from *descriptor*; raises TimeoutError after *deadline*."""
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        chunks: list[bytes] = []
        size = 0
        while (seconds := deadline - time.monotonic()) > 0:
            if not poll.poll(seconds * 1000):
                break
            with suppress(BlockingIOError):
                chunk = os.read(descriptor, _CHUNK)
                if not chunk:
                    return b"".join(chunks)
                chunks.append(chunk)
                size += len(chunk)
                if b"\0" in chunk:
                    raise ValueError("it is not text: it contains a zero byte")
                if size > LARGEST:
                    raise too_large()
        raise self._timeout_error()


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8 text") from None


def reason(problem: OSError | ValueError) -> str:
    """Return why something could not be read, in words."""
    return getattr(problem, "strerror", None) or str(problem)
