"""Advice to a job's owner and to an administrator, as numbered sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairq.common.quantities import rounded
from fairq.engine.explain.pieces import TooLarge
from fairq.engine.explain.remedies import Remedy
from fairq.steps.why.changes import change_order

_UNITS: dict[str, tuple[str, str, float]] = {
    "Cpus": ("cores", "cores", 1), "Memory": ("GB of memory", "MB of memory", 1024),
    "Disk": ("GB of disk", "kB of disk", 1024 * 1024), "GPUs": ("GPUs", "GPUs", 1),
}  # fmt: skip
"""The unit in sentences, the unit of requests, and how many of the latter make one of the former."""

_COMMANDS = {"Cpus": "request_cpus", "Memory": "request_memory", "Disk": "request_disk", "GPUs": "request_gpus"}


def too_large_sentence(excesses: Sequence[TooLarge]) -> str:
    """Return the sentence that no machine or slot is large enough, with the cure."""
    is_divided = all(excess.machine >= excess.asked for excess in excesses)
    parts = []
    for excess in excesses:
        unit, exact, size = _UNITS[excess.resource]
        asked, largest = rounded(excess.asked / size), rounded(excess.largest / size)
        if asked == largest:
            unit, asked, largest = exact, f"{excess.asked:.15g}", f"{excess.largest:.15g}"
        if excess.largest == 1:
            unit = unit.removesuffix("s")
        most = f"has more than {largest} {unit}" if excess.largest else f"has {unit.rpartition('of ')[2]}"
        parts.append(f"No {'slot' if is_divided else 'machine'} {most}; you ask for {asked}.")
    commands = ", ".join(
        f"{_COMMANDS[excess.resource]} = {excess.largest:.15g}" for excess in excesses if excess.largest
    )
    if commands:
        parts.append(f"You can ask for less: at most {commands}.")
    if is_divided:
        parts.append("A machine has enough, but is divided: an administrator can make one slot of it, --partitionable.")
    else:
        if any(excess.resource == "GPUs" and not excess.largest and excess.asked % 1 for excess in excesses):
            parts.append("A GPU is not divided among jobs: ask for whole ones.")
        missing = " and ".join(
            _UNITS[excess.resource][0].rpartition("of ")[2] for excess in excesses if not excess.largest
        )
        larger = "larger " if any(excess.largest for excess in excesses) else ""
        parts.append(f"An administrator can add a {larger}machine{missing and f' with {missing}'}.")
    return " ".join(parts)


def advice_lines(choices: Mapping[str, Sequence[Remedy]]) -> list[str]:
    """Return the alternatives, by who can make them, as numbered lines."""
    lines = []
    number = 1
    for who, remedies in choices.items():
        if not remedies:
            continue
        kind = "this" if len(remedies) == 1 else "any of these"
        lines.append(f"{_WHO[who]} can do {kind}, and the next cycle starts the job:")
        for remedy in remedies:
            lines.append(f"  {number}. {_remedy_sentence(remedy)}")
            number += 1
    return lines


_WHO = {"owner": "You", "administrator": "An administrator"}


def advice_document(choices: Mapping[str, Sequence[Remedy]]) -> list[dict[str, Any]]:
    """Return the alternatives as plain data."""
    return [
        {"who": who, "changes": [change.document() for change in remedy]}
        for who, remedies in choices.items()
        for remedy in remedies
    ]


def _remedy_sentence(remedy: Remedy) -> str:
    words = [change_order(change) for change in remedy]
    return f"{words[0][:1].upper()}{words[0][1:]}." if len(words) == 1 else f"All of: {'; '.join(words)}."
