"""The current ads of all slots by column: the advertised ads, and fairq's own claims on top.

Nothing is put together before somebody asks for it: of what claims tell, a cycle reads three or four attributes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairq.columns.ads import AdTable
from fairq.columns.claims import ClaimTable
from fairq.columns.overlay import Over, OverlaidAds
from fairq.common.records import Ad
from fairq.steps.pool.claimed_ads import ALWAYS, IF_KNOWN, with_claim, with_claims


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
        self._alike = [held.distinct[number] for number in used.tolist()]
        # A value of an attribute for each of the terms: that of JobId alone is each claim's own.
        values = {
            name: values_of(self._alike, now) for name, values_of in {**ALWAYS, **IF_KNOWN}.items() if name != "JobId"
        }
        known = (name for name in IF_KNOWN if any(value is not None for value in values[name]))
        self._values = values
        self.overlaid = (*ALWAYS, *known) if len(rows) else ()

    def at(self, row: int) -> Ad:
        """Return the ad of a row."""
        ad = self.base[row]
        place = int(np.searchsorted(self._rows, row))
        if place == len(self._rows) or self._rows[place] != row:
            return ad
        return with_claim(ad, self._held.at(int(self._places[place])), self._now)

    def __iter__(self) -> Iterator[Ad]:
        claims = map(self._held.at, self._places.tolist())
        return iter(with_claims(self.base, dict(zip(self._rows.tolist(), claims, strict=True)), self._now))

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
