"""Which of a few slots suit the jobs of each autocluster: found for many autoclusters at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_ad, evaluate_in_columns, expression_of, parse
from fairq.engine.classad.refusing import has_bound, refusing
from fairq.engine.classad.scopes import Side
from fairq.engine.classad.together import NotTogetherError, Together, reads, shape_of
from fairq.engine.negotiation.expression_cache import LiveAttributes, RequestContext
from fairq.records import Ad

_OWN_REQUIREMENTS = parse("MY.Requirements")

_PAIRS = 200_000
"""So many pairs of an autocluster and a slot are tested at once."""

_WORTHWHILE = 8
"""For fewer autoclusters at once, one after the other costs as much."""


def agreeing(job: Ad, slots: AdColumns, rows: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """The slots (of *rows*) where the Requirements of both sides are true; missing Requirements are not."""
    if "requirements" not in job:
        return np.empty(0, np.intp)
    wanted = evaluate_in_ad(expression_of(job["requirements"]), job, slots, rows).is_true()
    found = np.flatnonzero(wanted) if rows is None else rows[wanted]
    agreed: NDArray[np.intp] = found[evaluate_in_columns("Requirements", slots, job, found).is_true()]
    return agreed


class Suiting:
    """Finds the slots of *rows* that suit a job, over one cycle.

    Args:
        slots: the slots' ads.
        rows: the slots to test.
        changing: attributes of the slots that change within the cycle; None if none do.
        kinds: an ad of each autocluster, by number, as far as they are known.
    """

    def __init__(
        self, slots: AdColumns, rows: NDArray[np.intp], changing: LiveAttributes | None, kinds: Sequence[Ad]
    ) -> None:
        self._slots, self._rows, self._changing = slots, rows, changing
        live = frozenset[str]() if changing is None else changing.live
        self._accepting = rows[~refusing("requirements", slots, live)[rows]]
        self._known: dict[int, NDArray[np.intp]] = {}
        self._alone: set[Hashable] = set()
        """The shapes of jobs that are tested one by one."""
        self._kinds = kinds
        self._of_shape: dict[Hashable, list[int]] = {}
        """The numbers of the autoclusters of each shape, in order."""
        self._shaped = 0
        """The shapes of so many autoclusters are known."""

    def find(self, context: RequestContext) -> NDArray[np.intp]:
        """Return the slots that suit the job of *context*."""
        found = self._known.get(context.autocluster)
        if found is not None:
            return found
        job = context.ad()
        if not self._is_cheap(job):
            return agreeing(job, self._slots, self._rows)
        self._find_many(context)
        found = self._known.get(context.autocluster)
        return agreeing(job, self._slots, self._accepting) if found is None else found

    def _is_cheap(self, job: Ad) -> bool:
        """Whether no evaluation can be cut short: then it leaves no trace which slots are tested, and how."""
        slots = self._slots
        return has_bound(_OWN_REQUIREMENTS, "target", job, slots) and (
            "requirements" in job and has_bound(expression_of(job["requirements"]), "my", job, slots)
        )

    def _find_many(self, context: RequestContext) -> None:
        """Test the autocluster of *context* and others of its shape that follow, if all can be tested at once."""
        most = _PAIRS // max(1, len(self._accepting))
        if most < _WORTHWHILE or context.autocluster >= len(self._kinds):
            return
        shape = shape_of(context.job, self._slots)
        if shape in self._alone or not self._is_settled(context):
            self._alone.add(shape)
            return
        others = (number for number in self._after(context.autocluster, shape) if number not in self._known)
        alike = [context.autocluster, *islice(others, most - 1)]
        alike = [number for number in alike if self._is_cheap(self._kinds[number])]
        if len(alike) < _WORTHWHILE:
            return
        wanted = expression_of(context.job["requirements"])
        together = Together([self._kinds[number] for number in alike], self._slots, self._accepting)
        try:
            pairs = np.flatnonzero(together.true(wanted, Side.AD))
            pairs = pairs[together.true(_OWN_REQUIREMENTS, Side.COLUMNS, pairs)]
        except NotTogetherError:
            self._alone.add(shape)
            return
        size = len(self._accepting)
        starts = np.searchsorted(pairs, np.arange(1, len(alike)) * size)
        for number, of_one in zip(alike, np.split(pairs, starts), strict=True):
            self._known[number] = self._accepting[of_one % size]

    def _after(self, autocluster: int, shape: Hashable) -> Iterator[int]:
        """The autoclusters of a *shape* after this one."""
        for number in range(self._shaped, len(self._kinds)):
            self._of_shape.setdefault(shape_of(self._kinds[number], self._slots), []).append(number)
        self._shaped = len(self._kinds)
        numbers = self._of_shape.get(shape, [])
        return islice(numbers, bisect_right(numbers, autocluster), None)

    def _is_settled(self, context: RequestContext) -> bool:
        """Whether the answer depends neither on who asks, nor on when."""
        read = reads(context.job, self._slots, expression_of(context.job["requirements"]), _OWN_REQUIREMENTS)
        if read.everything or read.draws or read.names(Side.AD) & context.ephemeral.keys():
            return False
        return self._changing is None or read.names(Side.COLUMNS).isdisjoint(self._changing.live)
