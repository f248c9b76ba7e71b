"""Dynamic slots and the rest of their partitionable slots, as a startd advertises both.

The ad of a partitionable slot is stored as advertised. Its rest is computed from its current dynamic slots, so that a
removed dynamic slot has returned everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct

from fairq.columns.ads import AdTable, Part, picked, shared
from fairq.common.records import Ad, DynamicSlot, SlotRecord
from fairq.engine.accounting.charges import SlotKey
from fairq.engine.negotiation.decision import Match
from fairq.engine.negotiation.pieces import Carved, assigned_gpus, left_of, plain, without_gpus
from fairq.state import dynamic_slots, slots
from fairq.state.connection import State

_NOT_OF_CHILDREN = frozenset(
    {"partitionableslot", "numdynamicslots", "name", "slottype", "assignedgpus", "availablegpus"}
)


class CarvedSlot(Struct, frozen=True):
    """A dynamic slot that a cycle creates: its *name*, its *ad*, and the resources taken from the slot *parent_id*."""

    name: str
    parent_id: int
    ad: Ad
    carved: dict[str, float]


def load_slots(state: State) -> list[SlotRecord]:
    """Return all slots in pool order: partitionable ones with the ad of their rest, dynamic ones with a whole ad."""
    every = slots.load_all(state)
    lay_out(state, every, dynamic_slots.load_all(state))
    return every


def lay_out(state: State, part: Sequence[SlotRecord], dynamic: Sequence[DynamicSlot]) -> None:
    """Convert the stored ads of a *part* of the pool as `laid_out`; *dynamic* are the dynamic slots of its families."""
    families = {number for child in dynamic for number in (child.slot_id, child.parent_id)}
    every = [*part, *slots.of_ids(state, families - {slot.id for slot in part})]
    ads = {place: slot.ad for place, slot in enumerate(every)}
    laid_out([slot.id for slot in every], AdTable(), ads, dynamic)
    for place, slot in enumerate(every):
        slot.ad = ads[place]


def carved_rows(dynamic: Sequence[DynamicSlot], ids: Sequence[int]) -> dict[int, Carved]:
    """Return the *dynamic* slots by their places among the slots *ids*."""
    places = {number: place for place, number in enumerate(ids)} if dynamic else {}
    return {places[child.slot_id]: Carved(places[child.parent_id], child.carved) for child in dynamic}


def laid_out(ids: Sequence[int], ads: AdTable, apart: dict[int, Ad], dynamic: Sequence[DynamicSlot]) -> AdTable:
    """Return the stored *ads* of the slots *ids* in their current state: dynamic slots, and the rest of others.

    The ads *apart*, among them those of all partitionable slots with dynamic ones, are not in the table and are
    changed themselves. *ads* and *apart* are by place.
    """
    places = {number: place for place, number in enumerate(ids)}
    families = {places[parent]: family for parent, family in by_parent(dynamic).items()}
    parents = {places[child.slot_id]: parent for parent, family in families.items() for child in family}
    own: dict[int, set[tuple[str, ...]]] = {parent: set() for parent in families}
    gpus: dict[int, list[str]] = {parent: [] for parent in families}
    for part in ads.parts:
        devices = next((at for at, name in enumerate(part.names) if name.lower() == "assignedgpus"), None)
        for place, row in enumerate(part.rows):
            if (parent := parents.get(row)) is not None:
                own[parent].add(part.names)
                if devices is not None:
                    gpus[parent] += assigned_gpus({"AssignedGPUs": part.columns[devices][place]})
    children = [row for row in apart if row in parents]
    for row in children:
        own[parents[row]].add(tuple(apart[row]))
        gpus[parents[row]] += assigned_gpus(apart[row])

    inherited: dict[int, Ad] = {}
    for parent, family in families.items():
        inherited[parent] = inherited_by(apart[parent], {name.lower() for names in own[parent] for name in names})
        apart[parent] = rest_of(apart[parent], family, gpus[parent])
    for row in children:
        apart[row] = {**inherited[parents[row]], **apart[row]}
    result = AdTable()
    for part in ads.parts:
        _put(result, part, parents, inherited)
    return result


def _put(result: AdTable, part: Part, parents: Mapping[int, int], inherited: Mapping[int, Ad]) -> None:
    """Put the ads of *part* into *result*, with what they have *inherited* from their *parents*."""
    groups: dict[tuple[str, ...] | None, list[int]] = {}
    for place, row in enumerate(part.rows):
        parent = parents.get(row)
        groups.setdefault(None if parent is None else tuple(inherited[parent]), []).append(place)
    for names, here in groups.items():
        rows = [part.rows[place] for place in here]
        columns = {name: part.column_at(number, here) for number, name in enumerate(part.names)}
        if names is not None:
            columns = {**_inherited(names, [parents[row] for row in rows], inherited), **columns}
        result.put_columns(tuple(columns), rows, list(columns.values()))


def _inherited(names: Sequence[str], parents: Sequence[int], inherited: Mapping[int, Ad]) -> dict[str, Sequence[Any]]:
    """The attributes *names* that the dynamic slots of these *parents*, one for each slot, have *inherited*."""
    places = {parent: place for place, parent in enumerate(dict.fromkeys(parents))}
    which = [places[parent] for parent in parents]
    return {name: picked(shared(tuple([inherited[parent][name] for parent in places])), which) for name in names}


def by_parent(dynamic: Iterable[DynamicSlot]) -> dict[int, list[DynamicSlot]]:
    """Return the *dynamic* slots of each partitionable slot, by its number."""
    families: dict[int, list[DynamicSlot]] = {}
    for child in dynamic:
        families.setdefault(child.parent_id, []).append(child)
    return families


def inherited_by(parent: Ad, own: AbstractSet[str]) -> Ad:
    """Return what dynamic slots advertise of their *parent*; *own* are attributes (in lower case) that they have."""
    inherited = {
        name: value
        for name, value in parent.items()
        if (lower := name.lower()) not in own and lower not in _NOT_OF_CHILDREN
    }
    slot_id = next((value for name, value in parent.items() if name.lower() == "slotid"), None)
    if slot_id is not None:
        inherited["ParentSlotId"] = slot_id
    return inherited


def rest_of(parent: Ad, family: Sequence[DynamicSlot], gpus: Iterable[str]) -> Ad:
    """Return the ad of a partitionable slot with what its dynamic slots leave, which have these *gpus*."""
    taken: dict[str, float] = {}
    for child in family:
        for name, amount in child.carved.items():
            taken[name.lower()] = taken.get(name.lower(), 0) + amount
    rest = {name: value for name, value in without_gpus(parent, gpus).items() if name.lower() != "numdynamicslots"}
    for name, value in rest.items():
        if name.lower() in taken:
            rest[name] = left_of(value, taken[name.lower()])
    advertised = next((value for name, value in parent.items() if name.lower() == "numdynamicslots"), 0)
    rest["NumDynamicSlots"] = len(family) + (advertised if type(advertised) is int else 0)
    return rest


def carved_slots(
    matches: Iterable[Match],
    ids: Sequence[int],
    names: Sequence[str],
    ads: Sequence[Ad],
) -> dict[SlotKey, CarvedSlot]:
    """Return the dynamic slots that *matches* create, by the key of their charge.

    A slot1@host has the dynamic slots slot1_1@host, slot1_2@host, …; the lowest free number is used.
    """
    used: dict[str, set[int]] | None = None
    carved: dict[SlotKey, CarvedSlot] = {}
    lowest: dict[str, int] = {}
    for match in matches:
        if match.carving is None:
            continue
        if used is None:
            used = _numbers(names)
        parent = names[match.slot]
        number = lowest.get(parent, 0) + 1
        while number in used.get(parent, ()):
            number += 1
        lowest[parent] = number
        stem, at, machine = parent.partition("@")
        name = f"{stem}_{number}{at}{machine}"
        taken = {resource: plain(amount) for resource, amount in match.carving.amounts.items()}
        ad = _own_ad(name, number, taken, match.carving.cost, ads[match.slot])
        if match.carving.gpus:
            ad["AssignedGPUs"] = ",".join(match.carving.gpus)
        carved[match.key] = CarvedSlot(name, ids[match.slot], ad, taken)
    return carved


def _own_ad(name: str, number: int, taken: Mapping[str, float], weight: float, parent: Ad) -> Ad:
    spelled = {attribute.lower(): attribute for attribute in parent}
    ad: dict[str, Any] = {"Name": name, "SlotType": "Dynamic", "DynamicSlot": True, "DSlotId": number}
    for resource in {**dict.fromkeys(("Cpus", "Memory", "Disk", "GPUs")), **taken}:
        attribute = spelled.get(resource.lower())
        if attribute is not None:
            ad[attribute] = ad[f"TotalSlot{resource}"] = taken.get(resource, 0)
    ad["SlotWeight"] = plain(weight)
    return ad


def _numbers(names: Iterable[str]) -> dict[str, set[int]]:
    """The numbers of existing dynamic slots, by name of the parent."""
    used: dict[str, set[int]] = {}
    for name in names:
        stem, at, machine = name.partition("@")
        parent, underscore, number = stem.rpartition("_")
        if underscore and number.isdecimal():
            used.setdefault(f"{parent}{at}{machine}", set()).add(int(number))
    return used


def add_slots(state: State, made: Mapping[SlotKey, CarvedSlot], addresses: Mapping[int, str]) -> dict[SlotKey, int]:
    """Append the new dynamic slots *made* to the pool; return their slot ids by the same keys."""
    carved = list(made.values())
    new = [SlotRecord(0, slot.name, slot.ad, addresses[slot.parent_id]) for slot in carved]
    numbers = slots.add(state, new)
    dynamic_slots.add(
        state,
        (DynamicSlot(number, slot.parent_id, slot.carved) for number, slot in zip(numbers, carved, strict=True)),
    )
    return dict(zip(made, numbers, strict=True))
