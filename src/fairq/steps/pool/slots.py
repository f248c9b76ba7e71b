"""Add and remove slots of the pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from fairq.common.records import Actor, Ad, Change, Claim, SlotRecord
from fairq.common.reservation import Reservation
from fairq.errors.nearest import nearest
from fairq.errors.pool import DuplicateSlotError, SlotInUseError, UnknownSlotError
from fairq.formats.slots import read_slots
from fairq.formats.source import opened
from fairq.launch.discovery import NONE
from fairq.state import claims, dynamic_slots, history, reservations, slots, undo
from fairq.state.connection import State, opened_for
from fairq.steps.jobs.end import requeue
from fairq.steps.launch.launchers import ATTRIBUTE, LOCAL
from fairq.steps.pool.devices import numbered

if TYPE_CHECKING:
    from fairq.settings import Settings


def read_file(name: str) -> list[SlotRecord]:
    """Return the slots of a dump of ``condor_status`` (*name*: a path, or ``-``); raises the dumps' errors."""
    with opened(name) as source:
        return list(read_slots(source).slots)


def records(ads: Sequence[Ad]) -> list[SlotRecord]:
    """Return slots for *ads* that fairq made itself."""
    return [SlotRecord(0, str(ad["Name"]), ad) for ad in ads]


def with_launcher(ads: Sequence[Ad], launcher: str) -> list[Ad]:
    """Return *ads* with the name of the launcher of their slots; raises UnknownLauncherError."""
    from fairq.launch.discovery import check

    return [{**ad, "Launch": check(launcher)} for ad in ads]


def add(
    path: Path,
    settings: Settings,
    new: Sequence[SlotRecord],
    actor: Actor,
    until: int | None = None,
    *,
    dry_run: bool = False,
) -> None:
    """Append slots to the pool; GPUs without names get numbers that are free on their machine.

    They leave the pool *until* then (seconds since 1970; None: they stay), as soon as no job runs on them.

    Raises DuplicateSlotError if a slot exists already.
    """
    with opened_for(path, dry_run=dry_run) as state:
        ads = numbered([slot.ad for slot in new], lambda: slots.load_ads(state), partial(_machine, settings))
        new = [replace(slot, ad=ad) for slot, ad in zip(new, ads, strict=True)]
        twice = [name for name, count in Counter((slot.name, slot.address) for slot in new).items() if count > 1]
        if twice:
            raise DuplicateSlotError(name=twice[0][0], problem="is given twice; remove one")
        known = set(slots.load_names(state))
        for slot in new:
            if slot.name in known and any(other.address == slot.address for other in slots.load(state, slot.name)):
                raise DuplicateSlotError(name=slot.name, problem="is already in the pool; remove that slot first")
        if not dry_run:
            slots.add(state, new)
            slots.gather(state)
            names = [slot.name for slot in new]
            leaving = {} if until is None else {"Until": until}
            entries = history.record(
                state, actor, [Change(f"slot {slot.name}", None, _size(slot) | leaving) for slot in new]
            )
            undo.record(state, actor, entries, "slots add", {"names": names}, None)
            reservations.keep_in_pool(state, names)
            if until is not None:
                number = reservations.next_number(state)
                end = Reservation(number, names, until, None, actor.user, actor.time, reason=actor.reason, leaves=True)
                reservations.store(state, [*reservations.stored(state), end])


def _machine(settings: Settings, ad: Ad) -> str | None:
    """Return which slots share devices with this one; None if an engine assigns them."""
    launcher = next((ad[name] for name in ad if name.lower() == ATTRIBUTE.lower()), settings["launch.kind"])
    if launcher == LOCAL:  # The jobs are processes of this machine, whatever their slots are called.
        return LOCAL
    return f"at {ad.get('Machine', ad.get('Name'))}".lower() if launcher == NONE else None


def remove(
    path: Path,
    settings: Settings,
    names: Sequence[str],
    actor: Actor,
    *,
    force: bool = False,
    dry_run: bool = False,
) -> list[str]:
    """Remove slots from the pool and return their names.

    With *force*, slots in use are removed, too: their use is charged, and their jobs become idle.

    Raises UnknownSlotError, SlotInUseError.
    """
    with opened_for(path, dry_run=dry_run, create=False) as state:
        chosen = [slot for name in dict.fromkeys(names) for slot in named(state, name)]
        chosen = with_carved(state, chosen)
        held = {claim.slot_id: claim for claim in claims.load_all(state)}
        ended = [held[slot.id] for slot in chosen if slot.id in held]
        if ended and not force:
            slot = next(slot for slot in chosen if slot.id in held)
            raise SlotInUseError(name=slot.name, user=held[slot.id].submitter, job=_for_job(held[slot.id]))
        if not dry_run:
            requeue(state, settings, ended, actor.time, "lost")
            slots.remove(state, [slot.id for slot in chosen])
            entries = history.record(state, actor, [Change(f"slot {slot.name}", _size(slot), None) for slot in chosen])
            carved = dynamic_slots.ids(state)
            former = [asdict(slot) for slot in chosen if slot.id not in carved]
            undo.record(state, actor, entries, "slots remove", {"slots": former}, settings["pool.undo_kept"])
    return [slot.name for slot in chosen]


def leaving(state: State, now: int) -> list[SlotRecord]:
    """Return the slots that leave the pool at *now*: their time has come, and no job runs on them."""
    names = [
        name
        for reservation in reservations.stored(state)
        if reservation.leaves and reservation.begin <= now
        for name in reservation.slots
    ]
    if not names:
        return []
    used = slots.in_use(state)
    return [slot for name in names for slot in slots.load(state, name) if slot.id not in used]


def let_leave(state: State, actor: Actor) -> None:
    """Remove the slots that leave the pool."""
    expired = leaving(state, actor.time)
    slots.remove(state, [slot.id for slot in expired])
    reservations.keep_in_pool(state, {slot.name for slot in expired})
    actor = replace(actor, reason="its time in the pool is over")
    history.record(state, actor, [Change(f"slot {slot.name}", _size(slot), None) for slot in expired])


def _size(slot: SlotRecord) -> Ad:
    return {name: slot.ad[name] for name in ("Cpus", "Memory", "Disk", "GPUs") if name in slot.ad}


def named(state: State, name: str) -> list[SlotRecord]:
    """Return the slots called *name*, or those of the machine called *name*; raises UnknownSlotError."""
    of_name = slots.load(state, name)
    if of_name:
        return of_name
    every = slots.load_names(state)
    of_machine = [slot for slot in every if slot.partition("@")[2] == name]
    if of_machine:
        return [slot for slot_name in dict.fromkeys(of_machine) for slot in slots.load(state, slot_name)]
    close = nearest(name, every)
    hint = f"did you mean {close!r}?" if close else "list the slots with 'fairq slots list'"
    raise UnknownSlotError(name=name, hint=hint)


def with_carved(state: State, chosen: list[SlotRecord]) -> list[SlotRecord]:
    """Return *chosen* with the dynamic slots of its partitionable slots."""
    carved = set(dynamic_slots.children(state, [slot.id for slot in chosen])) - {slot.id for slot in chosen}
    return chosen + [slot for slot in slots.load_all(state) if slot.id in carved] if carved else chosen


def _for_job(claim: Claim) -> str:
    return "" if claim.cluster is None else f" for job {claim.cluster}.{claim.proc}"
