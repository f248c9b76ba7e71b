"""The accounts that may own a running job: existing, in the allowed range, and neither locked nor expired."""

from __future__ import annotations

import ctypes
import pwd
import time

from fairq.launch.root.policy import Policy
from fairq.launch.supervisor.identity import Account

_NO_LOGIN = ("nologin", "false")
_DAY = 86400
_NO_PASSWORD_YET = 1
"""Longest password field without a hash, as ``*``: such an account is not locked, it has no password."""


class RefusedError(Exception):
    """A job cannot run as its owner; the text says why."""


class _Shadow(ctypes.Structure):
    """``struct spwd`` of shadow.h; Python has no module for it."""

    _fields_ = (
        ("name", ctypes.c_char_p), ("password", ctypes.c_char_p), ("last_change", ctypes.c_long),
        ("least", ctypes.c_long), ("most", ctypes.c_long), ("warning", ctypes.c_long),
        ("inactive", ctypes.c_long), ("expires", ctypes.c_long), ("flag", ctypes.c_ulong),
    )  # fmt: skip


def account_of(owner: str, policy: Policy) -> Account:
    """Return the account of the *owner* of a job; raises RefusedError if no job may run as this user."""
    try:
        entry = pwd.getpwnam(owner)
    except (KeyError, ValueError):
        raise RefusedError(f"there is no user {owner} any more") from None
    name, uid = entry.pw_name, entry.pw_uid
    if uid == policy.account["uid"]:
        raise RefusedError(f"{name} is the account of the pool")
    if uid == 0 and not policy.allow_root:
        raise RefusedError("jobs of root do not run here; launch.allow_root allows them")
    if 0 < uid < policy.least_uid:
        raise RefusedError(
            f"{name} has the user number {uid}, below {policy.least_uid}; launch.least_uid sets the limit"
        )
    if entry.pw_shell.rpartition("/")[2] in _NO_LOGIN and not policy.allow_nologin:
        raise RefusedError(f"the login shell of {name} is {entry.pw_shell}; launch.allow_nologin allows it")
    _check_shadow(name)
    return Account(name=name, uid=uid, gid=entry.pw_gid)


def _check_shadow(name: str) -> None:
    """Raise RefusedError if the account is expired, or locked as by ``usermod --lock``.

    A password field of ``!`` or ``*`` alone is no lock: people who log in by key have it.
    """
    library = ctypes.CDLL(None)
    library.getspnam.restype = ctypes.POINTER(_Shadow)
    pointer = library.getspnam(name.encode())
    if not pointer:
        return
    shadow = pointer.contents
    password = shadow.password or b""
    if password.startswith(b"!") and len(password.lstrip(b"!")) > _NO_PASSWORD_YET:
        raise RefusedError(f"the account of {name} is locked")
    if 0 <= shadow.expires <= time.time() // _DAY:
        raise RefusedError(f"the account of {name} has expired")
