"""Pieces of partitionable slots: what a match takes, what a dynamic slot has taken; their GPUs by name."""

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
    GPUs; empty if the slot does not name as many.
    """

    cost: float
    amounts: Mapping[str, float]
    victims: tuple[int, ...] = ()
    gpus: tuple[str, ...] = ()


class Carved(Struct, frozen=True):
    """A dynamic slot of the pool: the amounts *taken* from its *parent*, an index in the pool."""

    parent: int
    taken: Mapping[str, float]


_NAME = r"[^\s,{}\"]+"

_DESCRIBED = "GPUs_"


def available_gpus(ad: Ad) -> list[str]:
    """Return the names of the free GPUs of a slot; none if it does not name its GPUs."""
    available = attribute(ad, "availablegpus")
    return assigned_gpus(ad) if available is None else [_device(ad, one) for one in _names(available)]


def assigned_gpus(ad: Ad) -> list[str]:
    """Return the names of the GPUs that a slot has, as AssignedGPUs tells them."""
    return _names(attribute(ad, "assignedgpus"))


def description(ad: Mapping[str, Any], gpu: str) -> Mapping[str, Any]:
    """Return the properties of a *gpu* of a slot; empty if the slot does not describe it."""
    found = attribute(ad, described_by(gpu).lower())
    return found if isinstance(found, dict) else {}


def suitable_gpus(ad: Ad, gpus: Sequence[str], job: Ad, now: int) -> list[str]:
    """Return those of the *gpus* of a slot that satisfy RequireGPUs of *job*, as its requirements count them."""
    if attribute(job, "requiregpus") is None:
        return list(gpus)
    from fairq.engine.classad import evaluate_scalar, parse

    matches = parse("countMatches(MY.RequireGPUs, TARGET.AvailableGPUs)")
    return [one for one in gpus if evaluate_scalar(matches, job, _with_available(ad, [described_by(one)]), now) == 1]


def with_gpus(ad: Ad, given_back: Iterable[str]) -> Ad:
    """Return the *ad* of a partitionable slot, *given_back* added to AvailableGPUs; unchanged if it names no GPUs."""
    back = list(given_back)
    available = attribute(ad, "availablegpus")
    if not back or available is None:
        return ad
    return _with_available(ad, [*_names(available), *(described_by(gpu) for gpu in back)])


def without_gpus(ad: Ad, taken: Iterable[str]) -> Ad:
    """Return the *ad* of a partitionable slot, *taken* removed from AvailableGPUs; unchanged if it names no GPUs."""
    available = attribute(ad, "availablegpus")
    listed = [described_by(gpu) for gpu in assigned_gpus(ad)] if available is None else _names(available)
    gone = set(taken)
    if not listed or not gone:
        return ad
    return _with_available(ad, [one for one in listed if _device(ad, one) not in gone])


def _device(ad: Ad, listed: str) -> str:
    """Return the name of the GPU that AvailableGPUs lists as *listed*."""
    if not listed.lower().startswith(_DESCRIBED.lower()):
        return listed
    told = attribute(ad, listed.lower())
    if isinstance(told, dict) and isinstance(own := attribute(told, "id"), str):
        return own
    known = {described_by(name): name for name in assigned_gpus(ad)}
    return known.get(listed, listed[len(_DESCRIBED) :].replace("_", "-"))


def described_by(gpu: str) -> str:
    """Return the name of the attribute that describes a GPU."""
    return f"{_DESCRIBED}{gpu.replace('-', '_')}"


def _with_available(ad: Ad, listed: Sequence[str]) -> Ad:
    """Return *ad* with AvailableGPUs; a GPU that has no description is listed by name."""
    kept = {name: value for name, value in ad.items() if name.lower() != "availablegpus"}
    named = [as_expression(one) if attribute(ad, one.lower()) is not None else _device(ad, one) for one in listed]
    return {**kept, "AvailableGPUs": named}


def _names(value: Any) -> list[str]:
    if isinstance(value, list):
        return [unwrapped(name) for name in value if isinstance(name, str)]
    return re.findall(_NAME, unwrapped(value)) if isinstance(value, str) else []
