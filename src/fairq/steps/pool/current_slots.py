"""All slots of the pool with their current ads by column: advertised, divided, claimed.

Nothing is put together before somebody asks for it: of what claims tell, a cycle reads three or four attributes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.columns.ads import AdTable
from fairq.columns.claims import ClaimTable
from fairq.columns.overlay import Over, OverlaidAds
from fairq.common.records import Ad
from fairq.engine.negotiation.pieces import Carved
from fairq.state import dynamic_slots, slots
from fairq.state.connection import State
from fairq.steps.pool.claimed_ads import ALWAYS, IF_KNOWN, with_claim, with_draining
from fairq.steps.pool.dynamic_slots import carved_rows, laid_out
from fairq.steps.pool.reservation_clause import reserved_slots, with_reservations


class ClaimedAds(OverlaidAds):
    """The ads of *base* with the claims of *held* that are on *slots* of the pool, with the result of `with_claim`.

    Args:
        base: the slots' ads.
        held: the claims.
        rows: the rows (ascending) of the slots with a claim that is not in its ad yet.
        places: the places of these claims in *held*. Their *advertised* is empty, and their jobs are in the queue.
        now: the time, in seconds since 1970.
    """

    plain = frozenset({"JobId"})

    def __init__(
        self, base: AdTable, held: ClaimTable, rows: NDArray[np.intp], places: NDArray[np.intp], now: int
    ) -> None:
        self.base = base
        self._held, self._rows, self._places, self._now = held, rows, places, now
        used, self._terms = np.unique(held.codes[places], return_inverse=True)
        alike = [held.distinct[number] for number in used.tolist()]
        # A value of an attribute for each of the terms: that of JobId alone is each claim's own.
        self._values = {
            name: [value_of(claim, now) for claim in alike]
            for name, value_of in {**ALWAYS, **IF_KNOWN}.items()
            if name != "JobId"
        }
        known = (name for name in IF_KNOWN if any(value is not None for value in self._values[name]))
        self.overlaid = (*ALWAYS, *known) if len(rows) else ()

    def at(self, row: int) -> Ad:
        """Return the ad of a row."""
        ad = self.base[row]
        place = int(np.searchsorted(self._rows, row))
        if place == len(self._rows) or self._rows[place] != row:
            return ad
        return with_claim(ad, self._held.at(int(self._places[place])), self._now)

    def __iter__(self) -> Iterator[Ad]:
        claimed = dict(zip(self._rows.tolist(), self._places.tolist(), strict=True))
        for row, ad in enumerate(self.base):
            place = claimed.get(row)
            yield ad if place is None else with_claim(ad, self._held.at(place), self._now)

    def over(self, name: str) -> Over:
        """Return one of the attributes on top."""
        if name == "JobId":
            clusters, procs = self._held.clusters, self._held.procs
            jobs = [f"{clusters[place]}.{procs[place]}" for place in self._places.tolist()]
            return Over(self._rows, jobs, np.arange(len(jobs)))
        values = self._values[name]
        if name in ALWAYS:
            return Over(self._rows, values, self._terms)
        known = np.array([value is not None for value in values])[self._terms]
        return Over(self._rows[known], ["" if value is None else value for value in values], self._terms[known])


class CurrentSlots(Struct, frozen=True):
    """All slots in pool order: ids, names, draining slots, ads; and the dynamic slots, by place."""

    ids: list[int]
    names: list[str]
    draining: list[bool]
    ads: ClaimedAds
    carved: dict[int, Carved]


def load_current(state: State, held: ClaimTable, now: int, *, shows_draining: bool = True) -> CurrentSlots:
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
    apart_ids |= reserved.keys()
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
        if keys[row] in reserved:
            apart[row] = with_reservations(apart[row], reserved[keys[row]])
    ads.put(list(apart), list(apart.values()))
    in_columns = held.queued
    if apart_ids:
        in_columns = in_columns & ~np.isin(held.slots, list(apart_ids))
    places = np.flatnonzero(in_columns)
    rows = np.searchsorted(np.array(keys, np.int64), held.slots[places])
    claimed = ClaimedAds(ads, held, rows, places, now)
    return CurrentSlots(keys, stored.names, stored.draining, claimed, carved_rows(dynamic, keys))
