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
"""Reads the content that follows an answer."""


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
        """Ask for *verb* and return the answer; *receive* reads the content attached to it.

        A request without an answer is repeated with the same id, so that it is fulfilled only once.

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
                answer, problem = self._exchange(content, receive)
            except KeyboardInterrupt:
                if receive is not None:
                    raise
                raise NoAnswerError(problem="interrupted") from None
            if answer is None:
                continue
            if "refused" in answer:
                raise _refusal(answer)
            if receive is None:
                commit.mark()
            result: dict[str, Any] = answer["done"]
            return result
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
        """Return the answer, or None, and the reason if there is none."""
        connection = self._connect()
        if connection is None:
            return self._by_sudo(content, receive)
        with connection, connection.makefile("rb") as stream:
            try:
                connection.sendall(content)
                connection.shutdown(socket.SHUT_WR)
                return _read_answer(stream, receive), f"{self.unix_socket} closed the connection"
            except OSError as error:
                return None, f"{self.unix_socket}: {error.strerror or error}"

    def _connect(self) -> socket.socket | None:
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
            # A program that ended before it had read everything has written the reason.
            with suppress(BrokenPipeError):
                process.stdin.write(content)
            with suppress(BrokenPipeError):
                process.stdin.close()
            answer = _read_answer(process.stdout, receive)
            message = process.stderr.read().decode(errors="replace").strip()
        if answer is None and message.startswith("sudo:"):
            cure = f"ask an administrator whether the rule of sudo allows {self.program} as {self.account}"
            raise SurroundingsError(problem=message.splitlines()[0], cure=cure)
        return answer, message.splitlines()[-1] if message else f"{self.program} ended with code {process.returncode}"


def _read_answer(stream: IO[bytes], receive: Receive | None) -> dict[str, Any] | None:
    """Return the answer in *stream* and let *receive* read the content after it."""
    answer = _parse_answer(stream.readline(_LONGEST_ANSWER))
    if answer is not None and "done" in answer and receive is not None:
        receive(answer["done"], stream)
    stream.read()
    return answer


def _parse_answer(line: bytes) -> dict[str, Any] | None:
    """Return the answer on a *line*; None if the line is incomplete or no answer."""
    if not line.endswith(b"\n"):
        return None
    try:
        answer = json.loads(line)
    except ValueError:
        return None
    if not isinstance(answer, dict) or answer.keys() not in ({"done"}, {"refused", "code"}):
        return None
    return answer


def _refusal(answer: dict[str, Any]) -> FairqError:
    """Return the error in the program's refusal, as if it had been raised here."""
    kind = error_class(int(answer["code"]))
    if kind is RepeatedError:
        commit.mark()
        return DoneNotShownError(reason="the answer of the pool was lost")
    error = kind.__new__(kind)
    Exception.__init__(error, str(answer["refused"]))
    error.case, error.fields = None, {"reason": str(answer["refused"])}
    return error


def _printable(text: str) -> str:
    """Return *text* with unprintable characters replaced, cut to the length that a document may have."""
    return "".join(character if character.isprintable() or character in "\n\t" else "?" for character in text)[:4096]
