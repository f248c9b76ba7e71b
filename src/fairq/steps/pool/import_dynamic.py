"""The effect of an import on slots that exist only while claimed: fairq's dynamic slots, and slots of pilots."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from fairq.common.records import Claim, DynamicSlot, PilotSlot, SlotRecord
from fairq.state import dynamic_slots, pilot_slots
from fairq.state.connection import State

SlotIdentity = tuple[str, str]
"""A slot's name and address."""


def carried_over(
    state: State,
    former: Collection[SlotRecord],
    new: Sequence[SlotRecord],
    claims: Collection[Claim],
) -> tuple[Sequence[SlotRecord], list[DynamicSlot]]:
    """Return the pool *new* plus the dynamic slots of *former* that stay, with the next ids, and their carvings.

    A dynamic slot stays if its parent still exists and is partitionable and if its claim is among *claims*, whose jobs
    continue there. It does not stay if a slot of the new pool has its name: that is the same slot in its machine's ads.
    """
    carved = dynamic_slots.load_all(state)
    if not carved:
        return new, []
    slots = {slot.id: slot for slot in former}
    held = {claim.slot_id for claim in claims}
    places: dict[SlotIdentity, SlotRecord] = {(slot.name, slot.address): slot for slot in new}
    pool, dynamic = list(new), []
    for child in carved:
        if child.slot_id not in held:
            continue
        slot, parent = slots[child.slot_id], slots[child.parent_id]
        new_parent = places.get((parent.name, parent.address))
        if new_parent is None or not _is_partitionable(new_parent) or (slot.name, slot.address) in places:
            continue
        pool.append(SlotRecord(len(pool) + 1, slot.name, slot.ad, slot.address, slot.draining))
        dynamic.append(DynamicSlot(len(pool), new_parent.id, child.carved))
    return pool, dynamic


def pilots_carried_over(
    state: State, former: Collection[SlotRecord], new: Sequence[SlotRecord], claims: Collection[Claim]
) -> tuple[Sequence[SlotRecord], list[PilotSlot]]:
    """Return the pool *new* plus the pilots' slots of *former* whose jobs continue, with the next ids and their pilots.

    A pilot is not a machine of the pool, so no dump contains it.
    """
    pilots = {pilot.slot_id: pilot for pilot in pilot_slots.load_all(state)}
    if not pilots:
        return new, []
    held = {claim.slot_id for claim in claims}
    taken = {(slot.name, slot.address) for slot in new}
    pool, kept = list(new), []
    for slot in former:
        if slot.id in pilots and slot.id in held and (slot.name, slot.address) not in taken:
            pool.append(replace(slot, id=len(pool) + 1))
            kept.append(replace(pilots[slot.id], slot_id=len(pool)))
    return pool, kept


def _is_partitionable(slot: SlotRecord) -> bool:
    return any(name.lower() == "partitionableslot" and value is True for name, value in slot.ad.items())
