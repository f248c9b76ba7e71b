"""The user who runs this process, from the kernel and, for root, from sudo."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct


class Person(Struct, frozen=True):
    """A user of the system: name (or the number as text), number, and the names of all Unix groups."""

    name: str
    uid: int
    groups: frozenset[str] = frozenset()


def user_of(uid: int) -> Person:
    """Return the user with this number from the user database; without an entry, a user in no group."""
    import grp
    import pwd

    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Person(str(uid), uid)
    names = []
    for number in os.getgrouplist(entry.pw_name, entry.pw_gid):
        try:
            names.append(grp.getgrgid(number).gr_name)
        except KeyError:
            names.append(str(number))
    return Person(entry.pw_name, uid, frozenset(names))


def caller_of(environment: Mapping[str, str]) -> Person:
    """Return the person who started this process: its real user or, if that is root, the caller of sudo.

    Anybody can set SUDO_UID, so it counts only for root, who may act as anybody.
    """
    uid = os.getuid()
    caller = environment.get("SUDO_UID", "") if uid == 0 else ""
    return user_of(int(caller) if caller.isdecimal() and caller.isascii() and len(caller) < 11 else uid)
