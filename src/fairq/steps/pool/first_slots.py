"""The first slots of the pool, and how many there are of all: a screenful of a large pool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairq.records import Ad
from fairq.state import claims, dynamic_slots, slots
from fairq.state.connection import State, reading
from fairq.state.rows import without_collection
from fairq.steps.pool.slots import look, standing_ad, totals

_ABSENT = object()
_COUNTED = ("Arch", "OpSys", "State")


def look_first(path: Path, limit: int, now: int) -> tuple[list[Ad], list[Ad]]:
    """Return the ads at *now* of the first *limit* slots, in pool order, and the totals of all."""
    with without_collection(), reading(path) as state:
        if _are_as_advertised(state):
            chosen = slots.load_first(state, limit)
            held = {claim.slot_id: claim for claim in claims.of_slots(state, (slot.id for slot in chosen))}
            ads = [standing_ad(slot, held.get(slot.id), now) for slot in chosen]
            return ads, list(totals(_counted(state)))
    every = look(path, (), now)
    return every[:limit], list(totals(every))


def _are_as_advertised(state: State) -> bool:
    """Whether every slot is as its stored ad says, but for claims of fairq's own."""
    return not (dynamic_slots.load_all(state) or slots.draining_names(state) or claims.any_advertised(state))


def _counted(state: State) -> Iterator[Ad]:
    """Yield of every slot what `totals` reads, by column."""
    stored, used = slots.load_table(state), claims.slots_of_jobs(state)
    columns: list[list[Any]] = [stored.ads.values([name], _ABSENT) for name in _COUNTED]
    for row, *values in zip(stored.ads.order(), *columns, strict=True):
        ad = {name: value for name, value in zip(_COUNTED, values, strict=True) if value is not _ABSENT}
        yield ad | {"State": "Claimed"} if stored.ids[row] in used else ad
