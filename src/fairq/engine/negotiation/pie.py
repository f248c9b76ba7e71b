"""One pie: slots dealt out among submitters by the ratio of their effective priorities, spin after spin.

HTCondor 8 manual, layperson's description of the pie spin and pie slice; matchmaker.cpp, negotiateWithGroup,
calculateSubmitterLimit, calculatePieLeft, calculateNormalizationFactor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from fairq.engine.negotiation.decision import StopReason, SubmitterDecision
from fairq.engine.negotiation.entitlement import Entitlement, Wanting, entitlements
from fairq.engine.negotiation.global_prios import in_order
from fairq.engine.negotiation.held_turn import HeldTurn
from fairq.engine.negotiation.last_dealing import Line
from fairq.engine.negotiation.ledger import Ledger
from fairq.engine.negotiation.limits import TOLERANCE, Limits
from fairq.engine.negotiation.pie_rules import PieRules
from fairq.engine.negotiation.preemption import missing_to_share
from fairq.engine.negotiation.submitter_turn import SubmitterTurn
from fairq.engine.negotiation.turn import TurnEnd

UNLIMITED = sys.float_info.max

_GONE = (StopReason.IN_USE, StopReason.NO_SLOTS)
"""Ends of the last turn that say: what the submitter could use has gone to others."""


class Pie:
    """Deals one pie. `spins` counts how often it went round; `submitters` are those still in it."""

    def __init__(self, ledger: Ledger, rules: PieRules, submitters: Sequence[SubmitterTurn]) -> None:
        self._ledger = ledger
        self._rules = rules
        self.submitters = list(submitters)
        self.spins = 0
        self._left = 0.0
        self._size = rules.size
        self._max_min = rules.pie_slices == "max_min" and not rules.ignore_user_priorities
        self._preempts_on = rules.consider_preemption and not rules.preempt_only_to_share
        self._free_first = self._max_min and rules.last_dealing and rules.preempt_only_to_share
        self._first_shares: _Shares | None = None
        self._entitled: dict[str, Entitlement] = {}
        self._used_before: dict[str, float] = {}
        self._moved = False
        self._in_order: list[SubmitterTurn] = []
        self._kept_by_limit: set[int] = set()
        self._last_turns: dict[int, tuple[HeldTurn, Limits]] = {}

    def deal(self) -> None:
        """Spin until a whole spin neither hands out slots nor satisfies anybody (one spin for floors).

        With the last dealing, what the slices left over is dealt then. Where somebody may be preempted, those come
        first in it, by priority, who are within their share of the whole pool: otherwise they would preempt in the
        next cycle whoever got it. After it those may preempt who were kept from it since something was free.
        """
        while self._spin() and not self._rules.floor_round:
            pass
        if self._rules.last_dealing:
            preempts = self._free_first and self._ledger.may_preempt() and self._is_first_chance()
            if preempts:
                self._deal_leftovers(within_share=True)
            self._deal_leftovers()
            if preempts:
                self._preempt()

    def _spin(self) -> bool:
        """Go round once; whether another spin may bring more."""
        rules = self._rules
        first = self.spins == 0
        ignore_limit = first and rules.consider_preemption
        group_used = self._group_used()
        if not ignore_limit and self._is_used_up():
            self._pass_over(self.submitters)
            return False
        if not rules.consider_preemption:
            self.submitters = [c for c in self.submitters if c.queue.idle_jobs]
        if not self.submitters:
            return False
        if self._max_min:
            self._entitle(group_used)
        shares = _Shares(self.submitters)
        if first:
            self._first_shares = shares
        self._left = self._count_up(shares, group_used)
        if not rules.consider_preemption and self._left <= 0:
            return False
        self.spins += 1
        if first:
            self.submitters = self._in_order = in_order(self.submitters, self._ledger.policy)
        left_before, count_before, self._moved = self._left, len(self.submitters), False
        satisfied = set()
        for place, submitter in enumerate(self.submitters):
            if not ignore_limit and self._is_used_up():
                self._pass_over(self.submitters[place:])
                break
            if self._turn(submitter, shares, group_used, ignore_limit).satisfied:
                satisfied.add(id(submitter))
                if submitter.decision.stopped is StopReason.LIMIT:
                    self._kept_by_limit.add(id(submitter))
        self.submitters = [c for c in self.submitters if id(c) not in satisfied]
        # Today's negotiator asks the rest of the pie, which no match makes smaller where the limits are infinite.
        matched = self._moved if rules.pie_slices == "max_min" else self._left < left_before
        moved = matched or len(self.submitters) < count_before
        if self._max_min and self._ledger.free_weight.total <= 0 and not self._preempts_on:
            return False
        return moved and bool(self.submitters) and self._ledger.slots_left()

    def _turn(self, submitter: SubmitterTurn, shares: _Shares, group_used: float, ignore_limit: bool) -> TurnEnd:
        rules, decision = self._rules, submitter.decision
        used = self._ledger.weighted_used(submitter.name)
        if rules.quota.caps_preemption:
            group_used = self._group_used()
        limit, unclaimed = self._limit(shares.of(submitter), used, group_used)
        if rules.floor_round:
            limit = min(self._below_floor(decision, used), limit)
        missing, limit = limit, min(limit, self._left)
        if self._max_min:
            unclaimed = self._slice(submitter, used)
            limit = max(unclaimed, missing) if ignore_limit or self._preempts_on else unclaimed
        ceiling = self._headroom(decision.ceiling, used)
        self._publish(submitter, shares)
        end = self._no_turn(submitter, limit, ceiling)
        if end is None:
            limits = Limits(
                limit=limit,
                unclaimed_limit=unclaimed,
                ceiling=ceiling,
                pie_left=self._left,
                exact=rules.last_dealing,
                free_first=self._free_first,
                least=rules.min_slot_weight,
            )
            if rules.preempt_only_to_share:
                limits.share = missing if self._is_first_chance() and self.spins == 1 else 0.0
                limits.rounds_up = used <= 0 and not self._is_used_up()
            end = HeldTurn(self._ledger, submitter, limits, rules).run(ignore_limit)
            self._ledger.check_goal()
            self._left = limits.pie_left
            self._moved |= limits.used > 0
            limit -= limits.used
            headroom = limits.ceiling - limits.used
            if rules.last_dealing and not end.satisfied and headroom < max(rules.min_slot_weight, TOLERANCE):
                end = TurnEnd(True, StopReason.CEILING)
        decision.stopped, decision.quota_group = end.reason, None
        if end.reason is StopReason.LIMIT and rules.quota_group is not None:
            decision.quota_group = rules.quota_group
            if rules.charged_limit is not None and rules.charged_limit - self._group_used() <= max(0.0, limit):
                decision.stopped = StopReason.QUOTA
        return end

    def _is_first_chance(self) -> bool:
        """Whether this is the first round of allocation; a second chance with all others counts as a first one."""
        return not self._rules.quota.leftovers

    def _missing(self, submitter: SubmitterTurn, used: float) -> float:
        """What a submitter misses to its share of the whole pool, as of the first spin; it may preempt for that."""
        if self._first_shares is None:
            return 0.0
        missing, _ = self._limit(self._first_shares.of(submitter), used, self._group_used())
        return min(self._below_floor(submitter.decision, used), missing) if self._rules.floor_round else missing

    def _preempt(self) -> None:
        """Let those in want preempt by priority what they miss to their share of the whole pool.

        They go in the order of the first spin. Among them are those whom their slice kept from slots of others
        alone: what they waited for may be gone.
        """
        waiting = self._kept_by_limit.union(map(id, self.submitters))
        for submitter in (c for c in self._in_order if id(c) in waiting):
            used = self._ledger.weighted_used(submitter.name)
            missing, ceiling = self._missing(submitter, used), self._headroom(submitter.decision.ceiling, used)
            if missing <= 0 or ceiling < max(self._rules.min_slot_weight, TOLERANCE):
                continue
            limits = Limits(
                limit=missing, unclaimed_limit=0.0, ceiling=ceiling, pie_left=UNLIMITED, exact=True, share=missing
            )
            limits.rounds_up = used <= 0 and not self._is_used_up()
            end = HeldTurn(self._ledger, submitter, limits, self._rules).run(False)
            if limits.used:
                self._stop(submitter.decision, end.reason)
        self.submitters = [c for c in self.submitters if c.queue.jobs_left]

    def _publish(self, submitter: SubmitterTurn, shares: _Shares) -> None:
        """Let the decision and the accountant's reports say what the submitter may have."""
        decision, entitled = submitter.decision, self._entitled.get(submitter.name)
        if entitled is not None:
            decision.share, decision.limit = entitled.share, entitled.entitled
            decision.slices.append(entitled.slice)
        elif self.spins == 1 and not self._max_min:
            share = shares.of(submitter)
            decision.share, decision.limit = share, share * self._size
        else:
            return
        self._ledger.publish_share(submitter.name, decision.share, decision.limit)

    def _entitle(self, group_used: float) -> None:
        """Compute the slices of a spin: of what is free, within the quota, and what those in want have."""
        names = {c.name: c.effective_priority for c in self.submitters if c.queue.jobs_left}
        self._used_before = {name: self._ledger.weighted_used(name) for name in names}
        wanting = {name: Wanting(priority, self._used_before[name]) for name, priority in names.items()}
        self._entitled = entitlements(min(self._ledger.free_weight.total, self._room(group_used)), wanting)

    def _slice(self, submitter: SubmitterTurn, used: float) -> float:
        """What is left of a submitter's slice of this spin, of which it may have used some at another schedd."""
        entitled = self._entitled.get(submitter.name)
        if entitled is None:
            return 0.0
        left = entitled.slice - max(0.0, used - self._used_before[submitter.name])
        if self._rules.floor_round:
            left = min(left, self._below_floor(submitter.decision, used))
        return max(0.0, left)

    def _below_floor(self, decision: SubmitterDecision, used: float) -> float:
        """How much a submitter has still to get in the floor round."""
        return decision.floor - (used if self._rules.floor_counts_usage else 0.0)

    def _deal_leftovers(self, *, within_share: bool = False) -> None:
        """Deal what is free one match at a time, each to whoever has least for its share.

        *within_share*: to those alone who are, and stay, within their share of the whole pool, by priority.
        """
        submitters = self.submitters
        if self._ledger.free_weight.total <= 0:
            # Only to find out what to tell them, once.
            submitters = [] if within_share else [c for c in submitters if not c.found_nothing_free]
        line = self.line(lambda: self._room(self._group_used()), submitters, within_share=within_share)
        while line.deal_one():
            pass
        self.submitters = [c for c in self.submitters if c.queue.jobs_left]

    def line(
        self, room: Callable[[], float], submitters: Sequence[SubmitterTurn], *, within_share: bool = False
    ) -> Line[SubmitterTurn]:
        """Put *submitters* in line for single matches; *room* tells how much more they may have among them."""
        self._last_turns.clear()

        def deal(submitter: SubmitterTurn) -> bool:
            used = self._ledger.weighted_used(submitter.name)
            bound = self._missing(submitter, used) if within_share else UNLIMITED
            end = self._deal_one(submitter, room(), bound)
            if end is not None and not within_share:
                self._stop(submitter.decision, end)
            return end is None

        return Line(submitters, self._ledger.weighted_used, deal, by_priority=within_share)

    def _deal_one(self, submitter: SubmitterTurn, room: float, bound: float) -> StopReason | None:
        """Make one match for a submitter, of no more weight than *bound*, within its ceiling; else why there is none.

        While the group has any *room*, the match may take all of it and more: a fraction of a slot is worth one.
        """
        decision, smallest = submitter.decision, max(self._rules.min_slot_weight, TOLERANCE)
        used = self._ledger.weighted_used(submitter.name)
        ceiling = self._headroom(decision.ceiling, used)
        if bound < smallest or (self._rules.floor_round and used >= decision.floor):
            return decision.stopped
        opened = self._last_turns.get(id(submitter))
        if opened is None:
            limits = Limits(limit=UNLIMITED, unclaimed_limit=0.0, ceiling=0.0, exact=True)
            opened = self._last_turns[id(submitter)] = HeldTurn(self._ledger, submitter, limits, self._rules), limits
        turn, limits = opened
        if room <= TOLERANCE or ceiling < smallest:
            turn.stop_at_limit()
            return StopReason.QUOTA if room <= TOLERANCE else StopReason.CEILING
        limits.ceiling = limits.used + ceiling
        limits.unclaimed_limit = limits.used + min(ceiling, bound)
        end = turn.deal()
        if end is None:
            return None
        if end.reason is StopReason.LIMIT:
            return StopReason.CEILING
        if end.reason not in _GONE:
            return end.reason
        submitter.found_nothing_free = self._ledger.free_weight.total <= 0
        return decision.stopped if self._others_had_a_right(decision, turn) else end.reason

    def _others_had_a_right(self, decision: SubmitterDecision, turn: HeldTurn) -> bool:
        """Whether what stopped a submitter earlier remains the reason, although nothing is free for it any more."""
        if decision.stopped is StopReason.LIMIT:
            return self._ledger.may_preempt() and turn.would_preempt()
        return decision.stopped is StopReason.QUOTA

    def _stop(self, decision: SubmitterDecision, reason: StopReason) -> None:
        """Note what ended the last turn of a submitter."""
        if reason is not decision.stopped:
            decision.stopped = reason
            decision.quota_group = self._rules.quota.limiting_group if reason is StopReason.QUOTA else None

    def _pass_over(self, submitters: Sequence[SubmitterTurn]) -> None:
        """Note who gets no turn since the group's quota is used up."""
        for submitter in submitters:
            submitter.pass_over(self._rules.quota_group)

    def _no_turn(self, submitter: SubmitterTurn, limit: float, ceiling: float) -> TurnEnd | None:
        """Reasons to pass over a submitter in this spin."""
        smallest = self._rules.min_slot_weight
        if not submitter.queue.idle_jobs:
            return TurnEnd(True, StopReason.NO_IDLE_JOBS)
        if self.spins > 1 and (limit < smallest or self._left < smallest):
            return TurnEnd(False, StopReason.LIMIT)
        if ceiling == 0 or ceiling < smallest:
            return TurnEnd(True, StopReason.CEILING)
        return None

    def _limit(self, share: float, used: float, group_used: float) -> tuple[float, float]:
        """A submitter's limit, and the limit for slots that nobody has to leave."""
        rules = self._rules
        limit = UNLIMITED if rules.ignore_user_priorities else missing_to_share(share, self._size, used)
        quota = rules.charged_limit
        unclaimed = limit if quota is None else min(limit, max(0.0, quota - group_used))
        binds_all = rules.quota.caps_preemption or not rules.consider_preemption
        return (unclaimed if binds_all else limit), unclaimed

    def _count_up(self, shares: _Shares, group_used: float) -> float:
        """The sum of all limits, by which a spin tells whether it moved; also everybody's starvation.

        Slices that are cut from what is free need no bound by what is left.
        """
        total = 0.0
        for submitter in self.submitters:
            used = self._ledger.weighted_used(submitter.name)
            if self._max_min:
                limit = self._slice(submitter, used)
            else:
                limit, _ = self._limit(shares.of(submitter), used, group_used)
            submitter.starvation = used / (used + limit) if used + limit > 0 else UNLIMITED
            total += limit
        return UNLIMITED if self._max_min else total

    def _room(self, group_used: float) -> float:
        """How much more the group may have in use."""
        quota = self._rules.charged_limit
        return UNLIMITED if quota is None else max(0.0, quota - group_used)

    def _group_used(self) -> float:
        rules = self._rules
        return 0.0 if rules.charged_limit is None else self._ledger.weighted_used(rules.quota.group)

    def _is_used_up(self) -> bool:
        quota = self._rules.charged_limit
        return quota is not None and self._group_used() >= quota

    @staticmethod
    def _headroom(ceiling: int, used: float) -> float:
        """Slot weight left under a ceiling; usage counts in whole slots (docs/htcondor.md 3.5)."""
        return UNLIMITED if ceiling < 0 else max(0.0, float(ceiling - int(used)))


class _Shares:
    """Everybody's share of the pie, in inverse ratio of effective priorities; each name counts once."""

    def __init__(self, submitters: Sequence[SubmitterTurn]) -> None:
        priorities = {submitter.name: submitter.effective_priority for submitter in submitters}
        self._worst = max(submitter.effective_priority for submitter in submitters)
        self._normal = sum(self._worst / priority for priority in priorities.values())

    def of(self, submitter: SubmitterTurn) -> float:
        """The share of one submitter; those of distinct names sum to 1."""
        return self._worst / (submitter.effective_priority * self._normal)
