"""All slots of the pool with their current ads: advertised, divided, claimed."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from fairq.columns.claims import ClaimTable
from fairq.engine.negotiation.pieces import Carved
from fairq.state import dynamic_slots, slots
from fairq.state.connection import State
from fairq.steps.pool.claimed_ads import with_claim, with_draining
from fairq.steps.pool.claimed_columns import ClaimedAds
from fairq.steps.pool.dynamic_slots import carved_rows, laid_out
from fairq.steps.pool.reservation_clause import reserved_slots, with_reservations


class StandingSlots(Struct, frozen=True):
    """All slots in pool order: ids, names, draining slots, ads; and the dynamic slots, by place."""

    ids: list[int]
    names: list[str]
    draining: list[bool]
    ads: ClaimedAds
    carved: dict[int, Carved]


def load_standing(state: State, held: ClaimTable, now: int, *, shows_draining: bool = True) -> StandingSlots:
    """Return the slots with the claims *held* and their draining in their ads; computed by column, which is faster.

    Without *shows_draining*, the ads do not tell which slots fairq drains.
    """
    dynamic = dynamic_slots.load_all(state)
    # The slot's ad already contains a claim of a job from outside the queue.
    is_advertised = np.array([claim.advertised is not None for claim in held.distinct], np.bool_)
    apart_ids = set(held.slots[held.queued & is_advertised[held.codes]].tolist())
    apart_ids |= {child.parent_id for child in dynamic}
    draining = slots.draining_ids(state) if shows_draining else frozenset()
    apart_ids |= draining
    reserved = reserved_slots(state, now)
    apart_ids |= reserved.of_slot.keys()
    stored = slots.load_table(state, apart_ids)
    keys, apart, ads = stored.ids, stored.apart, stored.ads
    if dynamic:
        ads = laid_out(keys, ads, apart, dynamic)
    for row, ad in apart.items():
        claim = held.get(keys[row])
        if claim is not None:
            apart[row] = with_claim(ad, claim, now)
        if keys[row] in draining:
            apart[row] = with_draining(apart[row])
        if keys[row] in reserved.of_slot:
            apart[row] = with_reservations(apart[row], reserved.of_slot[keys[row]])
    ads.put(list(apart), list(apart.values()))
    in_columns = held.queued
    if apart_ids:
        in_columns = in_columns & ~np.isin(held.slots, list(apart_ids))
    places = np.flatnonzero(in_columns)
    rows = np.searchsorted(np.array(keys, np.int64), held.slots[places])
    claimed = ClaimedAds(ads, held, rows, places, now)
    return StandingSlots(keys, stored.names, stored.draining, claimed, carved_rows(dynamic, keys))
