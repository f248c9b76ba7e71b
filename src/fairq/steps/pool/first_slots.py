"""The first slots of the pool, and how many there are of all: a screenful of a large pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any

from fairq.columns.ads import repeated
from fairq.common.records import Ad
from fairq.state import claims, dynamic_slots, reservations, slots
from fairq.state.connection import State, reading
from fairq.steps.pool.current_ads import PLATFORM, look, standing_ad, totals, totals_of

_ABSENT = object()
_NAMES = (*PLATFORM, "State")


def look_first(path: Path, limit: int, now: int) -> tuple[list[Ad], list[Ad]]:
    """Return the ads at *now* of the first *limit* slots, in pool order, and the totals of all."""
    with reading(path) as state:
        if _are_as_advertised(state) and not reservations.load(state, now):
            chosen = slots.load_first(state, limit)
            held = {claim.slot_id: claim for claim in claims.of_slots(state, (slot.id for slot in chosen))}
            ads = [standing_ad(slot, held.get(slot.id), now) for slot in chosen]
            return ads, list(totals_of(_counted(state)))
    every = look(path, (), now)
    return every[:limit], list(totals(every))


def _are_as_advertised(state: State) -> bool:
    """Whether every slot is as its stored ad says, but for claims of fairq's own."""
    return not (dynamic_slots.load_all(state) or slots.draining_names(state) or claims.any_advertised(state))


def _counted(state: State) -> Counter[tuple[tuple[Any, ...], Any]]:
    """Count all slots as `totals_of` wants them, by column."""
    used = claims.slots_of_jobs(state)
    kinds: Counter[tuple[Any, ...]] = Counter()
    for numbers, columns in _columns(state):
        try:
            kinds.update(_kinds(columns, numbers, used))
        except TypeError:
            kinds.update(_kinds([list(map(_hashable, column)) for column in columns], numbers, used))
    counts: Counter[tuple[tuple[Any, ...], Any]] = Counter()
    for (*platform, slot_state, is_of_job), count in kinds.items():
        known = tuple(value for value in platform if value is not _ABSENT)
        counts[known, "Claimed" if is_of_job else "" if slot_state is _ABSENT else slot_state] += count
    return counts


def _columns(state: State) -> Iterator[tuple[list[int], list[Sequence[Any]]]]:
    """Yield the numbers of slots, a part of the pool at a time, with their values of `PLATFORM` and State."""
    pool = slots.load_table(state)
    for part in pool.ads.parts:
        column_of = dict(zip(part.names, part.columns, strict=True))
        absent = repeated(_ABSENT, len(part.rows))
        yield [pool.ids[row] for row in part.rows], [column_of.get(name, absent) for name in _NAMES]


def _kinds(columns: Sequence[Sequence[Any]], numbers: Sequence[int], used: Set[int]) -> Counter[tuple[Any, ...]]:
    """Count slots by their values in *columns*, and by whether their number is among those *used*."""
    return Counter(zip(*columns, map(used.__contains__, numbers), strict=True))


def _hashable(value: Any) -> Any:
    """An attribute that is a list or an ad as its text, which is all that the totals show of it."""
    return str(value) if isinstance(value, list | dict) else value
