"""All that a cycle knows of the slots for one kind of job: which suit, in which order, who has them.

A kind is an autocluster; autoclusters that agree in all that is read share one `KindSlots`. Whether any slot is left
for a kind is told in one place, `Kinds.status`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import Expression, evaluate_in_columns, parse
from fairq.engine.negotiation.evaluation import Ask, Evaluation, RequestContext, Result, negotiator_rank, suitable
from fairq.engine.negotiation.free_slots import SlotClasses, Taken
from fairq.engine.negotiation.order import Order, StaticRanks, order_slots, sort_keys
from fairq.engine.negotiation.parts import Parts
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots, tie_order
from fairq.engine.negotiation.preemption import PREEMPT_STATES, PRIO, RANK, RANKS, Preemption, PreemptState
from fairq.engine.negotiation.rejections import LIMIT, NO_MATCH, POLICY
from fairq.engine.negotiation.remote_attributes import Holders

OPEN, GONE = 0, 1
"""States of a kind: a slot may be left for it; none is, whoever asks, to the end of the cycle."""

_NOBODY, _SEVERAL = -1, -2
"""In the place of a submitter's number: nobody's slots suit a kind, or those of more than one."""

_FIRST = 256
"""Number of slots in use that are tested at first; then four times as many, and so on."""

_REQUIREMENTS, _OWN_RANK = parse("Requirements"), parse("MY.Rank")


class Suitable(Struct):
    """The slots that suit a kind of job.

    *rows* are those that the cycle may hand out, ascending. *others* yields further ones, some at a time; those it has
    yielded are in *found*.
    """

    rows: NDArray[np.int32]
    number: int
    others: Iterator[NDArray[np.intp]]
    found: list[NDArray[np.intp]]

    def in_use(self) -> Iterator[NDArray[np.intp]]:
        """Yield the suitable slots in use that the cycle cannot hand out, some at a time."""
        yield from list(self.found)
        for rows in self.others:
            self.found.append(rows)
            yield rows


class Look(Struct, frozen=True):
    """What a list was built from.

    Args:
        context: the request.
        suits: the slots that suit its kind.
        state: per slot its preempt state; None: no listed slot has a user.
        preemptable: the slots that the policy lets go by priority; None: whatever it says when somebody asks.
    """

    context: RequestContext
    suits: Suitable
    state: NDArray[np.int8] | None
    preemptable: NDArray[np.bool_] | None


class KindSlots:
    """The suitable slots of a kind of job in their order; all *sure* ones before *head* are taken.

    *rows* are all of them, *sure* those that nobody uses or that prefer the job.
    """

    def __init__(self, suits: Suitable, order: Order, classes: SlotClasses, taken: Taken) -> None:
        self.suits, self.order = suits, order
        self.head = 0
        self._classes = classes
        self._listed: dict[tuple[PreemptState, ...], tuple[set[int], bool]] = {}
        rows = suits.rows
        if (order.classes[rows] == classes.divided).any():
            rows = rows[order.classes[rows] != classes.divided]
        self._suitable, self.sure = rows, rows
        if order.state is not None:
            self.sure = rows[(order.state[rows] > PRIO) & ~taken.marks[rows]]
        if len(self.sure):
            self.sure = self._in_order(self.sure)
        self._rows: NDArray[np.int32] | None = None

    @property
    def rows(self) -> NDArray[np.int32]:
        """The slots in their order, as far as they do not prefer the job that they run."""
        if self._rows is None:
            state, rows = self.order.state, self._suitable
            self._rows = self._in_order(rows if state is None else rows[state[rows] >= 0])
        return self._rows

    def _in_order(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Put slots into the order of preference."""
        if len(rows) == len(self.order.rows):
            return self.order.rows
        mask = np.zeros(len(self.order.classes), np.bool_)
        mask[rows] = True
        return self.order.rows[mask[self.order.rows]]

    def listed(self, states: tuple[PreemptState, ...]) -> tuple[set[int], bool]:
        """Return the classes of slots in these *states*, and whether the list has no others."""
        if states not in self._listed:
            rows = self.rows if PRIO in states else self.sure
            numbers = self.order.classes[rows]
            found, every = (self._classes.among(numbers, of) for of in (states, PREEMPT_STATES))
            self._listed[states] = found, len(found) == len(every)
        return self._listed[states]

    def none_sure(self, taken: Taken) -> bool:
        """Whether all slots that nobody uses or that prefer the job are taken: they stay so."""
        self.head = taken.first_free(self.sure, self.head)
        return self.head == len(self.sure)


class Kinds:
    """The kinds of jobs of a cycle, and what is left for them.

    `status` has by autocluster whether any slot is left: the only place that knows. Beside it are a slot that was left
    at the last look, and the number of the submitter whose slots suit it.

    Args:
        pool: all slots.
        kinds: an ad of each autocluster.
        holders: the users of slots.
        policy: the cycle's rules.
        weights: the weight of each slot.
        taken: the slots that are gone.
        static: the ranks of all slots if they are the same for all jobs.
        limited: the autoclusters of jobs with concurrency limits.
        slots_change: slots may get back what is taken of them, or have no parts that numbers alone tell of: who asks
            again may find one.
        rolled_up: the dynamic slots that are matched through their partitionable ones; None: there are none.
    """

    def __init__(
        self,
        pool: PoolSlots,
        kinds: Sequence[Ad],
        holders: Holders,
        policy: NegotiationPolicy,
        weights: NDArray[np.float64],
        taken: Taken,
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
        self.holds = not self.slots_stay and self.preemption.any_held
        """Whether slots with users are on lists."""
        self.parts: Parts | None = None
        """The partitionable slots that are divided."""
        self.keeps_keys = False
        """Whether other slots are put among those of an order by their keys."""
        listed = ~taken.marks
        if self.slots_stay:
            listed &= ~holders.held
        in_use = ~taken.marks & ~listed
        elsewhere = taken.marks.copy()
        elsewhere[list(pool.draining)] = False
        if rolled_up is not None:
            listed, in_use, elsewhere = listed & ~rolled_up, in_use & ~rolled_up, elsewhere & ~rolled_up
        self._is_listed, self._listed = listed, np.flatnonzero(listed)
        self._in_use, self._elsewhere = np.flatnonzero(in_use), np.flatnonzero(elsewhere)
        # The first slots in use are tested together with those that may be had: mostly one of them is answer enough.
        self._tested = np.concatenate([self._listed, self._in_use[:_FIRST]])
        self._by_content: dict[bytes, tuple[NDArray[np.int32], int]] = {}
        self._suitable = self.evaluation(self._find_suitable, ["requirements"], [_REQUIREMENTS])
        self._suits_elsewhere = self.evaluation(self._find_elsewhere, ["requirements"], [_REQUIREMENTS])
        self._orders = self.evaluation_of_order(self._find_order, holds=self.holds)
        self._number = 0
        self._machine_ranks = self.evaluation(self._find_ranks, [], [RANKS[0]])
        self.ranks_of_all: list[float] | None = None
        """The Rank of every slot for any job; None if Ranks read the job."""
        if not self._machine_ranks.reads_jobs:
            self.ranks_of_all = evaluate_in_columns(_OWN_RANK, self._slots, {}).as_rank(0.0).tolist()
        self._known: dict[tuple[int, int], KindSlots] = {}
        self.scanned: NDArray[np.bool_] | None = None
        """The slots at which the last search looked; None: all."""
        self.status = np.zeros(len(kinds), np.uint8)
        self._users = np.full(len(kinds), _NOBODY)
        self._left = np.full(len(kinds), -1, np.int32)
        self.limited = np.zeros(len(kinds), np.bool_)
        self.limited[list(limited)] = True

    def divide(self, parts: Parts) -> None:
        """Let *parts* be matched of the slots that are divided."""
        self.parts, self.keeps_keys = parts, True
        self.classes.free[parts.rows] = self.classes.divided

    def of(self, kind: int, ask: Ask) -> KindSlots:
        """Return the slots of a kind; autoclusters with equal results share them."""
        suits, order = self._suitable.get(kind, ask), self._orders.get(kind, ask)
        # Of what follows the matches, only the last is kept.
        is_settled = self._suitable.is_settled(kind) and self._orders.is_settled(kind)
        key = (suits.number, order.number) if is_settled else (-1, kind)
        found = self._known.get(key)
        if found is None or found.suits.number != suits.number or found.order is not order:
            found = self._known[key] = KindSlots(suits, order, self.classes, self.taken)
        return found

    def note(self, kind: int, ask: Ask) -> None:
        """Note whether a slot is left for a kind, if that is the same for everybody, and who uses suitable ones."""
        if not (self.slots_stay and not self.limited[kind] and self._suitable.is_settled(kind)):
            return
        slots = self.of(kind, ask)
        if slots.none_sure(self.taken):
            if self.parts is not None and not self.parts.none_has_enough(kind):
                return
            self.status[kind] = GONE
        else:
            # The worst one is not taken soon.
            worst = slots.sure[-1]
            self._left[kind] = slots.sure[slots.head] if self.taken.marks[worst] else worst
        self._users[kind] = self._users_of(self._suitable.get(kind, ask))

    def is_hopeless(self, kind: int, ask: Ask) -> bool:
        """Return whether no slot is left for a kind, whoever asks, to the end of the cycle.

        Nobody asks for a kind that no queue has: its submitter takes no part.
        """
        if kind >= len(self.status):
            return True
        if self.slots_stay and self.of(kind, ask).none_sure(self.taken):
            self.note(kind, ask)
        return self.status.item(kind) == GONE

    def is_known(self, kind: int) -> bool:
        """Return whether it is known that no slot is left for a kind, or one that was."""
        return self.status.item(kind) == GONE or self._left.item(kind) >= 0

    def is_refused(self, kind: int, *, permits_free: bool) -> bool:
        """Return whether one kind is `refused`."""
        if self.status.item(kind) == GONE or permits_free:
            return self.status.item(kind) == GONE
        left = self._left.item(kind)
        return left >= 0 and not self.taken.flags[left]

    def refused(self, kinds: NDArray[np.int64], *, permits_free: bool) -> NDArray[np.bool_]:
        """Return for which of *kinds* no slot is left, or a slot is known to be left and the limits permit none."""
        gone: NDArray[np.bool_] = self.status[kinds] == GONE
        if permits_free:
            return gone
        left = self._left[kinds]
        return gone | ((left >= 0) & ~self.taken.marks[left])

    def reasons(self, kinds: NDArray[np.int64], submitter: str) -> NDArray[np.uint8]:
        """Return why jobs of kinds are refused that are `refused`.

        The preemption policy is the reason if a slot in use by another submitter suits the job.
        """
        users = self._users[kinds]
        kept_out = (users == _SEVERAL) | ((users != _NOBODY) & (users != self.preemption.code_of(submitter)))
        return np.select([kept_out, self.status[kinds] == GONE], [POLICY, NO_MATCH], LIMIT).astype(np.uint8)

    def look(self, kind: int, ask: Ask, *, only_free: bool) -> Look:
        """Return what tells, later, why a list that is built at this moment came to nothing."""
        preemptable = None if only_free else self.preemption.preemptable(kind, ask)
        return Look(ask(kind), self._suitable.get(kind, ask), self._orders.get(kind, ask).state, preemptable)

    def keeps_out(self, look: Look) -> bool:
        """Whether the preemption policy excludes a slot that the job could use otherwise."""
        if not self.preemption.any_held:
            return False
        context, suits, state, preemptable = look.context, look.suits, look.state, look.preemptable
        own, codes = self.preemption.code_of(context.submitter), self.preemption.codes
        if self.slots_stay:
            return any((codes[rows] != own).any() for rows in suits.in_use())
        if preemptable is None:
            preemptable = self.preemption.preemptable(context.autocluster, lambda _: context)
        assert state is not None
        rows = suits.rows
        found = self.preemption.held[rows] & (state[rows] != RANK) & (codes[rows] != own)
        found &= ~preemptable[rows] & ~self.taken.marks[rows]
        return bool((found if self.scanned is None else found & self.scanned[rows]).any())

    def finds_victim(self, kind: int, ask: Ask) -> bool:
        """Whether the job could preempt a slot by priority without its limit."""
        if not self.holds:
            return False
        rows, state = self._suitable.get(kind, ask).rows, self._orders.get(kind, ask).state
        assert state is not None
        mine = self.preemption.codes[rows] == self.preemption.code_of(ask(kind).submitter)
        found = self.preemption.preemptable(kind, ask)[rows] & (state[rows] >= 0) & ~mine
        return bool((found & ~self.taken.marks[rows]).any())

    def suits_any(self, kind: int, ask: Ask) -> bool:
        """Whether the job matches any slot that is not draining, whoever uses it; only tells why a turn ended."""
        suits = self._suitable.get(kind, ask)
        return bool(len(suits.rows)) or any(map(len, suits.in_use())) or self._suits_elsewhere.get(kind, ask)

    def machine_rank(self, slot: int, kind: int, ask: Ask) -> float:
        """The Rank of a slot for a job."""
        return float(self.machine_ranks(kind, ask)[slot])

    def machine_ranks(self, kind: int, ask: Ask) -> Sequence[float] | NDArray[np.float64]:
        """The Rank of every slot for a job."""
        return self._machine_ranks.get(kind, ask) if self.ranks_of_all is None else self.ranks_of_all

    def evaluation(
        self,
        make: Callable[[RequestContext], Result],
        of_job: Sequence[str],
        of_slots: Sequence[Expression],
        slots: Any = None,
    ) -> Evaluation[Result]:
        """Return the results of *make* for the kinds of jobs; *slots* are those of the pool unless others are given."""
        ads = self._slots if slots is None else slots
        return Evaluation(make, self._kinds, ads, of_job, of_slots, self._live)

    def evaluation_of_order(self, make: Callable[[RequestContext], Result], *, holds: bool) -> Evaluation[Result]:
        """Return the results of *make*, which reads what `order_of` reads."""
        policy, is_static = self.policy, self.static is not None
        ranks = [] if is_static else [policy.pre_job_rank, policy.post_job_rank]
        if holds:
            ranks += [*([] if is_static else [policy.preemption_rank]), *RANKS]
        return self.evaluation(make, [] if policy.ignore_job_ranks else ["rank"], ranks)

    def _users_of(self, suits: Suitable) -> int:
        known = _NOBODY
        for rows in suits.in_use():
            codes = self.preemption.codes[rows]
            if len(codes):
                known = int(codes[0]) if known == _NOBODY else known
                if (codes != known).any():
                    return _SEVERAL
        return known

    def _find_suitable(self, context: RequestContext) -> Suitable:
        job = context.ad()
        rows = suitable(job, self._slots, self._tested)
        inside = self._is_listed[rows]
        first = rows[~inside]
        listed = (rows[inside] if len(first) else rows).astype(np.int32)
        # Jobs that suit the same slots share their lists.
        listed, number = self._by_content.setdefault(listed.tobytes(), (listed, len(self._by_content)))
        return Suitable(listed, number, self._blocks(job, self._in_use[_FIRST:]), [first] if len(first) else [])

    def _blocks(self, job: Ad, rows: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
        start, size = 0, 4 * _FIRST
        while start < len(rows):
            found = suitable(job, self._slots, rows[start : start + size])
            if len(found):
                yield found
            start, size = start + size, size * 4

    def _find_elsewhere(self, context: RequestContext) -> bool:
        return next(self._blocks(context.ad(), self._elsewhere), None) is not None

    def _find_ranks(self, context: RequestContext) -> NDArray[np.float64]:
        return evaluate_in_columns(_OWN_RANK, self._slots, context.ad()).as_rank(0.0)

    def _find_order(self, context: RequestContext) -> Order:
        return self.order_of(context, self._listed, holds=self.holds)

    def order_of(self, context: RequestContext, rows: NDArray[np.intp], *, holds: bool) -> Order:
        """Order these slots for a request; if *holds*, those of users at the place that a preemption gives them."""
        job, slots = context.ad(), self._slots
        self._number += 1
        keys = sort_keys(job, slots, rows, self.policy, self.static)
        state, classes = None, self.classes.free
        if holds:
            state = self.preemption.claims(job)
            keys.append(state[rows])
            if self.static is None:
                ranks = negotiator_rank(self.policy.preemption_rank, slots, job, rows)
                keys.append(np.where(self.preemption.held[rows], ranks, np.float32(0.0)))
            classes = self.classes.in_state(np.maximum(state, 0))
            if self.parts is not None:
                classes[self.parts.rows] = self.classes.divided
        return order_slots(keys, rows, self.ties, state, classes, self._number, keeps_keys=self.keeps_keys)
