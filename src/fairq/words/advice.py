"""Advice to a job's owner and to an administrator, as numbered sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairq.engine.explain.alternatives import Alternatives
from fairq.engine.explain.machines import TooLarge
from fairq.engine.explain.remedies import Remedy
from fairq.words.changes import change_order

_UNITS: dict[str, tuple[str, float]] = {
    "Cpus": ("cores", 1), "Memory": ("GB of memory", 1024), "Disk": ("GB of disk", 1024 * 1024), "GPUs": ("GPUs", 1),
}  # fmt: skip
_COMMANDS = {"Cpus": "request_cpus", "Memory": "request_memory", "Disk": "request_disk", "GPUs": "request_gpus"}


def too_large_sentence(found: Sequence[TooLarge]) -> str:
    """Return the sentence that no machine is large enough, with the cure."""
    parts = []
    for one in found:
        unit, size = _UNITS[one.resource]
        if one.largest == 1:
            unit = unit.removesuffix("s")
        most = f"has more than {one.largest / size:.6g} {unit}" if one.largest else f"has {unit.rpartition('of ')[2]}"
        parts.append(f"No machine {most}; you ask for {one.asked / size:.6g}.")
    less = ", ".join(f"{_COMMANDS[one.resource]} = {one.largest:.15g}" for one in found if one.largest)
    if less:
        parts.append(f"You can ask for less: at most {less}.")
    return " ".join([*parts, "An administrator can add a larger machine."])


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
