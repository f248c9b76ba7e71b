"""The current ads of the slots: as advertised, divided, claimed and drained; and how many slots there are of a kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from fairq.common.records import Ad, Claim, SlotRecord
from fairq.state import claims, dynamic_slots
from fairq.state.connection import State, reading
from fairq.steps.pool.claimed_ads import with_claim, with_draining
from fairq.steps.pool.drain_record import drain_records
from fairq.steps.pool.reservation_clause import reserved_slots, with_reservations


def look(path: Path, names: Sequence[str], now: int) -> list[Ad]:
    """Return the current ads at *now* of the pool's slots (all, or the named ones) in pool order.

    Raises UnknownSlotError.
    """
    with reading(path) as state:
        if not names:
            return list(standing_ads(state, now))
        from fairq.steps.pool.slots import named  # a listing of all slots does without

        chosen = {slot.id: slot for name in dict.fromkeys(names) for slot in named(state, name)}
        return part_ads(state, [slot for _, slot in sorted(chosen.items())], now)


def standing_ads(state: State, now: int, skip: int = 0) -> Iterator[Ad]:
    """Return the current ads at *now* of all slots in pool order, without the first ones; all is read from *state*."""
    from fairq.steps.pool.current_slots import load_standing  # the first page of a listing does without

    held = claims.load_table(state)
    ads = islice(load_standing(state, held, now).ads, skip, None)
    drains = drain_records(state)
    return ({**ad, **drains.get(ad["Name"], _NOTHING)} for ad in ads) if drains else ads


def part_ads(state: State, part: Sequence[SlotRecord], now: int) -> list[Ad]:
    """Return the current ads at *now* of a few slots, with the rest of their stored ads and their claims."""
    dynamic = dynamic_slots.families(state, (slot.id for slot in part))
    if dynamic:
        from fairq.steps.pool.dynamic_slots import lay_out_part

        lay_out_part(state, part, dynamic)
    held = {claim.slot_id: claim for claim in claims.of_slots(state, (slot.id for slot in part))}
    drains = drain_records(state) if any(slot.draining for slot in part) else {}
    ads = [standing_ad(slot, held.get(slot.id), now) | drains.get(slot.name, _NOTHING) for slot in part]
    reserved = reserved_slots(state, now).of_slot
    for number, slot in enumerate(part) if reserved else ():
        if (reservations := reserved.get(slot.id)) is not None:
            ads[number] = with_reservations(ads[number], reservations)
    return ads


def standing_ad(slot: SlotRecord, claim: Claim | None, now: int) -> Ad:
    """Return the current ad of *slot*: as advertised, with its claim and its draining."""
    ad = slot.ad if claim is None else with_claim(slot.ad, claim, now)
    return with_draining(ad) if slot.draining else ad


_NOTHING: Ad = {}

PLATFORM = ("Arch", "OpSys")
"""The attributes that name a platform."""


def totals(ads: Iterable[Ad]) -> Iterator[Ad]:
    """Yield the number of slots by platform and state, then the sum of all (``Platform``: ``Total``)."""
    yield from totals_of(Counter(map(kind_of, ads)))


def kind_of(ad: Ad) -> tuple[tuple[Any, ...], Any]:
    """Return the values of `PLATFORM` that the ad of a slot has, and its State."""
    return tuple(ad[name] for name in PLATFORM if name in ad), ad.get("State", "")


def totals_of(counts: Mapping[tuple[tuple[Any, ...], Any], int]) -> Iterator[Ad]:
    """Yield the same for numbers of slots by the values of `PLATFORM` that their ads have, and by State."""
    by_platform: dict[str, Counter[str]] = {}
    every: Counter[str] = Counter()
    for (values, state), count in counts.items():
        row = Counter({"Total": count, str(state).capitalize(): count})
        by_platform.setdefault("/".join(map(str, values)), Counter()).update(row)
        every.update(row)
    for platform in sorted(by_platform):
        yield {"Platform": platform, **by_platform[platform]}
    if every:
        yield {"Platform": "Total", **every}
