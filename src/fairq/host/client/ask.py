"""The caller's side of the narrow verb: sends one document to the pool's program and reads the answer."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from fairq.common import commit
from fairq.errors.base import DoneNotShownError, FairqError
from fairq.errors.codes import error_class
from fairq.errors.people import NoAnswerError, RepeatedError, RequestError, SurroundingsError
from fairq.host.client.form import LARGEST, VERSION

_ATTEMPTS = 3
_LONGEST_ANSWER = 64 << 20

Receive = Callable[[dict[str, Any], IO[bytes]], None]
"""Reads what follows an answer."""


class Door(Struct, frozen=True):
    """The way to the pool's program: *program* as the user *account* by sudo, or a *unix_socket* if something listens.

    *command* is the command as typed.
    """

    program: Path
    account: str
    unix_socket: Path | None
    command: str
    reason: str | None = None

    def ask(self, verb: str, arguments: dict[str, Any], receive: Receive | None = None) -> dict[str, Any]:
        """Ask for *verb* and return the answer; *receive* reads what is attached to it.

        A request without an answer is repeated with the same number, so that it is fulfilled once.

        Raises:
            FairqError: of the class and with the message of the program's refusal.
            SurroundingsError: sudo does not start the program.
            NoAnswerError: there is no answer after several attempts.
            DoneNotShownError: the request was fulfilled, but its answer is lost.
        """
        content = self._document(verb, arguments)
        problem = ""
        for _ in range(_ATTEMPTS):
            try:
                found, problem = self._exchange(content, receive)
            except KeyboardInterrupt:
                if receive is not None:
                    raise
                raise NoAnswerError(problem="interrupted") from None
            if found is None:
                continue
            if "refused" in found:
                raise _refusal(found)
            if receive is None:
                commit.mark()
            done: dict[str, Any] = found["done"]
            return done
        raise NoAnswerError(problem=problem)

    def _document(self, verb: str, arguments: dict[str, Any]) -> bytes:
        document = {
            "fairq": VERSION,
            "id": os.urandom(16).hex(),
            "verb": verb,
            "command": _printable(self.command),
            "reason": None if self.reason is None else _printable(self.reason),
            "arguments": arguments,
        }
        content = json.dumps(document, separators=(",", ":")).encode()
        if len(content) > LARGEST:
            raise RequestError(problem=f"it has {len(content)} bytes, but at most {LARGEST} are allowed; divide it")
        return b"%d\n%s" % (len(content), content)

    def _exchange(self, content: bytes, receive: Receive | None) -> tuple[dict[str, Any] | None, str]:
        """Return one answer; or None, and why there is none."""
        connection = self._connected()
        if connection is None:
            return self._by_sudo(content, receive)
        with connection, connection.makefile("rb") as stream:
            try:
                connection.sendall(content)
                connection.shutdown(socket.SHUT_WR)
                return _received(stream, receive), f"{self.unix_socket} closed the connection"
            except OSError as error:
                return None, f"{self.unix_socket}: {error.strerror or error}"

    def _connected(self) -> socket.socket | None:
        """Return a connection to the program, or None if nothing listens."""
        if self.unix_socket is None:
            return None
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(self.unix_socket))
        except OSError:
            connection.close()
            return None
        return connection

    def _by_sudo(self, content: bytes, receive: Receive | None) -> tuple[dict[str, Any] | None, str]:
        sudo = shutil.which("sudo")
        if sudo is None:
            raise SurroundingsError(problem="sudo is not installed", cure="ask an administrator to install it")
        process = subprocess.Popen(
            [sudo, "-n", "-u", self.account, str(self.program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
            start_new_session=True,  # Ctrl-C and Ctrl-Z are for this process alone
        )
        with process:
            assert process.stdin and process.stdout and process.stderr
            # A program that ended before it had read everything has said why.
            with suppress(BrokenPipeError):
                process.stdin.write(content)
            with suppress(BrokenPipeError):
                process.stdin.close()
            found = _received(process.stdout, receive)
            said = process.stderr.read().decode(errors="replace").strip()
        if found is None and said.startswith("sudo:"):
            cure = f"ask an administrator whether the rule of sudo allows {self.program} as {self.account}"
            raise SurroundingsError(problem=said.splitlines()[0], cure=cure)
        return found, said.splitlines()[-1] if said else f"{self.program} ended with code {process.returncode}"


def _received(stream: IO[bytes], receive: Receive | None) -> dict[str, Any] | None:
    """Return the answer in *stream* and let *receive* read the rest."""
    found = _answer(stream.readline(_LONGEST_ANSWER))
    if found is not None and "done" in found and receive is not None:
        receive(found["done"], stream)
    stream.read()
    return found


def _answer(line: bytes) -> dict[str, Any] | None:
    """Return the answer on a complete *line*, otherwise None."""
    if not line.endswith(b"\n"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        return None
    if not isinstance(found, dict) or found.keys() not in ({"done"}, {"refused", "code"}):
        return None
    return found


def _refusal(found: dict[str, Any]) -> FairqError:
    """Return the error that the program met, as if it had been raised here."""
    kind = error_class(int(found["code"]))
    if kind is RepeatedError:
        commit.mark()
        return DoneNotShownError(reason="the answer of the pool was lost")
    error = kind.__new__(kind)
    Exception.__init__(error, str(found["refused"]))
    error.case, error.fields = None, {"reason": str(found["refused"])}
    return error


def _printable(text: str) -> str:
    """Return *text* as the document may hold it: printable, and not too long."""
    return "".join(one if one.isprintable() or one in "\n\t" else "?" for one in text)[:4096]
