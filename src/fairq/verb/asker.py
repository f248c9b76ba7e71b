"""The asker: the person whom sudo names. Claims of the caller do not count."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fairq.errors.people import SurroundingsError
from fairq.people import Person, user_of

_CURE = "call it by sudo"


def asker(environment: Mapping[str, str]) -> Person:
    """Return the person who called sudo, the only way for others to use this account.

    Call it before the environment is cleared. sudo overwrites any SUDO_UID that its caller had set. Without sudo, the
    asker is the account itself.

    Raises SurroundingsError if the identity is not proven.
    """
    given = environment.get("SUDO_UID")
    if given is None:
        return user_of(os.getuid())
    if os.getuid() == 0:
        raise SurroundingsError(problem="root has no need of it", cure=_CURE)
    if not (given.isascii() and given.isdecimal() and len(given) <= 10):
        raise SurroundingsError(problem="SUDO_UID is not a number", cure=_CURE)
    if not _is_sudos_child(os.getppid()):
        raise SurroundingsError(problem="SUDO_UID is set, but sudo has not started this process", cure=_CURE)
    return user_of(int(given))


def _is_sudos_child(process: int) -> bool:
    """Say whether *process* is sudo: a program of this name, run by root."""
    place = Path(f"/proc/{process}")
    try:
        return place.stat().st_uid == 0 and (place / "comm").read_text().strip() == "sudo"
    except OSError:
        return False
