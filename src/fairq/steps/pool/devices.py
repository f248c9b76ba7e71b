"""The devices of a dynamic slot: the GPUs of its machine, by their advertised names.

A partitionable slot has AssignedGPUs, the names of all its GPUs, and AvailableGPUs, the GPUs of no dynamic slot
(a list, in which condor_startd writes GPUs_GPU_1a2b3c4d for GPU-1a2b3c4d). A dynamic slot has its own GPUs in
AssignedGPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from fairq.expression_form import within
from fairq.records import Ad

_NAME = r"[^\s,{}\"]+"


def available_gpus(ad: Ad) -> list[str]:
    """Return the names of the free GPUs of a slot; none if it does not name its GPUs."""
    available, assigned = _value(ad, "availablegpus"), assigned_gpus(ad)
    if available is None:
        return assigned
    known = {f"GPUs_{name.replace('-', '_')}": name for name in assigned}
    return [known.get(name, name) for name in _names(available)]


def assigned_gpus(ad: Ad) -> list[str]:
    """Return the names of the GPUs that a dynamic slot has."""
    return _names(_value(ad, "assignedgpus"))


def with_gpus(ad: Ad, given_back: Iterable[str]) -> Ad:
    """Return the *ad* of a partitionable slot, *given_back* added to AvailableGPUs; unchanged if it names no GPUs."""
    back = list(given_back)
    if not back or _value(ad, "availablegpus") is None:
        return ad
    kept = {name: value for name, value in ad.items() if name.lower() != "availablegpus"}
    return {**kept, "AvailableGPUs": [*available_gpus(ad), *back]}


def without_gpus(ad: Ad, taken: Iterable[str]) -> Ad:
    """Return the *ad* of a partitionable slot, *taken* removed from AvailableGPUs; unchanged if it names no GPUs."""
    available, gone = available_gpus(ad), set(taken)
    if not available or not gone:
        return ad
    kept = {name: value for name, value in ad.items() if name.lower() != "availablegpus"}
    return {**kept, "AvailableGPUs": [name for name in available if name not in gone]}


def _names(value: Any) -> list[str]:
    if isinstance(value, list):
        return [name for name in value if isinstance(name, str)]
    if not isinstance(value, str):
        return []
    return re.findall(_NAME, within(value))


def _value(ad: Ad, lower: str) -> Any:
    return next((value for name, value in ad.items() if name.lower() == lower), None)
