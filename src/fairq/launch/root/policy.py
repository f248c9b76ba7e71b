"""The permissions that the site file gives the root part, and the directory of runs, which only root can change."""

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
    """A file that root relies on is missing, or others can change it."""


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
            site_file = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise UnsafeError(f"{site}: {error}") from None

    def value(table: str, name: str, kind: type, default: Any) -> Any:
        section = site_file.get(table, {})
        setting = section.get(name, default) if isinstance(section, dict) else None
        if type(setting) is not kind:
            raise UnsafeError(f"{table}.{name} in {site} is missing, or not of the type {kind.__name__}")
        return setting

    def path(table: str, name: str, default: str | None) -> str:
        setting: str = value(table, name, str, default)
        if not os.path.isabs(setting) or os.path.normpath(setting) != setting:  # noqa: PTH117
            raise UnsafeError(f"{table}.{name} in {site} is not a plain absolute path")
        return setting

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
            lines = [words.split() for words in file]
    except OSError:
        return _LEAST_UID
    minimums = [words[1] for words in lines if len(words) > 1 and words[0] == "UID_MIN" and words[1].isdecimal()]
    return max(1, int(minimums[-1])) if minimums else _LEAST_UID


def check_owned_by_root(path: str) -> None:
    """Raise UnsafeError unless only root can change *path*: root owns it and all directories above it."""
    ancestor = os.path.realpath(path)
    while True:
        try:
            status = os.stat(ancestor)  # noqa: PTH116
        except OSError as error:
            raise UnsafeError(f"{ancestor}: {error.strerror}") from None
        is_sticky_directory = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if status.st_uid != 0 or (status.st_mode & 0o022 and not is_sticky_directory):
            raise UnsafeError(f"others than root can change {ancestor}; give it to root with mode 755")
        if ancestor == "/":
            return
        ancestor = os.path.dirname(ancestor)  # noqa: PTH120


def open_runs(policy: Policy) -> int:
    """Open the directory of runs, create it if missing, and lock it against other root parts.

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
        # A lock of this process: forked supervisors do not inherit it.
        fcntl.lockf(lock, fcntl.LOCK_EX)
        signal.alarm(0)
    except OSError as error:
        raise UnsafeError(f"{policy.runs}: {error.strerror}") from None
    return directory
