"""The submitter that is charged for a job, and its accounting group.

Rules: the manual's section on accounting groups; HTCondor's ``SetAccountingGroup`` (submit side) and
``GetAssignedGroup`` (accountant).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from fairq.common.expression_form import is_expression
from fairq.errors.base import InvalidNameError, SubmitterName

ROOT_GROUP = "<none>"
"""The accounting group of submitters without a configured group."""

NICE_PREFIX = "nice-user"
"""The beginning of the name of a nice submitter."""


def submitter_name(ad: Mapping[str, Any], accounting_domain: str) -> str:
    """Return the name under which the job *ad* is charged, as ``group.user@domain``.

    It is the ad's ``AccountingGroup`` if that is a string, otherwise its ``Owner``, otherwise the part of its ``User``
    before the last ``@``. ``NiceUser`` adds the prefix ``nice-user.``. Names are case-sensitive. A name with a domain
    keeps it; otherwise the domain is that of ``User``, or *accounting_domain*.

    Raises InvalidNameError if the ad names no submitter, or if the name contains white space or bytes that are not
    UTF-8.
    """
    user = _text(ad, "user")
    name = _text(ad, "accountinggroup") or _text(ad, "owner") or user
    if not name:
        raise InvalidNameError(SubmitterName.MISSING, value="")
    if any(character.isspace() for character in name):
        raise InvalidNameError(SubmitterName.WHITE_SPACE, value=name)
    if any("\ud800" <= character <= "\udfff" for character in name):
        raise InvalidNameError(SubmitterName.NOT_UTF8, value=name)
    if _lookup(ad, "niceuser") is True and not is_nice(name):
        name = f"{NICE_PREFIX}.{name}"
    if domain_of(name):
        return name
    return f"{name.rstrip('@')}@{domain_of(user) or accounting_domain}"


def answers_to(name: str, word: str) -> bool:
    """Return whether *word* names submitter *name*: in full, without its domain, or without domain and groups.

    For example, ``bob`` names ``bob@host`` and ``physics.bob@host``; names are case-sensitive.
    """
    if name == word:
        return True
    local, at, _ = name.rpartition("@")
    return bool(at and word) and "@" not in word and (local == word or local.endswith(f".{word}"))


def group_meant(submitter: str, owner: str) -> str | None:
    """Return the group that jobs of *owner* request as *submitter*, empty for none; None if unknown."""
    local = submitter.rpartition("@")[0]
    if local == owner:
        return ""
    return local.removesuffix(f".{owner}") if local.endswith(f".{owner}") else None


def is_nice(name: str) -> bool:
    """Return whether *name* is that of a nice submitter: it starts with ``nice-user``, in this letter case."""
    return name.startswith(NICE_PREFIX)


def domain_of(name: str) -> str:
    """Return what follows the last ``@`` of *name*; a group has no domain (the empty text)."""
    return name.rpartition("@")[2] if "@" in name else ""


def is_group_name(name: str) -> bool:
    """Return whether *name* can only be that of an accounting group: it has no domain."""
    return "@" not in name


def assigned_group(name: str, group_names: Iterable[str]) -> str:
    """Return the accounting group of submitter *name*, in its configured spelling, or ``<none>``.

    The last dotted part before ``@`` is the user. The group is the longest prefix of the others whose every level is
    configured, ignoring letter case. A name without ``@`` is that of a group: it is assigned to itself if it is
    configured. *group_names* are all configured groups (a tuple is indexed once only).
    """
    groups = _index(tuple(group_names))
    local, at, _ = name.rpartition("@")
    if not at:
        return groups.get(name.lower(), ROOT_GROUP)
    group = ROOT_GROUP
    path = ""
    for part in local.lower().split(".")[:-1]:
        path = f"{path}.{part}" if path else part
        configured_name = groups.get(path)
        if configured_name is None:
            break
        group = configured_name
    return group


def group_and_ancestors(group: str) -> tuple[str, ...]:
    """Return *group* and the groups above it, nearest first: ``a.b.c``, ``a.b``, ``a``."""
    parts = group.split(".")
    return tuple(".".join(parts[:length]) for length in range(len(parts), 0, -1))


@lru_cache(maxsize=8)
def _index(group_names: tuple[str, ...]) -> dict[str, str]:
    return {name.lower(): name for name in group_names}


def _lookup(ad: Mapping[str, Any], lower_name: str) -> Any:
    for name, value in ad.items():
        if name.lower() == lower_name:
            return value
    return None


def _text(ad: Mapping[str, Any], lower_name: str) -> str:
    value = _lookup(ad, lower_name)
    return value if isinstance(value, str) and not is_expression(value) else ""
