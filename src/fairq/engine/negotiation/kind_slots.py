"""The slots for each kind of job in a cycle: which suit, in which order, who uses them.

A kind is an autocluster; autoclusters that agree in all attributes read share one `KindSlots`. `Kinds.status` alone
says whether any slot is left for a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import Expression, evaluate_in_columns, parse
from fairq.engine.negotiation.evaluation import ContextOf, Evaluation, RequestContext, Result, negotiator_rank, suitable
from fairq.engine.negotiation.free_slots import SlotClasses, TakenSlots
from fairq.engine.negotiation.order import Order, StaticRanks, order_slots, sort_keys
from fairq.engine.negotiation.parts import Parts
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots, tie_order
from fairq.engine.negotiation.preemption import PREEMPT_STATES, PRIO, RANK, RANKS, Preemption, PreemptState
from fairq.engine.negotiation.rejections import LIMIT, NO_MATCH, POLICY
from fairq.engine.negotiation.remote_attributes import Holders

OPEN, GONE = 0, 1
"""States of a kind: a slot may be left for it; none is left for anybody to the end of the cycle."""

_NOBODY, _SEVERAL = -1, -2
"""Instead of a submitter's number: nobody, or more than one submitter, uses slots that suit a kind."""

_FIRST_IN_USE = 256
"""Number of slots in use tested first; each further block is four times as large."""

_REQUIREMENTS, _OWN_RANK = parse("Requirements"), parse("MY.Rank")


class Suitable(Struct):
    """The slots that suit a kind of job.

    *rows* are those that the cycle may match, ascending; they have a *number* of their own. *blocks_in_use* yields the
    suitable slots in use that it cannot match, block by block; *found_in_use* are the blocks yielded so far.
    """

    rows: NDArray[np.int32]
    number: int
    blocks_in_use: Iterator[NDArray[np.intp]]
    found_in_use: list[NDArray[np.intp]]

    def in_use(self) -> Iterator[NDArray[np.intp]]:
        """Yield the suitable slots in use that the cycle cannot match, block by block."""
        yield from list(self.found_in_use)
        for rows in self.blocks_in_use:
            self.found_in_use.append(rows)
            yield rows


class ListBasis(Struct, frozen=True):
    """The data that a list was built from.

    Args:
        context: the request.
        suitable: the slots that suit its kind.
        state: per slot its preempt state; None: no listed slot has a user.
        preemptable: the slots that priority could preempt then; None: look it up when needed.
    """

    context: RequestContext
    suitable: Suitable
    state: NDArray[np.int8] | None
    preemptable: NDArray[np.bool_] | None


class KindSlots:
    """The suitable slots of a kind of job in order of preference.

    *rows* are all of them, *available* those that are free or prefer the job. Before *head*, all available ones are
    taken.
    """

    def __init__(self, suits: Suitable, order: Order, classes: SlotClasses, taken: TakenSlots) -> None:
        self.suitable, self.order = suits, order
        self.head = 0
        self._classes = classes
        self._listed: dict[tuple[PreemptState, ...], tuple[set[int], bool]] = {}
        rows = suits.rows
        if (order.classes[rows] == classes.divided).any():
            rows = rows[order.classes[rows] != classes.divided]
        self._undivided, self.available = rows, rows
        if order.state is not None:
            self.available = rows[(order.state[rows] > PRIO) & ~taken.marks[rows]]
        if len(self.available):
            self.available = self._in_order(self.available)
        self._rows: NDArray[np.int32] | None = None

    @property
    def rows(self) -> NDArray[np.int32]:
        """The slots in order of preference, without those that prefer their running job."""
        if self._rows is None:
            state, rows = self.order.state, self._undivided
            self._rows = self._in_order(rows if state is None else rows[state[rows] >= 0])
        return self._rows

    def _in_order(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Sort slots by preference."""
        if len(rows) == len(self.order.rows):
            return self.order.rows
        mask = np.zeros(len(self.order.classes), np.bool_)
        mask[rows] = True
        return self.order.rows[mask[self.order.rows]]

    def listed(self, states: tuple[PreemptState, ...]) -> tuple[set[int], bool]:
        """Return the classes of the slots in these *states*, and whether the list has no other classes."""
        if states not in self._listed:
            rows = self.rows if PRIO in states else self.available
            numbers = self.order.classes[rows]
            listed, present = (self._classes.among(numbers, accepted) for accepted in (states, PREEMPT_STATES))
            self._listed[states] = listed, len(listed) == len(present)
        return self._listed[states]

    def none_available(self, taken: TakenSlots) -> bool:
        """Return whether all available slots are taken; they remain taken."""
        self.head = taken.first_free(self.available, self.head)
        return self.head == len(self.available)


class Kinds:
    """The kinds of jobs of a cycle, and whether slots are left for them.

    `status` alone says for each autocluster whether any slot is left. Stored with it are one free slot seen at the
    last lookup, and the number of the submitter that uses suitable slots.

    Args:
        pool: all slots.
        kinds: an ad of each autocluster.
        holders: the users of slots.
        policy: the cycle's rules.
        weights: the weight of each slot.
        taken: the slots that are gone.
        static: the ranks of all slots if they are the same for all jobs.
        limited: the autoclusters of jobs with concurrency limits.
        slots_change: a slot without enough resources now may have enough later, so that no kind is ever `GONE`.
        rolled_up: the dynamic slots that are matched through their partitionable ones; None: there are none.
    """

    def __init__(
        self,
        pool: PoolSlots,
        kinds: Sequence[Ad],
        holders: Holders,
        policy: NegotiationPolicy,
        weights: NDArray[np.float64],
        taken: TakenSlots,
        static: StaticRanks | None,
        limited: set[int],
        rolled_up: NDArray[np.bool_] | None,
        *,
        slots_change: bool,
    ) -> None:
        self.pool, self.policy, self.taken, self.static = pool, policy, taken, static
        self._slots, self._kinds, self._live = pool.ads, kinds, holders.changing
        self.ties = tie_order(pool.names, policy)
        self.classes = SlotClasses(weights, holders.groups)
        self.preemption = Preemption(pool.ads, holders, policy, self.evaluation)
        self.slots_stay = static is None and not slots_change and self.preemption.slots_stay()
        """Whether no slot can be taken from its user in this cycle."""
        self.lists_held = not self.slots_stay and self.preemption.any_held
        """Whether lists contain slots with users."""
        if self.lists_held:
            self.ties = self.preemption.put_borrowed_first(self.ties)
        self.parts: Parts | None = None
        """The partitionable slots that are divided; None: there are none."""
        self.keeps_keys = False
        """Whether orders keep their sort keys, so that other slots can be inserted."""
        listed = ~taken.marks
        if self.slots_stay:
            listed &= ~holders.held
        in_use = ~taken.marks & ~listed
        others = taken.marks.copy()
        others[list(pool.draining)] = False
        if rolled_up is not None:
            listed, in_use, others = listed & ~rolled_up, in_use & ~rolled_up, others & ~rolled_up
        self._may_be_listed, self._listed = listed, np.flatnonzero(listed)
        self._in_use, self._other_rows = np.flatnonzero(in_use), np.flatnonzero(others)
        # The first slots in use are tested with the listed ones: usually they are enough to explain a rejection.
        self._tested_first = np.concatenate([self._listed, self._in_use[:_FIRST_IN_USE]])
        self._numbers_by_rows: dict[bytes, tuple[NDArray[np.int32], int]] = {}
        self._suitable_of = self.evaluation(self._find_suitable, ["requirements"], [_REQUIREMENTS])
        self._matches_others = self.evaluation(self._find_match_among_others, ["requirements"], [_REQUIREMENTS])
        self._orders = self.evaluation_of_order(self._find_order, lists_held=self.lists_held)
        self._number = 0
        self._machine_ranks = self.evaluation(self._find_ranks, [], [RANKS[0]])
        self.ranks_of_all: list[float] | None = None
        """The Rank of every slot for any job; None if a Rank reads the job."""
        if not self._machine_ranks.reads_jobs:
            self.ranks_of_all = evaluate_in_columns(_OWN_RANK, self._slots, {}).as_rank(0.0).tolist()
        self._kind_slots: dict[tuple[int, int], KindSlots] = {}
        self.scanned: NDArray[np.bool_] | None = None
        """The slots examined by the last search; None: all."""
        self.status = np.zeros(len(kinds), np.uint8)
        self._user_codes = np.full(len(kinds), _NOBODY)
        self._seen_free = np.full(len(kinds), -1, np.int32)
        self.limited = np.zeros(len(kinds), np.bool_)
        self.limited[list(limited)] = True

    def divide(self, parts: Parts) -> None:
        """Set the *parts* of the slots that are divided."""
        self.parts, self.keeps_keys = parts, True
        self.classes.free[parts.rows] = self.classes.divided

    def slots_of(self, kind: int, context_of: ContextOf) -> KindSlots:
        """Return the slots of a kind; autoclusters with equal results share them."""
        slots, order = self._suitable_of.get(kind, context_of), self._orders.get(kind, context_of)
        # Of results that change with the matches, only the last is stored.
        is_constant = self._suitable_of.is_constant(kind) and self._orders.is_constant(kind)
        key = (slots.number, order.number) if is_constant else (-1, kind)
        kind_slots = self._kind_slots.get(key)
        if kind_slots is None or kind_slots.suitable.number != slots.number or kind_slots.order is not order:
            kind_slots = self._kind_slots[key] = KindSlots(slots, order, self.classes, self.taken)
        return kind_slots

    def record_availability(self, kind: int, context_of: ContextOf) -> None:
        """Record whether a slot is left for a kind, if that is the same for everybody, and who uses suitable slots."""
        if not (self.slots_stay and not self.limited[kind] and self._suitable_of.is_constant(kind)):
            return
        slots = self.slots_of(kind, context_of)
        if slots.none_available(self.taken):
            if self.parts is not None and not self.parts.none_has_enough(kind):
                return
            self.status[kind] = GONE
        else:
            # The worst slot is taken last.
            worst = slots.available[-1]
            self._seen_free[kind] = slots.available[slots.head] if self.taken.marks[worst] else worst
        self._user_codes[kind] = self._user_of_suitable(self._suitable_of.get(kind, context_of))

    def is_known(self, kind: int) -> bool:
        """Return whether a lookup for this kind was recorded: no slot is left, or one was seen."""
        return self.status.item(kind) == GONE or self._seen_free.item(kind) >= 0

    def is_refused(self, kind: int, *, permits_free: bool) -> bool:
        """Return whether one kind is `refused`."""
        if self.status.item(kind) == GONE or permits_free:
            return self.status.item(kind) == GONE
        seen_free = self._seen_free.item(kind)
        return seen_free >= 0 and not self.taken.flags[seen_free]

    def refused(self, kinds: NDArray[np.int64], *, permits_free: bool) -> NDArray[np.bool_]:
        """Return for which of *kinds* no slot is left, or one is known to be left that the limits do not permit."""
        gone: NDArray[np.bool_] = self.status[kinds] == GONE
        if permits_free:
            return gone
        seen_free = self._seen_free[kinds]
        return gone | ((seen_free >= 0) & ~self.taken.marks[seen_free])

    def reasons(self, kinds: NDArray[np.int64], submitter: str) -> NDArray[np.uint8]:
        """Return the reason for each of *kinds* that is `refused`, as an index in `OF_MANY`.

        The preemption policy is the reason if another submitter uses a slot that suits the job.
        """
        users = self._user_codes[kinds]
        excluded = (users == _SEVERAL) | ((users != _NOBODY) & (users != self.preemption.code_of(submitter)))
        return np.select([excluded, self.status[kinds] == GONE], [POLICY, NO_MATCH], LIMIT).astype(np.uint8)

    def basis(self, kind: int, context_of: ContextOf, *, only_free: bool) -> ListBasis:
        """Return the data from which `policy_excludes` later explains why a list built now found no slot."""
        preemptable = None if only_free else self.preemption.preemptable(kind, context_of)
        return ListBasis(
            context_of(kind),
            self._suitable_of.get(kind, context_of),
            self._orders.get(kind, context_of).state,
            preemptable,
        )

    def policy_excludes(self, basis: ListBasis) -> bool:
        """Return whether the preemption policy excludes a slot that the job could use without it."""
        if not self.preemption.any_held:
            return False
        context, slots, state, preemptable = basis.context, basis.suitable, basis.state, basis.preemptable
        own, codes = self.preemption.code_of(context.submitter), self.preemption.codes
        if self.slots_stay:
            return any((codes[rows] != own).any() for rows in slots.in_use())
        if preemptable is None:
            preemptable = self.preemption.preemptable(context.autocluster, lambda _: context)
        assert state is not None
        rows = slots.rows
        excluded = self.preemption.held[rows] & (state[rows] != RANK) & (codes[rows] != own)
        excluded &= ~preemptable[rows] & ~self.taken.marks[rows]
        return bool((excluded if self.scanned is None else excluded & self.scanned[rows]).any())

    def could_preempt(self, kind: int, context_of: ContextOf) -> bool:
        """Return whether the job could preempt a slot by priority if the submitter had no limit."""
        if not self.lists_held:
            return False
        rows, state = self._suitable_of.get(kind, context_of).rows, self._orders.get(kind, context_of).state
        assert state is not None
        is_own = self.preemption.codes[rows] == self.preemption.code_of(context_of(kind).submitter)
        preemptable = self.preemption.preemptable(kind, context_of)[rows] & (state[rows] >= 0) & ~is_own
        return bool((preemptable & ~self.taken.marks[rows]).any())

    def matches_any(self, kind: int, context_of: ContextOf) -> bool:
        """Return whether the job matches any slot, used or not, that is not draining; only explains a turn's end."""
        slots = self._suitable_of.get(kind, context_of)
        return bool(len(slots.rows)) or any(map(len, slots.in_use())) or self._matches_others.get(kind, context_of)

    def machine_rank(self, slot: int, kind: int, context_of: ContextOf) -> float:
        """Return the Rank of a slot for a job."""
        return float(self.machine_ranks(kind, context_of)[slot])

    def machine_ranks(self, kind: int, context_of: ContextOf) -> Sequence[float] | NDArray[np.float64]:
        """Return the Rank of every slot for a job."""
        return self._machine_ranks.get(kind, context_of) if self.ranks_of_all is None else self.ranks_of_all

    def evaluation(
        self,
        compute: Callable[[RequestContext], Result],
        job_attributes: Sequence[str],
        slot_expressions: Sequence[Expression],
        slots: Any = None,
    ) -> Evaluation[Result]:
        """Return the results of *compute* for all kinds of jobs; without *slots*, those of the pool."""
        ads = self._slots if slots is None else slots
        return Evaluation(compute, self._kinds, ads, job_attributes, slot_expressions, self._live)

    def evaluation_of_order(
        self, compute: Callable[[RequestContext], Result], *, lists_held: bool
    ) -> Evaluation[Result]:
        """Return the results of *compute*, which reads what `order_of` reads."""
        policy, is_static = self.policy, self.static is not None
        ranks = [] if is_static else [policy.pre_job_rank, policy.post_job_rank]
        if lists_held:
            ranks += [*([] if is_static else [policy.preemption_rank]), *RANKS]
        return self.evaluation(compute, [] if policy.ignore_job_ranks else ["rank"], ranks)

    def _user_of_suitable(self, slots: Suitable) -> int:
        user_code = _NOBODY
        for rows in slots.in_use():
            codes = self.preemption.codes[rows]
            if len(codes):
                user_code = int(codes[0]) if user_code == _NOBODY else user_code
                if (codes != user_code).any():
                    return _SEVERAL
        return user_code

    def _find_suitable(self, context: RequestContext) -> Suitable:
        job = context.ad()
        rows = suitable(job, self._slots, self._tested_first)
        is_listed = self._may_be_listed[rows]
        in_use = rows[~is_listed]
        listed = (rows[is_listed] if len(in_use) else rows).astype(np.int32)
        # Kinds of jobs that suit the same slots share their lists.
        listed, number = self._numbers_by_rows.setdefault(listed.tobytes(), (listed, len(self._numbers_by_rows)))
        return Suitable(
            listed, number, self._blocks(job, self._in_use[_FIRST_IN_USE:]), [in_use] if len(in_use) else []
        )

    def _blocks(self, job: Ad, rows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        start, size = 0, 4 * _FIRST_IN_USE
        while start < len(rows):
            suitable_rows = suitable(job, self._slots, rows[start : start + size])
            if len(suitable_rows):
                yield suitable_rows
            start, size = start + size, size * 4

    def _find_match_among_others(self, context: RequestContext) -> bool:
        return next(self._blocks(context.ad(), self._other_rows), None) is not None

    def _find_ranks(self, context: RequestContext) -> NDArray[np.float64]:
        return evaluate_in_columns(_OWN_RANK, self._slots, context.ad()).as_rank(0.0)

    def _find_order(self, context: RequestContext) -> Order:
        return self.order_of(context, self._listed, lists_held=self.lists_held)

    def order_of(self, context: RequestContext, rows: NDArray[np.intp], *, lists_held: bool) -> Order:
        """Order slots for a request; with *lists_held*, slots in use are ordered by how they would be preempted."""
        job, slots = context.ad(), self._slots
        self._number += 1
        keys = sort_keys(job, slots, rows, self.policy, self.static)
        state, classes = None, self.classes.free
        if lists_held:
            state = self.preemption.claims(job)
            keys.append(state[rows])
            if self.static is None:
                ranks = negotiator_rank(self.policy.preemption_rank, slots, job, rows)
                keys.append(np.where(self.preemption.held[rows], ranks, np.float32(0.0)))
            classes = self.classes.in_state(np.maximum(state, 0))
            if self.parts is not None:
                classes[self.parts.rows] = self.classes.divided
        return order_slots(keys, rows, self.ties, state, classes, self._number, keeps_keys=self.keeps_keys)
