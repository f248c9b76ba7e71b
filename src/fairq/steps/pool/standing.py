"""All slots of the pool with their current ads: advertised, divided, claimed."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fairq.ad_table import AdTable
from fairq.engine.negotiation.carving import Carved
from fairq.records import Claim
from fairq.state import dynamic_slots, slots
from fairq.state.connection import State
from fairq.steps.pool.claimed_ads import with_claim, with_claims
from fairq.steps.pool.dynamic_slots import carved_rows, lay_out


class StandingSlots(Struct, frozen=True):
    """All slots in pool order: ids, names, draining slots, ads; and the dynamic slots, by place."""

    ids: list[int]
    names: list[str]
    draining: list[bool]
    ads: AdTable
    carved: dict[int, Carved]


def load_standing(state: State, held: Mapping[int, Claim], now: int) -> StandingSlots:
    """Return the slots with the claims *held* (by slot id) in their ads; computed by column, which is faster."""
    dynamic = dynamic_slots.load_all(state)
    families = {number for one in dynamic for number in (one.slot_id, one.parent_id)}
    # The slot's ad already contains a claim of a job from outside the queue.
    own = {number: claim for number, claim in held.items() if claim.cluster is not None}
    alone = {number for number, claim in own.items() if claim.advertised is not None} | families
    stored = slots.load_table(state, alone)
    keys, apart = stored.ids, stored.apart
    if dynamic:
        lay_out(keys, apart, dynamic)
    for row, ad in apart.items():
        claim = held.get(keys[row])
        if claim is not None:
            apart[row] = with_claim(ad, claim, now)
    ads = stored.ads
    if own:
        in_columns = ((row, own[number]) for row, number in enumerate(keys) if number in own and number not in alone)
        ads = with_claims(ads, dict(in_columns), now)
    ads.put(list(apart), list(apart.values()))
    return StandingSlots(keys, stored.names, stored.draining, ads, carved_rows(dynamic, keys))
