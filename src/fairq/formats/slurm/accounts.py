"""The tree of accounts and users, from ``sacctmgr dump CLUSTER file=FILE``, and their usage, from ``sshare -a -l -P``.

Sources: sacctmgr(1), "FLAT FILE DUMP AND LOAD"; sshare(1).
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from fairq.errors.pool import InvalidDumpError
from fairq.formats.slurm.text import lines, table
from fairq.formats.source import Held

PARENT = 2**31 - 1
"""The shares of an account or user that uses those of the account above (``Fairshare=parent``)."""

ROOT = "root"

_LINE = re.compile(r"(Cluster|Parent|Account|User) - '((?:[^'\\]|\\.)*)'(?::(.*))?", re.DOTALL)
_OPTION = re.compile(r"([A-Za-z]+)=('(?:[^'\\]|\\.)*'|[^:]*)(?::|$)")
_LIMIT = re.compile(r"(?:Grp|Max|Min)[A-Za-z]+")


class Member(Struct, frozen=True):
    """An account or a user of an account: its *name*, *shares* (`PARENT`), and *limits* by their name."""

    name: str
    shares: int = 1
    limits: dict[str, str] = field(default_factory=dict)


class Account(Struct):
    """An account with those directly below it; *parent* is None for the root."""

    own: Member
    parent: str | None
    users: list[Member] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)


class Accounts(Struct):
    """The accounts of a *cluster* by their names, which are unique; the root is ``root``."""

    cluster: str
    by_name: dict[str, Account]

    def path(self, name: str) -> list[str]:
        """Return the accounts from the one below the root down to *name*; none for the root or an unknown one."""
        path: list[str] = []
        account = self.by_name.get(name)
        while account is not None and account.parent is not None:
            path.insert(0, account.own.name)
            account = self.by_name.get(account.parent)
        return path


def read_accounts(held: Held) -> Accounts:
    """Return the accounts in *held*; raises InvalidDumpError."""

    def wrong(number: int, problem: str, cure: str = "write it again with sacctmgr dump") -> InvalidDumpError:
        return InvalidDumpError.at_line(held.name, number, problem, cure)

    accounts = Accounts("", {ROOT: Account(Member(ROOT), None)})
    parent = accounts.by_name[ROOT]
    number = 0
    for number, line in lines(held):
        if line.startswith("#"):
            continue
        parts = _LINE.fullmatch(line)
        if parts is None:
            raise wrong(number, "not a line of sacctmgr dump")
        kind, name, options = parts[1], parts[2].lower(), parts[3] or ""
        if kind == "Cluster":
            accounts.cluster = name
        elif kind == "Parent":
            if name not in accounts.by_name:
                raise wrong(number, f"account {name!r} has no line above this one")
            parent = accounts.by_name[name]
        elif kind == "User":
            parent.users.append(_member(name, options))
        elif name in accounts.by_name:
            raise wrong(number, f"account {name!r} has two lines", "remove one")
        else:
            accounts.by_name[name] = Account(_member(name, options), parent.own.name)
            parent.accounts.append(name)
    if not accounts.cluster:
        raise wrong(number or 1, "no line of a cluster")
    return accounts


def _member(name: str, options: str) -> Member:
    values = {key: value.strip("'") for key, value in _OPTION.findall(options)}
    shares = next((value for key, value in values.items() if key.lower() == "fairshare"), "1")
    number = int(shares) if re.fullmatch(r"\d{1,10}", shares, re.ASCII) else PARENT
    return Member(name, min(number, PARENT), {key: value for key, value in values.items() if _LIMIT.fullmatch(key)})


_OF_USAGE = (("Account", "the account"), ("User", "the user"), ("RawUsage", "the priority"))


class Usage(Struct, frozen=True):
    """The decayed usage of a *user* of an *account*, or of the whole account (no user), in seconds of its TRES."""

    account: str
    user: str
    raw: float


def read_usage(held: Held) -> list[Usage]:
    """Return the usage in *held*; raises InvalidDumpError."""
    usages = []
    for number, row in table(held, _OF_USAGE):
        try:
            raw = float(row["RawUsage"] or 0)
        except ValueError:
            raw = -1.0
        if not 0 <= raw < 1e18:
            problem = f"RawUsage is {row['RawUsage'][:40]!r}"
            raise InvalidDumpError.at_line(held.name, number, problem, "give a number, 0 or more")
        usages.append(Usage(row["Account"].strip().lower(), row["User"].strip(), raw))
    return usages
