"""Pieces of partitionable slots: what a match takes, what a dynamic slot has, and their GPUs by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fairq.common.expression_form import as_expression, attribute, unwrapped
from fairq.common.records import Ad


class Carving(Struct, frozen=True):
    """The part of a partitionable slot that a match takes: its weight, and the amount of each resource.

    *victims* are the dynamic slots that are preempted to make room, indices in the pool. *gpus* are the names of its
    GPUs, empty if the slot does not name enough.
    """

    cost: float
    amounts: Mapping[str, float]
    victims: tuple[int, ...] = ()
    gpus: tuple[str, ...] = ()


class Carved(Struct, frozen=True):
    """A dynamic slot of the pool: the amounts *taken* from its *parent*, an index in the pool."""

    parent: int
    taken: Mapping[str, float]


def left_of(value: Any, taken: float) -> Any:
    """Return what remains of the resource of a partitionable slot, a number or an expression; None if it has none."""
    if value is None:
        return None
    if isinstance(value, int | float):
        return max(0, plain(value - taken))
    return as_expression(f"({unwrapped(str(value))}) - {plain(taken)}") if taken else value


def plain(amount: float) -> float:
    """Return a whole number as an integer."""
    return int(amount) if float(amount).is_integer() else amount


_NAME = r"[^\s,{}\"]+"

_DESCRIBED = "GPUs_"


def available_gpus(ad: Ad) -> list[str]:
    """Return the names of the free GPUs of a slot; none if it does not name its GPUs."""
    available = attribute(ad, "availablegpus")
    return assigned_gpus(ad) if available is None else [_device(ad, gpu) for gpu in _names(available)]


def assigned_gpus(ad: Ad) -> list[str]:
    """Return the names of the GPUs of a slot from AssignedGPUs."""
    return _names(attribute(ad, "assignedgpus"))


def description(ad: Mapping[str, Any], gpu: str) -> Mapping[str, Any]:
    """Return the properties of a *gpu* of a slot; empty if the slot does not describe it."""
    properties = attribute(ad, described_by(gpu).lower())
    return properties if isinstance(properties, dict) else {}


def suitable_gpus(ad: Ad, gpus: Sequence[str], job: Ad, now: int) -> list[str]:
    """Return those of a slot's *gpus* that satisfy RequireGPUs of *job*, as its requirements count them."""
    if attribute(job, "requiregpus") is None:
        return list(gpus)
    from fairq.engine.classad import evaluate_scalar, parse

    matches = parse("countMatches(MY.RequireGPUs, TARGET.AvailableGPUs)")
    return [gpu for gpu in gpus if evaluate_scalar(matches, job, _with_available(ad, [described_by(gpu)]), now) == 1]


def with_gpus(ad: Ad, returned: Iterable[str]) -> Ad:
    """Return the *ad* of a partitionable slot, *returned* added to AvailableGPUs; unchanged if it names no GPUs."""
    returned_names = list(returned)
    available = attribute(ad, "availablegpus")
    if not returned_names or available is None:
        return ad
    return _with_available(ad, [*_names(available), *(described_by(gpu) for gpu in returned_names)])


def without_gpus(ad: Ad, taken: Iterable[str]) -> Ad:
    """Return the *ad* of a partitionable slot, *taken* removed from AvailableGPUs; unchanged if it names no GPUs."""
    available = attribute(ad, "availablegpus")
    listed = [described_by(gpu) for gpu in assigned_gpus(ad)] if available is None else _names(available)
    taken_names = set(taken)
    if not listed or not taken_names:
        return ad
    return _with_available(ad, [gpu for gpu in listed if _device(ad, gpu) not in taken_names])


def _device(ad: Ad, listed: str) -> str:
    """Return the name of the GPU that AvailableGPUs lists as *listed*."""
    if not listed.lower().startswith(_DESCRIBED.lower()):
        return listed
    properties = attribute(ad, listed.lower())
    if isinstance(properties, dict) and isinstance(own := attribute(properties, "id"), str):
        return own
    names_by_attribute = {described_by(name): name for name in assigned_gpus(ad)}
    return names_by_attribute.get(listed, listed[len(_DESCRIBED) :].replace("_", "-"))


def described_by(gpu: str) -> str:
    """Return the name of the attribute that describes a GPU."""
    return f"{_DESCRIBED}{gpu.replace('-', '_')}"


def _with_available(ad: Ad, listed: Sequence[str]) -> Ad:
    """Return *ad* with *listed* as AvailableGPUs; a GPU without a description is listed by name."""
    others = {name: value for name, value in ad.items() if name.lower() != "availablegpus"}
    named = [as_expression(gpu) if attribute(ad, gpu.lower()) is not None else _device(ad, gpu) for gpu in listed]
    return {**others, "AvailableGPUs": named}


def _names(value: Any) -> list[str]:
    if isinstance(value, list):
        return [unwrapped(name) for name in value if isinstance(name, str)]
    return re.findall(_NAME, unwrapped(value)) if isinstance(value, str) else []
