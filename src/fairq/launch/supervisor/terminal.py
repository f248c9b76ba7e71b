"""The terminal of an interactive job: its supervisor makes it, and the command that waits for the job gets it.

The command listens on a socket in Linux's abstract namespace, which ends with the command, whatever ends it. The job's
process connects to it with the rights of its owner, and hands over the master side of a new pseudoterminal. Once no
process has that side any more, the kernel hangs up: the program gets SIGHUP.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import socket
import struct
import termios

ADDRESS = re.compile(r"fairq-terminal-[0-9a-f]{32}")
"""The name of a socket on which a command waits for its job."""

_CREDENTIALS = struct.Struct("3i")
"""struct ucred of unix(7): process, user and group."""
_SIZE = struct.Struct("4H")
"""struct winsize: rows, columns, and both in pixels."""
_PATIENCE = 5.0
"""Seconds that the other side may take; it answers at once unless it is suspended."""


def listen() -> tuple[str, socket.socket]:
    """Return a new address, and the socket that listens on it."""
    address = f"fairq-terminal-{os.urandom(16).hex()}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"\0{address}")
    listener.listen()
    return address, listener


def is_heard(address: str) -> bool:
    """Return whether a process listens on *address*."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        try:
            connection.connect(f"\0{address}")
        except BlockingIOError:  # it listens, but does not keep up
            return True
        except OSError:
            return False
    return True


def take(listener: socket.socket, size: bytes) -> int | None:
    """Accept a connection and return the master side that it hands over; None if it is not from a job of this user.

    The job begins with the *size* of the window, a ``struct winsize``.
    """
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(_PATIENCE)
        if _user_of(connection) != os.getuid():
            return None
        with contextlib.suppress(OSError):
            connection.sendall(size)
            descriptors = socket.recv_fds(connection, 1, 1)[1]
            return descriptors[0] if descriptors else None
    return None


def open_pair(owner: int | None) -> tuple[int, int]:
    """Return the two sides of a new pseudoterminal, master and slave; it belongs to the user *owner*, if given."""
    master, slave = os.openpty()
    if owner is not None:
        os.fchown(slave, owner, -1)
    return master, slave


def hand_over(address: str, master: int) -> None:
    """Give the *master* side to the command that listens on *address*; raises OSError if there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE)
        connection.connect(f"\0{address}")
        if _user_of(connection) != os.getuid():
            raise PermissionError("the command is another user's")
        size = connection.recv(_SIZE.size, socket.MSG_WAITALL)
        if len(size) < _SIZE.size:
            raise ConnectionResetError("the command ended")
        fcntl.ioctl(master, termios.TIOCSWINSZ, size)
        socket.send_fds(connection, [b"."], [master])


def become_controlling(slave: int) -> None:
    """Make *slave* the controlling terminal of this process, which leads a session, and its standard files."""
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for number in (0, 1, 2):
        os.dup2(slave, number)


def is_hung_up(slave: int) -> bool:
    """Return whether no process has the master side any more."""
    poll = select.poll()
    poll.register(slave, 0)
    return any(events & select.POLLHUP for _, events in poll.poll(0))


def _user_of(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(credentials)[1])
