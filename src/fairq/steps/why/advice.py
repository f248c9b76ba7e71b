"""Advice to a job's owner and to an administrator, as numbered sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairq.common.quantities import rounded
from fairq.engine.explain.alternatives import Alternatives
from fairq.engine.explain.pieces import TooLarge
from fairq.engine.explain.remedies import Remedy
from fairq.steps.why.changes import change_order

_UNITS: dict[str, tuple[str, str, float]] = {
    "Cpus": ("cores", "cores", 1), "Memory": ("GB of memory", "MB of memory", 1024),
    "Disk": ("GB of disk", "kB of disk", 1024 * 1024), "GPUs": ("GPUs", "GPUs", 1),
}  # fmt: skip
"""The unit of a sentence, the one that jobs request in, and how many of these it has."""

_COMMANDS = {"Cpus": "request_cpus", "Memory": "request_memory", "Disk": "request_disk", "GPUs": "request_gpus"}


def too_large_sentence(found: Sequence[TooLarge]) -> str:
    """Return the sentence that no machine, or no part of one, is large enough, with the cure."""
    is_divided = all(one.machine >= one.asked for one in found)
    parts = []
    for one in found:
        unit, exact, size = _UNITS[one.resource]
        asked, largest = rounded(one.asked / size), rounded(one.largest / size)
        if asked == largest:
            unit, asked, largest = exact, f"{one.asked:.15g}", f"{one.largest:.15g}"
        if one.largest == 1:
            unit = unit.removesuffix("s")
        most = f"has more than {largest} {unit}" if one.largest else f"has {unit.rpartition('of ')[2]}"
        parts.append(f"No {'slot' if is_divided else 'machine'} {most}; you ask for {asked}.")
    less = ", ".join(f"{_COMMANDS[one.resource]} = {one.largest:.15g}" for one in found if one.largest)
    if less:
        parts.append(f"You can ask for less: at most {less}.")
    if is_divided:
        parts.append("A machine has enough, but is divided: an administrator can make one slot of it, --partitionable.")
    else:
        if any(one.resource == "GPUs" and not one.largest and one.asked % 1 for one in found):
            parts.append("A GPU is not divided among jobs: ask for whole ones.")
        missing = " and ".join(_UNITS[one.resource][0].rpartition("of ")[2] for one in found if not one.largest)
        larger = "larger " if any(one.largest for one in found) else ""
        parts.append(f"An administrator can add a {larger}machine{missing and f' with {missing}'}.")
    return " ".join(parts)


def advice_lines(found: Alternatives) -> list[str]:
    """Return the alternatives as numbered lines."""
    lines = []
    number = 1
    for who, remedies in (("You can do", found.owners), ("An administrator can do", found.administrators)):
        if not remedies:
            continue
        kind = "this" if len(remedies) == 1 else "any of these"
        lines.append(f"{who} {kind}, and the next cycle starts the job:")
        for remedy in remedies:
            lines.append(f"  {number}. {_together(remedy)}")
            number += 1
    return lines


def advice_document(found: Alternatives) -> list[dict[str, Any]]:
    """Return the alternatives as plain data."""
    return [
        {"who": who, "changes": [change.document() for change in remedy]}
        for who, remedies in (("owner", found.owners), ("administrator", found.administrators))
        for remedy in remedies
    ]


def _together(remedy: Remedy) -> str:
    words = [change_order(change) for change in remedy]
    return f"{words[0][:1].upper()}{words[0][1:]}." if len(words) == 1 else f"All of: {'; '.join(words)}."
