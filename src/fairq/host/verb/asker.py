"""The asker: the person whom sudo names, or the kernel for a socket. Claims of the caller do not count."""

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

    A caller of sudo can hand over a socket of somebody else as standard input, so the socket counts only for who says
    *by_socket*: an argument, which the rule of sudo does not allow.

    Raises SurroundingsError if the identity is not proven.
    """
    given = environment.get("SUDO_UID")
    if by_socket:
        if given is not None or os.getuid() == 0:
            raise SurroundingsError(problem="systemd has not started it for a connection", cure="use the socket unit")
        return user_of(_connected(0))
    if given is None:
        return user_of(os.getuid())
    if os.getuid() == 0:
        raise SurroundingsError(problem="root has no need of it", cure=_CURE)
    if not (given.isascii() and given.isdecimal() and len(given) <= 10):
        raise SurroundingsError(problem="SUDO_UID is not a number", cure=_CURE)
    if not _is_sudos_child(os.getppid()):
        raise SurroundingsError(problem="SUDO_UID is set, but sudo has not started this process", cure=_CURE)
    return user_of(int(given))


def _connected(descriptor: int) -> int:
    """Return the number of the user who made the connection, as the kernel noted it then."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            if connection.family != socket.AF_UNIX or connection.type != socket.SOCK_STREAM:
                raise OSError
            connection.getpeername()
            found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        raise SurroundingsError(problem="standard input is no connection", cure="use the socket unit") from None
    return int(_CREDENTIALS.unpack(found)[1])


def _is_sudos_child(process: int) -> bool:
    """Say whether *process* is sudo: a program of this name, run by root."""
    place = Path(f"/proc/{process}")
    try:
        return place.stat().st_uid == 0 and (place / "comm").read_text().strip() == "sudo"
    except OSError:
        return False
