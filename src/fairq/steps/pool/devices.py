"""The GPUs of a machine: the names that its slots have for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import count, islice

from fairq.common.expression_form import attribute
from fairq.common.records import Ad
from fairq.engine.negotiation.pieces import assigned_gpus, available_gpus

BY_NUMBER = re.compile(r"[A-Za-z]*(\d{1,9})")
"""The name of a device that its machine numbers, such as CUDA0."""

_SHORT = len("GPU-1a2b3c4d")
"""The length of the names that HTCondor makes of longer identifiers."""


def same_gpu(one: str, other: str, machine: Sequence[str]) -> bool:
    """Return whether two names may be those of one GPU of a *machine* that has these GPUs, by number.

    A number and an identifier that the machine does not know may be.
    """
    if _is_amd(one) != _is_amd(other):
        return False
    numbers = [int(match[1]) for name in (one, other) if (match := BY_NUMBER.fullmatch(name))]
    if len(numbers) != 1:
        return numbers[0] == numbers[1] if numbers else _short(one) == _short(other)
    identifier = _short(other if BY_NUMBER.fullmatch(one) else one)
    number_of_other = next((number for number, name in enumerate(machine) if _short(name) == identifier), None)
    return number_of_other is None or number_of_other == numbers[0]


def by_number(names: Iterable[str]) -> Sequence[str]:
    """Return the GPUs of this machine by number, if *names* name some by number and some by identifier."""
    if len({BY_NUMBER.fullmatch(name) is None for name in names}) < 2:
        return ()
    from fairq.common.hardware import gpus

    return [gpu.name for gpu in gpus()]


def _is_amd(name: str) -> bool:
    return name.upper().startswith("HIP")


def _short(identifier: str) -> str:
    return identifier.lower()[:_SHORT]


def numbered(ads: Sequence[Ad], there: Callable[[], Iterable[Ad]], machine_of: Callable[[Ad], str | None]) -> list[Ad]:
    """Return the *ads* of new slots, with names for GPUs of which they tell only the number: CUDA0, CUDA1, ….

    A number is given once on each machine, as *machine_of* tells it (None: leave the slot alone); *there* are the slots
    that exist.
    """
    if not any(map(_unnamed, ads)):
        return list(ads)
    used: dict[str | None, set[str]] = {}
    for ad in (*there(), *ads):
        used.setdefault(machine_of(ad), set()).update(available_gpus(ad), assigned_gpus(ad))
    made = []
    for ad in ads:
        machine, missing = machine_of(ad), _unnamed(ad)
        if machine is None or not missing:
            made.append(ad)
            continue
        taken = used[machine]
        # Devices that are named otherwise have numbers, too.
        first = sum(BY_NUMBER.fullmatch(name) is None for name in taken)
        names = list(islice((f"CUDA{n}" for n in count(first) if f"CUDA{n}" not in taken), missing))
        taken.update(names)
        made.append({**ad, "AssignedGPUs": ",".join(names)})
    return made


def _unnamed(ad: Ad) -> int:
    """Return how many GPUs a slot has, if it names none."""
    total = attribute(ad, "gpus")
    if type(total) is not int or available_gpus(ad) or assigned_gpus(ad):
        return 0
    return total
