"""Slurm's accounts and users as accounting groups and submitters, with quotas, factors and ceilings.

In Slurm, what siblings get is in proportion to their shares. A group's quota is its part of the shares of its siblings.
For users, the factor decides: in the long run, use is inverse to the root of the factor (docs/simulate.md), so that
the factor is inverse to the square of the shares.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from fairq.formats.slurm.accounts import PARENT, ROOT, Account, Accounts, Member
from fairq.formats.slurm.text import resources

FACTOR = 1000.0
"""The factor of the user of an account who has most shares: HTCondor's default."""

_NO_SHARES = 1.0e10
"""The factor of a user without shares: that of a nice user."""

_UNSUITED = re.compile(r"[\s,@<>.]")
"""Characters that the name of a group may not have, or that separate groups."""


class Limits(Struct, frozen=True):
    """What becomes of the user of an account: the priority factor, and the ceiling in slot weight (None: none)."""

    factor: float
    ceiling: int | None


class Groups:
    """The accounting groups of a site; without *accounts*, each account is a group of its own."""

    def __init__(self, accounts: Accounts | None) -> None:
        self._accounts = accounts

    def group(self, account: str) -> str:
        """Return the accounting group of an account; empty for the root."""
        account = account.lower()
        if account in ("", ROOT):
            return ""
        path = [] if self._accounts is None else self._accounts.path(account)
        return ".".join(_UNSUITED.sub("_", part) for part in path or [account])

    def submitter(self, account: str, user: str) -> str:
        """Return the submitter that is charged for the jobs of a user of an account, without the domain."""
        name = re.sub(r"\s", "_", user)
        group = self.group(account)
        return f"{group}.{name}" if group else name

    def limits(self, account: str, user: str) -> Limits:
        """Return the factor and the ceiling of a user of an account; of an unknown one, those of one share."""
        limits = None if self._accounts is None else self._accounts.by_name.get(account.lower())
        if limits is None:
            return Limits(FACTOR, None)
        member = next((known for known in limits.users if known.name == user.lower()), Member(user))
        most = max((_shares(known) for known in limits.users), default=1)
        shares = _shares(member)
        factor = FACTOR * (most / shares) ** 2 if shares else _NO_SHARES
        cpus = resources(member.limits.get("GrpTRES", "")).cpus
        return Limits(factor, cpus or None)

    def settings(self) -> dict[str, Any]:
        """Return the table ``groups`` of the settings: the quota of each account as a fraction of its parent's."""
        accounts = self._accounts
        if accounts is None:
            return {}
        settings: dict[str, Any] = {}
        for name, account in accounts.by_name.items():
            if account.parent is not None:
                siblings = _below(accounts, accounts.by_name[account.parent])
                total = sum(map(_shares, siblings))
                part = _shares(account.own) / total if total else 0.0
                # Rounded down: the fractions of siblings may not exceed 1.
                settings[self.group(name)] = {"quota_dynamic": math.floor(part * 1e6) / 1e6}
        return settings

    def not_imported(self) -> Iterator[str]:
        """Yield the limits of accounts and users that have no equal."""
        for name, account in () if self._accounts is None else self._accounts.by_name.items():
            for limit, value in account.own.limits.items():
                yield f"{limit}={value} of account {name}: fairq has no such limit"
            for user in account.users:
                for limit, value in user.limits.items():
                    if not (limit == "GrpTRES" and re.fullmatch(r"cpu=\d+", value)):
                        yield f"{limit}={value} of user {user.name} in {name}: fairq has no such limit"


def _below(accounts: Accounts, parent: Account) -> list[Member]:
    """Return all siblings below an account: its users and its accounts."""
    return [*parent.users, *(accounts.by_name[name].own for name in parent.accounts)]


def _shares(member: Member) -> int:
    """Return the shares of a member; one with the shares of its parent counts with one."""
    return 1 if member.shares == PARENT else member.shares
