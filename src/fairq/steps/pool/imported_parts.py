"""Dynamic slots of the machines of an imported pool, and their parents.

A machine's ads contain the rest of a partitionable slot and the resources of each dynamic slot. There are no other
records of them until a dynamic slot is preempted to make room (docs/htcondor.md 3.14).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fairq.engine.negotiation.carving import Carved
from fairq.records import Ad, DynamicSlot, SlotRecord
from fairq.state import dynamic_slots, slots
from fairq.state.connection import State
from fairq.steps.pool.devices import assigned_gpus, with_gpus
from fairq.steps.pool.dynamic_slots import plain

_PART = re.compile(r"(.+)_\d+(@.*)?")
_RESOURCES = ("Cpus", "Memory", "Disk", "GPUs")


def imported_parts(names: Sequence[str], ads: Sequence[Ad], known: Collection[int]) -> dict[int, Carved]:
    """Return the dynamic slots among *ads*, without the *known* ones, by place; slot1_2@host belongs to slot1@host."""
    parts: dict[int, Carved] = {}
    places: dict[str, int] = {}
    for row, name in enumerate(names):
        named = None if row in known else _PART.fullmatch(name)
        if named is None:
            continue
        if not places:
            places = {other: place for place, other in enumerate(names)}
        parent = places.get(named[1] + (named[2] or ""))
        if parent is None or _value(ads[parent], "partitionableslot") is not True:
            continue
        if _value(ads[row], "dynamicslot") is True:
            parts[row] = Carved(parent, _amounts(ads[row], ads[parent]))
    return parts


def adopt(state: State, rows: Mapping[int, Carved], ids: Sequence[int]) -> list[int]:
    """Adopt dynamic slots that a machine carved, by place, and return their numbers.

    From then on they count as fairq's own: the stored ad of the parent is that of the whole slot.
    """
    if not rows:
        return []
    records = slots.load_all(state)
    changed: dict[int, SlotRecord] = {}
    for row, part in rows.items():
        parent = changed.setdefault(part.parent, records[part.parent])
        for name, value in list(parent.ad.items()):
            amount = next((part.taken[one] for one in part.taken if one.lower() == name.lower()), None)
            if amount is not None and type(value) in (int, float):
                parent.ad[name] = plain(value + amount)
            elif name.lower().startswith("child") and isinstance(value, list):
                # The machine's list of its dynamic slots is out of date from now on.
                del parent.ad[name]
            elif name.lower() == "numdynamicslots" and type(value) is int:
                parent.ad[name] = value - 1
        parent.ad = with_gpus(parent.ad, assigned_gpus(records[row].ad))
    slots.add(state, changed.values())
    dynamic_slots.add(state, (DynamicSlot(ids[row], ids[one.parent], dict(one.taken)) for row, one in rows.items()))
    return [ids[row] for row in rows]


def _amounts(ad: Ad, parent: Ad) -> dict[str, float]:
    listed = _value(parent, "machineresources")
    names = dict.fromkeys((*_RESOURCES, *(listed.replace(",", " ").split() if isinstance(listed, str) else ())))
    found = {name: _value(ad, name.lower()) for name in names}
    return {name: value for name, value in found.items() if type(value) in (int, float) and value > 0}


def _value(ad: Ad, lower: str) -> Any:
    return next((value for name, value in ad.items() if name.lower() == lower), None)
