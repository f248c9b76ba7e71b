"""The helper with the rights of the pool's account: it reads the state, so that root need not."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from typing import Any, Self

from fairq.launch import processes
from fairq.launch.root.document import LARGEST
from fairq.launch.root.policy import Policy
from fairq.launch.supervisor.identity import become

_PATIENCE = 60.0
"""Seconds that the helper may take for its document."""

_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from fairq.steps.launch.decisions import main; main(sys.argv[2:])"
_SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}


class HelperError(Exception):
    """The helper gave no document."""


class Helper:
    """A process of the pool's account that describes the decided runs, and learns which event logs were written."""

    def __init__(self, policy: Policy) -> None:
        """Start it with only two pipes; its standard error is the caller's."""
        stdin, self._to_helper = os.pipe()
        self._from_helper, stdout = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            with contextlib.suppress(BaseException):
                os.setsid()
                os.dup2(stdin, 0)
                os.dup2(stdout, 1)
                os.closerange(3, 1 << 20)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                become(policy.account)
                os.umask(0o077)
                command = [sys.executable, "-I", "-B", "-c", _CODE, _SOURCE, policy.site, policy.state]
                os.execve(sys.executable, command, _ENVIRONMENT)
            os._exit(127)
        os.close(stdin)
        os.close(stdout)

    def __enter__(self) -> Self:
        """Return the helper."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the helper end; kill it if it does not."""
        for descriptor in (self._to_helper, self._from_helper):
            os.close(descriptor)
        processes.wait_for_child(self._child, _PATIENCE)

    def ask(self) -> bytes:
        """Return the document, one line; raises HelperError if it does not arrive in time or is too large."""
        deadline = time.monotonic() + _PATIENCE
        chunks: list[bytes] = []
        size = 0
        while not (chunks and chunks[-1].endswith(b"\n")):
            if not select.select([self._from_helper], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise HelperError("the state was not read in time; look for a process that has it locked")
            chunks.append(os.read(self._from_helper, 1 << 20))
            size += len(chunks[-1])
            if not chunks[-1] or size > LARGEST:
                raise HelperError("the decided runs were not described")
        return b"".join(chunks)

    def send(self, answer: dict[str, Any]) -> None:
        """Send the helper what was done; it stores this in the state."""
        with contextlib.suppress(OSError):
            content = json.dumps(answer).encode() + b"\n"
            while content:
                content = content[os.write(self._to_helper, content) :]
