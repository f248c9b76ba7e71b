"""What the site file lets the root part do, and the directory of runs, which nobody but root can change."""

from __future__ import annotations

import fcntl
import os
import pwd
import signal
import stat
import tomllib
from typing import Any, NamedTuple

from fairq.launch.supervisor.identity import Account

_LOGIN = "/etc/login.defs"
_LEAST_UID = 1000
_PATIENCE = 60
"""Seconds to wait for another root part; then the system ends this one."""


class UnsafeError(Exception):
    """Something that root relies on can be changed by others, or is missing."""


class Policy(NamedTuple):
    """The pool of the *site* file and its rules for owners: *account* owns the pool, whose file is *state*."""

    site: str
    state: str
    account: Account
    runs: str
    cgroup: str
    allow_root: bool
    allow_nologin: bool
    least_uid: int


def read_policy(site: str) -> Policy:
    """Return the pool and the rules that the *site* file names; raises UnsafeError."""
    check_owned_by_root(site)
    try:
        with open(site, "rb") as file:  # noqa: PTH123 - supervisors are forked from here: no pathlib
            found = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise UnsafeError(f"{site}: {error}") from None

    def value(table: str, name: str, kind: type, default: Any) -> Any:
        there = found.get(table, {})
        given = there.get(name, default) if isinstance(there, dict) else None
        if type(given) is not kind:
            raise UnsafeError(f"{table}.{name} in {site} is missing, or not of the type {kind.__name__}")
        return given

    def path(table: str, name: str, default: str | None) -> str:
        given: str = value(table, name, str, default)
        if not os.path.isabs(given) or os.path.normpath(given) != given:  # noqa: PTH117
            raise UnsafeError(f"{table}.{name} in {site} is not a plain absolute path")
        return given

    if value("launch", "run_as", str, "user") != "owner":
        raise UnsafeError(f'launch.run_as in {site} is not "owner"')
    account = value("pool", "account", str, "fairq")
    try:
        entry = pwd.getpwnam(account)
    except KeyError:
        raise UnsafeError(f"the account {account} of the pool does not exist") from None
    if entry.pw_uid == 0:
        raise UnsafeError("the account of the pool is root")
    return Policy(
        site,
        path("pool", "state", None),
        Account(name=account, uid=entry.pw_uid, gid=entry.pw_gid),
        path("launch", "run_directory", "/var/lib/fairq-runs"),
        value("launch", "cgroup", str, "auto"),
        value("launch", "allow_root", bool, False),
        value("launch", "allow_nologin", bool, False),
        value("launch", "least_uid", int, _least_uid()),
    )


def _least_uid() -> int:
    try:
        with open(_LOGIN, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            words = [line.split() for line in file]
    except OSError:
        return _LEAST_UID
    given = [line[1] for line in words if len(line) > 1 and line[0] == "UID_MIN" and line[1].isdecimal()]
    return max(1, int(given[-1])) if given else _LEAST_UID


def check_owned_by_root(path: str) -> None:
    """Raise UnsafeError unless only root can change what *path* leads to: it and all directories above are root's."""
    place = os.path.realpath(path)
    while True:
        try:
            about = os.stat(place)  # noqa: PTH116
        except OSError as error:
            raise UnsafeError(f"{place}: {error.strerror}") from None
        is_sticky_directory = stat.S_ISDIR(about.st_mode) and about.st_mode & stat.S_ISVTX
        if about.st_uid != 0 or (about.st_mode & 0o022 and not is_sticky_directory):
            raise UnsafeError(f"others than root can change {place}; give it to root with mode 755")
        if place == "/":
            return
        place = os.path.dirname(place)  # noqa: PTH120


def open_runs(policy: Policy) -> int:
    """Return the directory of runs, made if it is missing, and locked against other root parts.

    Raises UnsafeError.
    """
    check_owned_by_root(os.path.dirname(policy.runs))  # noqa: PTH120
    try:
        if not os.path.lexists(policy.runs):
            os.mkdir(policy.runs, 0o711)  # noqa: PTH102
            os.chown(policy.runs, 0, policy.account["gid"], follow_symlinks=False)
            os.chmod(policy.runs, 0o751)  # noqa: PTH101 - the umask does not count
        directory = os.open(policy.runs, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        check_owned_by_root(policy.runs)
        lock = os.open(".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=directory)
        signal.alarm(_PATIENCE)
        # A lock of this process alone: forked supervisors do not keep it.
        fcntl.lockf(lock, fcntl.LOCK_EX)
        signal.alarm(0)
    except OSError as error:
        raise UnsafeError(f"{policy.runs}: {error.strerror}") from None
    return directory
