"""The autoclusters of jobs whose kinds are known from earlier cycles, without a look at their ads.

Jobs are of one kind if they agreed in all attributes that mattered in the cycle that found the kind. They are in one
autocluster now if nothing else matters now: what matters follows from values in which they agree.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from fairq.engine.distinct import distinct
from fairq.engine.negotiation.autoclusters import Autoclusters, Names
from fairq.engine.negotiation.requests import has_priorities
from fairq.expression_form import OPEN
from fairq.idle_jobs import IdleJobs, Kinds, KnownKind
from fairq.records import Ad

_NONE, _NEW = -1, -2
"""In the place of a kind's autocluster: not just one, or the kind is not known; or no job of the kind was seen yet."""


class _Layout(Struct):
    """Shared ads with the same attributes in the same order: their *names* in lower case.

    *told* has, by the expressions among the values and their places, which places tell the autocluster of jobs with
    nothing of their own, and the names that matter; None: the shared ad does not tell it.
    """

    names: tuple[str, ...]
    told: dict[object, tuple[tuple[int, ...], Names] | None] = field(default_factory=dict)


class KindsInCycle:
    """Finds the autoclusters of jobs of known *kinds*, and numbers the *autoclusters* of new ones as they come."""

    def __init__(self, kinds: Kinds, autoclusters: Autoclusters) -> None:
        self._kinds, self._autoclusters = kinds, autoclusters
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._by_values: dict[tuple[object, ...], tuple[int, KnownKind]] = {}
        # Kinds are numbered from 1 on. Any other number finds the first place or the last one: it is not known.
        self._numbers = np.array([_NONE, *[_NEW] * len(kinds.known), _NONE], np.int64)

    def autoclusters_of(self, idle: IdleJobs) -> NDArray[np.int64] | None:
        """Return the autocluster of every range; None if a range has not just one, or a priority of its own."""
        kinds, autoclusters = self._kinds, self._autoclusters
        column = idle.columns["kind"]
        numbers = self._numbers.take(column, mode="clip")
        least = numbers.min(initial=0)
        if least == _NEW:
            for kind in distinct(column[numbers == _NEW]).tolist():
                self._numbers[kind] = autoclusters.of_kind(kinds.known.get(kind))
            numbers = self._numbers.take(column, mode="clip")
            least = numbers.min()
        if least >= 0:
            return numbers
        rows = np.flatnonzero(numbers < 0)
        ads, plain = idle.columns["ad_id"][rows].tolist(), idle.is_plain()[rows].tolist()
        for row, ad_id, is_plain in zip(rows.tolist(), ads, plain, strict=True):
            # Most ranges have nothing of their own.
            number = self._of_shared(ad_id) if is_plain else None
            if number is None:
                jobs = idle[row]
                if has_priorities(autoclusters.shared_ad(ad_id)) or (jobs.own and has_priorities(jobs.own)):
                    return None
                number = autoclusters.only_one(jobs)
            if number is None:
                return None
            numbers[row] = number
        return numbers

    def _of_shared(self, ad_id: int) -> int | None:
        """Find the autocluster of jobs with nothing beside this shared ad, and learn their kind.

        None: the ad does not tell it, or it has priorities beside JobPrio.
        """
        ad = self._autoclusters.ads[ad_id]
        written, values = tuple(ad), tuple(ad.values())
        layout = self._layouts.get(written)
        if layout is None:
            layout = self._layouts[written] = _Layout(tuple(name.lower() for name in written))
        # As `is_expression` tells it: to call it for every value of 200,000 ads takes twice as long.
        texts = [(place, value) for place, value in enumerate(values) if isinstance(value, str)]
        expressions = tuple([one for one in texts if one[1].startswith(OPEN)])
        if expressions not in layout.told:
            layout.told[expressions] = self._tells(dict(zip(layout.names, values, strict=True)), layout.names)
        told = layout.told[expressions]
        if told is None:
            return None
        places, names = told
        key = (layout.names, expressions, *[repr(values[place]) for place in places])
        found = self._by_values.get(key)
        if found is None:
            shared = dict(zip(layout.names, values, strict=True))
            found = self._by_values[key] = self._autoclusters.of_ad(shared, names)
        number, self._kinds.learned[ad_id] = found
        return number

    def _tells(self, ad: Ad, names: tuple[str, ...]) -> tuple[tuple[int, ...], Names] | None:
        matter = None if has_priorities(ad) else self._autoclusters.names_of(ad)
        if matter is None:
            return None
        return tuple(place for place, name in enumerate(names) if name in matter.all), matter
