"""The use of Slurm's accounts and users as accounting ads.

Slurm's raw use decays with the half-life, as the real priority does: for steady use *u*, the raw use goes to
``u * half-life / ln 2``, and the real priority to *u*. So one follows from the other. Source: "Fair-share" of Slurm's
page on the multifactor priority; docs/htcondor.md 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from fairq.common.records import Ad
from fairq.formats.slurm.accounts import Usage
from fairq.formats.slurm.sacct import Record
from fairq.steps.pool.slurm.groups import Groups

_LOWEST = 0.5
"""The real priority of who has used nothing."""


class _Sum(Struct):
    """The use of all time: slot-seconds, core-seconds, and from when to when (seconds since 1970)."""

    slots: float = 0.0
    cores: float = 0.0
    begin: int = 0
    end: int = 0


def accounting_ads(
    usage: Iterable[Usage],
    records: Iterable[Record],
    groups: Groups,
    domain: str,
    half_life: int,
    now: int,
    offset: int,
) -> list[Ad]:
    """Return the accounting ads of a site; the times of *records* are *offset* seconds later than in UTC."""
    ads: dict[str, Ad] = {}
    sums = _sums(records, groups, offset)
    for record in usage:
        group = groups.group(record.account)
        name = f"{groups.submitter(record.account, record.user)}@{domain}" if record.user else group
        is_unused_root = group == "" and not record.raw
        if not name or is_unused_root:
            continue
        priority = record.raw * math.log(2) / half_life if half_life else 0.0
        ad: Ad = {"Name": name, "RealPriority": round(max(_LOWEST, priority), 6), "LastUpdate": now}
        if record.user:
            limits = groups.limits(record.account, record.user)
            ad["PriorityFactor"] = round(limits.factor, 6)
            if limits.ceiling is not None:
                ad["Ceiling"] = limits.ceiling
        else:
            ad["IsAccountingGroup"] = True
        ads[name] = ad
    for bare, used in sums.items():
        name = f"{bare[0]}@{domain}" if bare[1] else bare[0]
        ad = ads.setdefault(name, {"Name": name, "LastUpdate": now})
        ad |= {"AccumulatedUsage": used.slots, "WeightedAccumulatedUsage": used.cores}
        ad |= {"BeginUsageTime": used.begin, "LastUsageTime": min(now, used.end)}
        if not bare[1]:
            ad["IsAccountingGroup"] = True
    return list(ads.values())


def _sums(records: Iterable[Record], groups: Groups, offset: int) -> dict[tuple[str, bool], _Sum]:
    """Return the use of each submitter and group, with whether it is a submitter."""
    sums: dict[tuple[str, bool], _Sum] = {}
    for record in records:
        if record.start is None or not record.run:
            continue
        start = record.start - offset
        group = groups.group(record.account)
        names = [(groups.submitter(record.account, record.user), True)]
        names += [(".".join(group.split(".")[:depth]), False) for depth in range(1, group.count(".") + 2) if group]
        for name in names:
            total = sums.setdefault(name, _Sum(begin=start))
            total.slots += record.run
            total.cores += record.run * record.cpus
            total.begin = min(total.begin, start)
            total.end = max(total.end, start + record.run)
    return sums
