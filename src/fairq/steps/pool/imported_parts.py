"""Dynamic slots of the machines of an imported pool, and their parents.

A machine's ads contain the rest of a partitionable slot and the resources of each dynamic slot. There are no other
records of them until a dynamic slot is preempted to make room (docs/htcondor.md 3.14).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from fairq.common.expression_form import attribute
from fairq.common.records import Ad, DynamicSlot, SlotRecord
from fairq.engine.negotiation.pieces import Carved, assigned_gpus, with_gpus
from fairq.state import dynamic_slots, slots
from fairq.state.connection import State

if TYPE_CHECKING:
    from fairq.engine.negotiation.pool import PoolSlots

_PART = re.compile(r"(.+)_\d+(@.*)?")
_RESOURCES = ("Cpus", "Memory", "Disk", "GPUs")


def parent_name(name: str) -> str | None:
    """Return the name of the partitionable slot that a dynamic slot of this name belongs to; None for another name."""
    named = _PART.fullmatch(name)
    return None if named is None else named[1] + (named[2] or "")


def parts_of(pool: PoolSlots, ads: Sequence[Ad], wanted: Collection[int]) -> dict[int, Carved]:
    """Return the dynamic slots of *pool* whose keys are *wanted*, with their parents, by place."""
    from fairq.engine.explain.pieces import pieces_of

    parts: dict[int, Carved] = {}
    for parent, rows in pieces_of(pool).items():
        for row in rows:
            if pool.keys[row] in wanted:
                parts[row] = Carved(parent, _amounts(ads[row], ads[parent]))
    return parts


def merged(parent: Ad, part: Ad) -> Ad:
    """Return the ad of a partitionable slot after the dynamic slot *part* is merged back, with its GPUs."""
    from fairq.engine.explain.pieces import given_back

    return with_gpus(given_back(parent, part), assigned_gpus(part))


def adopt_ended(state: State, ended: Collection[int]) -> None:
    """Adopt those of the slots *ended*, by number, that a machine carved; they can be merged back then."""
    known = dynamic_slots.ids(state)
    names = slots.names_of(state, set(ended) - known)
    stems = set(filter(None, map(parent_name, names.values())))
    parents = [slot for name in sorted(stems) for slot in slots.load(state, name)]
    if not parents:
        return
    from fairq.engine.classad import AdColumns
    from fairq.engine.negotiation.pool import PoolSlots

    records = [*slots.of_ids(state, names), *parents]
    ads, ids = [slot.ad for slot in records], [slot.id for slot in records]
    pool = PoolSlots([slot.name for slot in records], ids, AdColumns(ads))
    adopt(state, parts_of(pool, ads, names), ids, records)


def adopt(
    state: State, rows: Mapping[int, Carved], ids: Sequence[int], records: Sequence[SlotRecord] | None = None
) -> list[int]:
    """Adopt dynamic slots that a machine carved, by place, and return their numbers.

    From then on they count as fairq's own: the stored ad of the parent is that of the whole slot. *records* are the
    slots by place; None: all of the pool, and a match takes what they had, so that the machine's lists of its dynamic
    slots are out of date.
    """
    if not rows:
        return []
    makes_room = records is None
    records = slots.load_all(state) if records is None else records
    changed: dict[int, SlotRecord] = {}
    for row, part in rows.items():
        parent = changed.setdefault(part.parent, records[part.parent])
        parent.ad = merged(parent.ad, records[row].ad)
        if makes_room:
            lists = {
                name for name, value in parent.ad.items() if name.lower().startswith("child") and type(value) is list
            }
            parent.ad = {name: value for name, value in parent.ad.items() if name not in lists}
    slots.add(state, changed.values())
    dynamic_slots.add(
        state, (DynamicSlot(ids[row], ids[piece.parent], dict(piece.taken)) for row, piece in rows.items())
    )
    return [ids[row] for row in rows]


def _amounts(ad: Ad, parent: Ad) -> dict[str, float]:
    listed = attribute(parent, "machineresources")
    names = dict.fromkeys((*_RESOURCES, *(listed.replace(",", " ").split() if isinstance(listed, str) else ())))
    amounts = {name: attribute(ad, name.lower()) for name in names}
    return {name: value for name, value in amounts.items() if type(value) in (int, float) and value > 0}
