"""Rejections as a cycle's decision is stored: those of one submitter that follow each other are one entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

Entry = dict[str, Any]


def packed(
    submitter: str,
    group: str,
    quota_group: str | None,
    jobs: Sequence[int],
    reasons: Sequence[str],
    which: str,
) -> Entry:
    """Return many rejections as one entry.

    *jobs* are cluster and proc of the first job of each request, one after the other; *which* has for each a digit, the
    place of its reason among *reasons*.
    """
    return {
        "submitter": submitter,
        "group": group,
        "quota_group": quota_group,
        "jobs": jobs,
        "reasons": reasons,
        "which": which,
    }


def unpacked(entries: Iterable[Entry]) -> list[Entry]:
    """Return the rejections one by one, as docs/json.md describes them."""
    found: list[Entry] = []
    for entry in entries:
        if "which" not in entry:
            found.append(entry)
            continue
        jobs, reasons = entry["jobs"], entry["reasons"]
        found += (
            {
                "job": f"{cluster}.{proc}",
                "submitter": entry["submitter"],
                "reason": reasons[int(reason)],
                "group": entry["group"],
                "quota_group": entry["quota_group"],
            }
            for cluster, proc, reason in zip(jobs[::2], jobs[1::2], entry["which"], strict=True)
        )
    return found


def reasons(entries: Iterable[Entry]) -> Counter[str]:
    """Return how many requests were rejected for each reason."""
    found: Counter[str] = Counter()
    for entry in entries:
        if "which" not in entry:
            found[str(entry["reason"])] += 1
        else:
            digits: Counter[str] = Counter(entry["which"])
            found.update({entry["reasons"][int(digit)]: number for digit, number in digits.items()})
    return found
