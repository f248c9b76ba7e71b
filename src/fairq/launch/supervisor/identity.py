"""Become another user permanently, or in a child for one task. Only root can."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable
from typing import TypedDict

from fairq.launch import processes

_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
"""The number of the system call keyctl, by machine."""
_JOIN_SESSION_KEYRING = 1
_LIBRARY = ctypes.CDLL(None, use_errno=True)


class Account(TypedDict):
    """A user whose rights a process can take: *name*, user number, and number of the primary group."""

    name: str
    uid: int
    gid: int


def become(account: Account) -> None:
    """Take the user and all groups of *account*, and verify that root's rights are lost.

    The groups are set first: without root's rights they cannot be changed, and root's groups would remain.
    Raises OSError if the system refuses, PermissionError if root's rights could be regained.
    """
    uid, gid = account["uid"], account["gid"]
    if os.uname().machine in _KEYCTL:
        # Leave the keyring of the caller of sudo, which may hold e.g. Kerberos tickets.
        _LIBRARY.syscall(_KEYCTL[os.uname().machine], _JOIN_SESSION_KEYRING, None)
    os.initgroups(account["name"], gid)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if uid == 0:
        return
    try:
        os.setuid(0)
    except PermissionError:
        return
    raise PermissionError(f"root's rights were not lost in becoming {account['name']}")


def run_in_child(work: Callable[[], object], account: Account | None, seconds: float) -> None:
    """Do *work* in a child with its own session and no open files, as *account* (None: this user); wait for it.

    After *seconds*, kill all processes of the child: a file system of its owner may hang.
    """
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.setsid()
            os.closerange(3, 1 << 20)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            if account is not None:
                become(account)
            work()
        os._exit(0)
    processes.wait_for_child(child, seconds)
