"""The usage of accounts and users, from ``sshare -a -l -P``.

Source: sshare(1).
"""

from __future__ import annotations

from msgspec import Struct

from fairq.errors.pool import InvalidDumpError
from fairq.formats.slurm.text import table
from fairq.formats.source import Held

_NEEDED = (("Account", "the account"), ("User", "the user"), ("RawUsage", "the priority"))


class Usage(Struct, frozen=True):
    """The decayed usage of a *user* of an *account*, or of the whole account (no user), in seconds of its TRES."""

    account: str
    user: str
    raw: float


def read_usage(held: Held) -> list[Usage]:
    """Return the usage in *held*; raises InvalidDumpError."""
    usages = []
    for number, row in table(held, _NEEDED):
        try:
            raw = float(row["RawUsage"] or 0)
        except ValueError:
            raw = -1.0
        if not 0 <= raw < 1e18:
            problem = f"RawUsage is {row['RawUsage'][:40]!r}"
            cure = "give a number, 0 or more"
            raise InvalidDumpError(source=held.name, where=f"line {number}", problem=problem, cure=cure)
        usages.append(Usage(row["Account"].strip().lower(), row["User"].strip(), raw))
    return usages
