"""The asker: the person named by sudo, or by the kernel for a socket. Claims of the caller do not count."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

from fairq.common.people import Person, user_of
from fairq.errors.people import SurroundingsError

_CURE = "call it by sudo"
_CREDENTIALS = struct.Struct("3i")
"""struct ucred of unix(7): process, user and group."""


def asker(environment: Mapping[str, str], *, by_socket: bool = False) -> Person:
    """Return the person who called sudo, or, *by_socket*, the one who connected to standard input.

    Call it before the environment is cleared. sudo overwrites any SUDO_UID that its caller had set. Without sudo, the
    asker is the account itself.

    A caller of sudo can pass somebody else's socket as standard input. So the socket counts only *by_socket*, an
    argument that the rule of sudo does not allow.

    Raises SurroundingsError if the identity is not proven.
    """
    uid = environment.get("SUDO_UID")
    if by_socket:
        if uid is not None or os.getuid() == 0:
            raise SurroundingsError(problem="systemd has not started it for a connection", cure="use the socket unit")
        return user_of(_peer_uid(0))
    if uid is None:
        return user_of(os.getuid())
    if os.getuid() == 0:
        raise SurroundingsError(problem="root has no need of it", cure=_CURE)
    if not (uid.isascii() and uid.isdecimal() and len(uid) <= 10):
        raise SurroundingsError(problem="SUDO_UID is not a number", cure=_CURE)
    if not _is_sudo(os.getppid()):
        raise SurroundingsError(problem="SUDO_UID is set, but sudo has not started this process", cure=_CURE)
    return user_of(int(uid))


def _peer_uid(descriptor: int) -> int:
    """Return the number of the user who made the connection, as recorded by the kernel."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            if connection.family != socket.AF_UNIX or connection.type != socket.SOCK_STREAM:
                raise OSError
            connection.getpeername()
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        raise SurroundingsError(problem="standard input is no connection", cure="use the socket unit") from None
    return int(_CREDENTIALS.unpack(credentials)[1])


def _is_sudo(process: int) -> bool:
    """Return whether *process* is sudo: a program of this name, run by root."""
    directory = Path(f"/proc/{process}")
    try:
        return directory.stat().st_uid == 0 and (directory / "comm").read_text().strip() == "sudo"
    except OSError:
        return False
