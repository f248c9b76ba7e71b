"""The supervisor of a run whose job has another user's rights. It stays root, and reads no file of the user.

Root owns the run's directory. Its group, that of the pool's account, can read the files; everybody may pass through
to the scratch directory. Orders lie in a directory of the account, which wakes the supervisor through the named pipe
``wake``: the account may not signal a process of root. The content of the pipe has no meaning.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import stat
import time
from typing import Any

from fairq.launch.supervisor import record
from fairq.launch.supervisor.identity import run_in_child
from fairq.launch.supervisor.watch import Supervisor, tell

WAKE = "wake"
"""The named pipe in the run's directory."""

_KEPT = ("out", "err")
_PATIENCE = 30.0
"""Seconds until the removal of a scratch directory is given up; the part that runs as root tries again later."""
_POLL_SECONDS = 1.0
_LONGEST_ORDER = 200


class OwnedSupervisor(Supervisor):
    """Supervises a run of the user ``spec["owner"]``; ``spec["orders"]`` is the directory of the run's orders.

    With ``spec["refusal"]`` (step, errno, text), the job does not start, and the run ends for this reason.
    """

    wake_signals = (signal.SIGCHLD, signal.SIGTERM, signal.SIGIO)
    umask = 0o027

    def _prepare(self) -> list[Any] | None:
        # Answer now: the starter must not wait for a file system of the owner.
        tell(self.report, {"run": self.spec["run"]})
        if self.spec["refusal"] is not None:
            return list(self.spec["refusal"])
        owner = self.spec["owner"]
        try:
            self._wake = os.open(WAKE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self.directory)
            # The kernel turns a write to the pipe into a signal, which waits until it is taken.
            fcntl.fcntl(self._wake, fcntl.F_SETOWN, os.getpid())
            flags = fcntl.fcntl(self._wake, fcntl.F_GETFL)
            fcntl.fcntl(self._wake, fcntl.F_SETFL, flags | os.O_ASYNC)
            os.mkdir(record.SCRATCH, 0o700, dir_fd=self.directory)
            os.chown(record.SCRATCH, owner["uid"], owner["gid"], dir_fd=self.directory, follow_symlinks=False)
            # Clear the setgid bit inherited from the run's directory, which would give its group to all files.
            os.chmod(record.SCRATCH, 0o700, dir_fd=self.directory)
            for name in self._kept_names():
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                descriptor = os.open(name, flags, 0o640, dir_fd=self.directory)
                os.fchown(descriptor, owner["uid"], -1)
                os.close(descriptor)
        except OSError as error:
            return ["scratch", error.errno or 0, error.strerror or str(error)]
        return None

    def _kept_names(self) -> list[str]:
        outputs = (self.spec["output"], self.spec["error"])
        return [name for name in _KEPT if f"{self.path}/{name}" in outputs]

    def _kept_paths(self) -> list[str]:
        return [f"{self.path}/{name}" for name in self._kept_names()]

    def _order(self) -> str | None:
        """Return the reason of the order; ignore all but a short word, because the account can write anything there."""
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(f"{self.spec['orders']}/order", flags)
        except OSError:
            return None
        try:
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            reason = json.loads(os.read(descriptor, _LONGEST_ORDER))["order"] if is_file else None
        except (OSError, ValueError, TypeError, KeyError):
            return None
        finally:
            os.close(descriptor)
        return reason if isinstance(reason, str) and reason.isalpha() and len(reason) <= 20 else None

    def _obey(self, signal_number: int) -> None:
        if signal_number == signal.SIGIO:
            self._drain()
        super()._obey(signal_number)

    def _drain(self) -> None:
        with contextlib.suppress(OSError):
            while os.read(self._wake, 4096):
                pass

    def _read_failure(self, descriptor: int) -> bytes:
        """Return why the job's program cannot be executed; empty if it can. A file system of the owner may delay this.

        While waiting, obey orders and the time limits.
        """
        text = b""
        poll = select.poll()
        for watched in (descriptor, self._wake):
            poll.register(watched, select.POLLIN)
        while True:
            ready = {watched for watched, _ in poll.poll(int(1000 * _POLL_SECONDS))}
            if descriptor in ready:
                chunk = os.read(descriptor, 4096)
                if not chunk:
                    return text
                text += chunk
            self._drain()
            now = time.clock_gettime(time.CLOCK_BOOTTIME)
            exceeded = [reason for date, reason in self._limits() if date <= now]
            terminated = ["terminated"] if signal.SIGTERM in signal.sigpending() else []
            order = self._order()
            reasons = [*([order] if order else []), *terminated, *exceeded]
            if reasons and self.reason == "exit":
                self.reason = reasons[0]
                os.kill(self.job, signal.SIGKILL)

    def _remove_scratch(self) -> None:
        """Remove the scratch directory: its content with the owner's rights, which may take long or hang."""
        path = f"{self.path}/{record.SCRATCH}"
        try:
            os.rmdir(path)  # noqa: PTH106 - a supervisor imports no pathlib
        except FileNotFoundError:
            return
        except OSError:
            if self.spec["owner"] is not None:
                run_in_child(lambda: record.remove_tree(path), self.spec["owner"], _PATIENCE)
            with contextlib.suppress(OSError):
                os.rmdir(path)  # noqa: PTH106
