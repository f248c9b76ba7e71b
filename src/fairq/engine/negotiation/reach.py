"""Which slots a cycle can hand out, where it takes no slot from its user: the others need no look for every job.

In a pool in use, most slots are out of reach. For a request without a match it matters only whether one of them suits
the job, and the first one found is answer enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairq.engine.classad import (
    EVERY_ATTRIBUTE,
    AdColumns,
    attributes_read,
    columns_read,
    parse,
)
from fairq.engine.negotiation.expression_cache import ExpressionCache, Recall, RequestContext, Result
from fairq.engine.negotiation.holders import Holders
from fairq.engine.negotiation.matchlist import FreeSlots
from fairq.engine.negotiation.preemption import EXPRESSIONS, RANK, PreemptionPolicy, claim_states
from fairq.engine.negotiation.reject_reason import LIMIT, NO_MATCH, POLICY
from fairq.engine.negotiation.requirements import agreed
from fairq.engine.negotiation.snapshot import PoolSlots

if TYPE_CHECKING:
    from fairq.engine.negotiation.partitioned_lists import PartitionedLists

REQUIREMENTS = parse("Requirements")

_FIRST = 256
"""So many slots are tested at first; then four times as many, and so on."""

_NOBODY, _SEVERAL = -1, -2
"""In the place of a submitter's number: nobody's slots suit a job, or those of more than one."""


def slots_stay(slots: AdColumns, preemption: PreemptionPolicy, holders: Holders) -> bool:
    """Whether no slot can be taken from its user in the whole cycle: by no priority, and by no machine's Rank."""
    if not preemption.any_held:
        return True
    if preemption.may_preempt() or attributes_read(EXPRESSIONS, "target", slots):
        return False
    if holders.changing is not None:
        read = columns_read(EXPRESSIONS, "target", slots)
        if read & (holders.changing.live | {EVERY_ATTRIBUTE}):
            return False
    return not bool((claim_states({}, slots, holders.held).state == RANK).any())


class _Found:
    """The slots that suit a job: those in reach, *rows* of *size* slots, and some *in_use*.

    All of *rows* before the place *head* are taken. Partitionable slots that are divided are not among *rows*: for
    each, *divided* tells whether it suits the job as it was at the cycle's start; None: there are none.
    """

    def __init__(
        self, rows: NDArray[np.int32], in_use: NDArray[np.intp], divided: NDArray[np.bool_] | None, size: int
    ) -> None:
        self.rows, self.in_use, self.divided, self._size = rows, in_use, divided, size
        self.head = 0

    @cached_property
    def within(self) -> NDArray[np.bool_]:
        """The same *rows* as one truth value per slot."""
        within = np.zeros(self._size, np.bool_)
        within[self.rows] = True
        return within


class Reach:
    """The slots within reach and those out of it, for the jobs of a cycle in which `slots_stay`.

    Args:
        pool: all slots.
        preemption, holders: who holds which slot.
        free: the candidates, none of them matched yet.
        parts: the partitionable slots that are divided, and get nothing back in this cycle; None: there are none.
        all_suitable: tells for all slots at once whether they suit a job; None: that is not known.
        recall: where earlier cycles are known.
    """

    def __init__(
        self,
        pool: PoolSlots,
        preemption: PreemptionPolicy,
        holders: Holders,
        free: FreeSlots,
        parts: PartitionedLists | None = None,
        all_suitable: Callable[[RequestContext], NDArray[np.bool_]] | None = None,
        recall: Recall | None = None,
    ) -> None:
        self._recall = recall
        self._all_suitable = all_suitable
        self._known: dict[int, tuple[_Found, object]] = {}
        self._slots, self._free = pool.ads, free
        self._codes, self._code_of = preemption.holder_codes, preemption.code_of
        candidates = free.mask()
        self._held = holders.held
        self._parts = parts
        self._part_of = np.full(0 if parts is None else len(candidates), -1, np.int32)
        if parts is not None:
            self._part_of[parts.rows] = np.arange(len(parts.rows))
        # What is used up at the cycle's start is no candidate.
        self._unseen = np.empty(0, np.bool_) if parts is None else ~candidates[parts.rows]
        self._in_use = np.flatnonzero(candidates & holders.held)
        # The first slots in use are looked at together with those within reach: mostly one of them is answer enough.
        looked_at = candidates & ~holders.held
        self.rows = np.flatnonzero(looked_at)
        """The slots within reach, none of them matched yet."""
        looked_at[self._in_use[:_FIRST]] = True
        self._looked_at = looked_at
        others = ~candidates
        others[list(pool.draining)] = False
        self._others = np.flatnonzero(others)
        self._suitable = self._cache(self._find_suitable, holders)
        self._users = self._cache(self._find_users, holders)
        self._elsewhere = self._cache(self._find_elsewhere, holders)
        self._hopeless: NDArray[np.bool_] = np.zeros(64, np.bool_)
        """By autocluster, whether no slot is left within reach, whoever asks, for the rest of the cycle."""
        self._users_of = np.full(64, _NOBODY)
        self._left_for = np.full(64, -1, np.int32)
        """By autocluster, a slot that was within reach when its users were last asked for; -1: they were not."""

    @property
    def any_left(self) -> bool:
        """Whether a slot is left that the cycle can hand out; what is in use stays so.

        A divided slot without cores can still be: to a job that requests none.
        """
        return self._parts is not None or self._free.left > len(self._in_use)

    def _cache(self, make: Callable[[RequestContext], Result], holders: Holders) -> ExpressionCache[Result]:
        changing = holders.changing
        return ExpressionCache(make, self._slots, ["requirements"], [REQUIREMENTS], changing, self._recall)

    def suitable(self, context: RequestContext) -> NDArray[np.bool_]:
        """The slots within reach where the Requirements of both sides are true: one truth value per slot."""
        return self._suitable.get(context).within

    def none_left(self, context: RequestContext) -> bool:
        """Whether all of them are taken by now, and no part of a divided one is left."""
        found = self._suitable.get(context)
        found.head = self._free.next_free(found.rows, found.head)
        if found.head < len(found.rows):
            return False
        stays = True
        if self._parts is not None and found.divided is not None:
            if not self._parts.none_left(context, found.divided | self._unseen):
                return False
            # Requirements may ask for a slot that has less left.
            stays = self._parts.none_has_enough(context.autocluster, context.job)
        if stays and self._is_settled(context):
            self._settle(context)
        return True

    def is_hopeless(self, context: RequestContext) -> bool:
        """Whether no slot is left for the job, whoever asks for it, to the end of the cycle."""
        return self.none_left(context) and bool(self.are_hopeless(np.array([context.autocluster]))[0])

    def is_known(self, autocluster: int) -> bool:
        """Whether the autocluster was found to be hopeless, or a slot to be left for it."""
        if autocluster >= len(self._hopeless):
            return False
        return bool(self._hopeless[autocluster]) or bool(self._left_for[autocluster] >= 0)

    def are_hopeless(self, autoclusters: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether no slot is left for each of these autoclusters, as far as it is known by now."""
        # Autoclusters beyond the end are not known.
        return self._hopeless.take(autoclusters, mode="clip") & (autoclusters < len(self._hopeless))

    def are_refused(self, autoclusters: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether it is known of each of these autoclusters which reason it has where the limits permit nothing free.

        No slot is left for it, or one is known that is.
        """
        rows = self._left_for.take(autoclusters, mode="clip")
        left: NDArray[np.bool_] = (rows >= 0) & self._free.among(rows) & (autoclusters < len(self._hopeless))
        return left | self.are_hopeless(autoclusters)

    def why(self, autoclusters: NDArray[np.int64], submitter: str) -> NDArray[np.uint8]:
        """The place in `OF_MANY` of the reason of each of these autoclusters, which `are_refused`.

        The preemption policy is the reason if a slot in use by another submitter suits the job.
        """
        users = self._users_of[autoclusters]
        kept_out = (users == _SEVERAL) | ((users != _NOBODY) & (users != self._code_of(submitter)))
        return np.select([kept_out, self.are_hopeless(autoclusters)], [POLICY, NO_MATCH], LIMIT).astype(np.uint8)

    def keeps_out(self, context: RequestContext) -> bool:
        """Whether a slot in use by another submitter suits the job."""
        self.note_left(context)
        users = self._users.get(context)
        return users == _SEVERAL or users not in (_NOBODY, self._code_of(context.submitter))

    def note_left(self, context: RequestContext) -> None:
        """Note a slot that is left for the job, if there is one."""
        found = self._suitable.get(context)
        if found.head < len(found.rows) and self._is_settled(context):
            self._make_room(context.autocluster)
            self._left_for[context.autocluster] = found.rows[found.head]
            self._users_of[context.autocluster] = self._users.get(context)

    def _is_settled(self, context: RequestContext) -> bool:
        return self._suitable.is_settled(context) and self._users.is_settled(context)

    def _settle(self, context: RequestContext) -> None:
        self._make_room(context.autocluster)
        self._hopeless[context.autocluster] = True
        self._users_of[context.autocluster] = self._users.get(context)

    def _make_room(self, autocluster: int) -> None:
        """Let there be a place for *autocluster* in what is known by autocluster."""
        if autocluster >= len(self._hopeless):
            more = 2 * autocluster - len(self._hopeless)
            self._hopeless = np.append(self._hopeless, np.zeros(more, np.bool_))
            self._users_of = np.append(self._users_of, np.full(more, _NOBODY))
            self._left_for = np.append(self._left_for, np.full(more, -1, np.int32))

    def suits_any(self, context: RequestContext) -> bool:
        """Whether the job matches any slot that is not draining, whoever uses it."""
        if self._users.get(context) != _NOBODY:
            return True
        found = self._suitable.get(context)
        fits = len(found.rows) > 0 or (found.divided is not None and bool(found.divided.any()))
        return fits or self._elsewhere.get(context)

    def _find_suitable(self, context: RequestContext) -> _Found:
        if self._all_suitable is None:
            rows = np.flatnonzero(self._looked_at)
            return self._sorted(rows[agreed(context.ad(), self._slots, rows)])
        suitable = self._all_suitable(context)
        if id(suitable) not in self._known:
            # The array is kept with it, so that its id stays its own.
            self._known[id(suitable)] = self._sorted(np.flatnonzero(suitable & self._looked_at)), suitable
        return self._known[id(suitable)][0]

    def _sorted(self, found: NDArray[np.intp]) -> _Found:
        held = self._held[found]
        rows, in_use, size = found[~held].astype(np.int32), found[held], len(self._slots)
        if self._parts is None:
            return _Found(rows, in_use, None, size)
        parts = self._part_of[rows]
        divided = np.zeros(len(self._unseen), np.bool_)
        divided[parts[parts >= 0]] = True
        return _Found(rows[parts < 0], in_use, divided, size)

    def _find_users(self, context: RequestContext) -> int:
        """The number of the submitter whose slots suit the job, `_NOBODY` or `_SEVERAL`."""
        known = _NOBODY
        first = self._suitable.get(context).in_use
        for rows in chain([first] if len(first) else [], self._found(context, self._in_use[_FIRST:], 4 * _FIRST)):
            codes = self._codes[rows]
            known = int(codes[0]) if known == _NOBODY else known
            if (codes != known).any():
                return _SEVERAL
        return known

    def _find_elsewhere(self, context: RequestContext) -> bool:
        return next(self._found(context, self._others), None) is not None

    def _found(self, context: RequestContext, rows: NDArray[np.intp], size: int = _FIRST) -> Iterator[NDArray[np.intp]]:
        """Those of *rows* that suit the job, some at a time; *size* are tested at first."""
        if self._all_suitable is not None:
            rows = rows[self._all_suitable(context)[rows]]
            if len(rows):
                yield rows
            return
        job, start = context.ad(), 0
        while start < len(rows):
            some = rows[start : start + size]
            found = some[agreed(job, self._slots, some)]
            if len(found):
                yield found
            start, size = start + size, size * 4
