"""One pie: slots dealt out among submitters by the ratio of their effective priorities, spin after spin.

HTCondor 8 manual, layperson's description of the pie spin and pie slice; matchmaker.cpp, negotiateWithGroup,
calculateSubmitterLimit, calculatePieLeft, calculateNormalizationFactor.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from fairq.engine.negotiation.decision import StopReason, SubmitterDecision
from fairq.engine.negotiation.entitlement import Slice, Wanting, slices
from fairq.engine.negotiation.global_prios import in_order
from fairq.engine.negotiation.held_turn import HeldTurn
from fairq.engine.negotiation.last_dealing import Line
from fairq.engine.negotiation.ledger import Ledger
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.pie_rules import PieRules
from fairq.engine.negotiation.preemption import permits_preemption
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
        self._entitled: dict[str, float] = {}
        """What each submitter is entitled to, as of the first spin; it may preempt for that."""
        self._slices: dict[str, Slice] = {}
        self._used_before: dict[str, float] = {}
        self._moved = False
        self._in_order: list[SubmitterTurn] = []
        self._kept_by_limit: set[int] = set()
        self._last_turns: dict[int, tuple[HeldTurn, Limits]] = {}

    def deal(self) -> None:
        """Spin until a whole spin neither hands out slots nor satisfies anybody (one spin for floors).

        With the last dealing, what the slices left over is dealt then. Where priority may preempt jobs, those come
        first in it whom it brings nearer to their entitlement: otherwise they would preempt in the next cycle whoever
        got it. After it those may preempt who were kept from it since something was free.
        """
        while self._spin() and not self._rules.floor_round:
            pass
        if self._rules.last_dealing:
            preempts = self._free_first and self._is_first_chance() and permits_preemption(self._ledger.policy)
            if preempts:
                self._deal_leftovers(to_entitled=True)
            self._deal_leftovers()
            if preempts and self._ledger.may_preempt():
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
            self._slice_pie(group_used)
        shares = _Shares(self.submitters)
        if first and rules.preempt_only_to_share and rules.consider_preemption and self._is_first_chance():
            self._entitled = self._ledger.demands.entitlements(rules.quota.group, rules.charged_limit, rules.total)
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
            end = self._turn(submitter, shares, group_used, ignore_limit)
            if end.satisfied:
                satisfied.add(id(submitter))
                if end.reason is StopReason.LIMIT:
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
        if rules.preempt_only_to_share:
            missing = self._missing(submitter, used) if self.spins == 1 and self._is_first_chance() else 0.0
        if self._max_min:
            unclaimed = self._slice(submitter, used)
            limit = max(unclaimed, missing) if ignore_limit or self._preempts_on else unclaimed
        ceiling = self._headroom(decision.ceiling, used)
        self._publish(submitter, shares)
        end, stopped_by = self._no_turn(submitter, limit, ceiling), None
        if end is None:
            limits = Limits(
                limit=limit,
                unclaimed_limit=unclaimed,
                ceiling=ceiling,
                pie_left=self._left,
                exact=rules.last_dealing,
                free_first=self._free_first,
                least=rules.min_slot_weight,
                tolerance=rules.tolerance,
                caps=rules.quota.caps,
            )
            if rules.preempt_only_to_share:
                limits.share = missing
            end = HeldTurn(self._ledger, submitter, limits, rules).run(ignore_limit)
            self._ledger.check_goal()
            self._left, stopped_by = limits.pie_left, limits.stopped_by
            self._moved |= limits.used > 0
            limit -= limits.used
            headroom = limits.ceiling - limits.used
            if rules.last_dealing and not end.satisfied and headroom < rules.least:
                end = TurnEnd(True, StopReason.CEILING)
        decision.stopped, decision.quota_group = end.reason, None
        if end.reason is StopReason.LIMIT and stopped_by is not None:
            decision.stopped, decision.quota_group = StopReason.QUOTA, stopped_by
        elif end.reason is StopReason.LIMIT and rules.quota_group is not None:
            decision.quota_group = rules.quota_group
            if rules.charged_limit is not None and rules.charged_limit - self._group_used() <= max(0.0, limit):
                decision.stopped = StopReason.QUOTA
        return end

    def _is_first_chance(self) -> bool:
        """Whether this is the first round of allocation; a second chance with all others counts as a first one."""
        return not self._rules.quota.leftovers

    def _missing(self, submitter: SubmitterTurn, used: float) -> float:
        """What a submitter misses to its entitlement; a match of half that weight or less brings it no nearer."""
        rules = self._rules
        entitled = UNLIMITED if rules.ignore_user_priorities else self._entitled.get(submitter.name, 0.0)
        missing = max(0.0, entitled - used - rules.tolerance)
        return min(self._below_floor(submitter.decision, used), missing) if rules.floor_round else missing

    def _preempt(self) -> None:
        """Let those in want preempt by priority what they miss to their entitlement.

        They go in the order of the first spin. Among them are those whom their slice kept from slots of others
        alone: what they waited for may be gone.
        """
        waiting = self._kept_by_limit.union(map(id, self.submitters))
        for submitter in (c for c in self._in_order if id(c) in waiting):
            used = self._ledger.weighted_used(submitter.name)
            missing, ceiling = self._missing(submitter, used), self._headroom(submitter.decision.ceiling, used)
            if missing <= 0 or ceiling < self._rules.least:
                continue
            limits = self._single_matches(ceiling)
            limits.limit = limits.share = missing
            end = HeldTurn(self._ledger, submitter, limits, self._rules).run(False)
            if limits.used:
                self._stop(submitter.decision, end.reason, limits.stopped_by)
        self.submitters = [c for c in self.submitters if c.queue.jobs_left]

    def _publish(self, submitter: SubmitterTurn, shares: _Shares) -> None:
        """Let the decision and the accountant's reports say what the submitter may have."""
        decision, found = submitter.decision, self._slices.get(submitter.name)
        if found is not None:
            decision.share, decision.limit = found.share, found.part
            decision.slices.append(found.slice)
        elif self.spins == 1 and not self._max_min:
            share = shares.of(submitter)
            decision.share, decision.limit = share, share * self._size
        else:
            return
        self._ledger.publish_share(submitter.name, decision.share, decision.limit)

    def _slice_pie(self, group_used: float) -> None:
        """Compute the slices of a spin: of what is free, within the quota, and what those in want have."""
        names = {c.name: c.effective_priority for c in self.submitters if c.queue.jobs_left}
        self._used_before = {name: self._ledger.weighted_used(name) for name in names}
        wanting = {name: Wanting(priority, self._used_before[name]) for name, priority in names.items()}
        self._slices = slices(min(self._ledger.free_weight.total, self._room(group_used)), wanting)

    def _slice(self, submitter: SubmitterTurn, used: float) -> float:
        """What is left of a submitter's slice of this spin, of which it may have used some at another schedd."""
        found = self._slices.get(submitter.name)
        if found is None:
            return 0.0
        left = found.slice - max(0.0, used - self._used_before[submitter.name])
        if self._rules.floor_round:
            left = min(left, self._below_floor(submitter.decision, used))
        return max(0.0, left)

    def _below_floor(self, decision: SubmitterDecision, used: float) -> float:
        """How much a submitter has still to get in the floor round."""
        return decision.floor - (used if self._rules.floor_counts_usage else 0.0)

    def _deal_leftovers(self, *, to_entitled: bool = False) -> None:
        """Deal what is free one match at a time, each to whoever has least for its share.

        *to_entitled*: to those alone whom a match brings nearer to their entitlement, by priority.
        """
        submitters = self.submitters
        if self._ledger.free_weight.total <= 0:
            # Only to find out what to tell them, once.
            submitters = [] if to_entitled else [c for c in submitters if not c.found_nothing_free]
        line = self.line(submitters, to_entitled=to_entitled)
        while line.deal_one():
            pass
        self.submitters = [c for c in self.submitters if c.queue.jobs_left]

    def line(self, submitters: Sequence[SubmitterTurn], *, to_entitled: bool = False) -> Line[SubmitterTurn]:
        """Put *submitters* in line for single matches."""
        self._last_turns.clear()

        def deal(submitter: SubmitterTurn) -> bool:
            used = self._ledger.weighted_used(submitter.name)
            # The entitlement is nearer after a match of less than twice what is missing.
            bound = 2 * self._missing(submitter, used) if to_entitled else UNLIMITED
            end = self._deal_one(submitter, bound)
            if end is not None and not to_entitled:
                opened = self._last_turns.get(id(submitter))
                self._stop(submitter.decision, end, None if opened is None else opened[1].stopped_by)
            return end is None

        return Line(submitters, self._ledger.weighted_used, deal, by_priority=to_entitled)

    def _deal_one(self, submitter: SubmitterTurn, bound: float) -> StopReason | None:
        """Make one match for a submitter, within *bound* (slot weight) and its ceiling; else why there is none."""
        decision, smallest = submitter.decision, self._rules.least
        used = self._ledger.weighted_used(submitter.name)
        ceiling, room = self._headroom(decision.ceiling, used), self._room(self._group_used())
        if bound < smallest or (self._rules.floor_round and used >= decision.floor):
            return decision.stopped
        opened = self._last_turns.get(id(submitter))
        if opened is None:
            limits = self._single_matches(0.0)
            opened = self._last_turns[id(submitter)] = HeldTurn(self._ledger, submitter, limits, self._rules), limits
        turn, limits = opened
        has_no_room = room + self._rules.tolerance < smallest
        if has_no_room or ceiling < smallest:
            turn.stop_at_limit()
            return StopReason.QUOTA if has_no_room else StopReason.CEILING
        limits.ceiling = limits.used + ceiling
        limits.unclaimed_limit = limits.used + min(ceiling, bound, room)
        end = turn.deal()
        if end is None:
            return None
        if end.reason is StopReason.LIMIT:
            return StopReason.QUOTA if limits.stopped_by is not None or room < ceiling else StopReason.CEILING
        if end.reason not in _GONE:
            return end.reason
        submitter.found_nothing_free = self._ledger.free_weight.total <= 0
        return decision.stopped if self._others_had_a_right(decision, turn) else end.reason

    def _single_matches(self, ceiling: float) -> Limits:
        """The limits of a submitter that gets one match after the other; there is none without preemption yet."""
        rules = self._rules
        return Limits(
            limit=UNLIMITED,
            unclaimed_limit=0.0,
            ceiling=ceiling,
            pie_left=UNLIMITED,
            exact=True,
            tolerance=rules.tolerance,
            caps=rules.quota.caps,
        )

    def _others_had_a_right(self, decision: SubmitterDecision, turn: HeldTurn) -> bool:
        """Whether what stopped a submitter earlier remains the reason, although nothing is free for it any more."""
        if decision.stopped is StopReason.LIMIT:
            return self._ledger.may_preempt() and turn.would_preempt()
        return decision.stopped is StopReason.QUOTA

    def _stop(self, decision: SubmitterDecision, reason: StopReason, stopped_by: str | None) -> None:
        """Note what ended the last turn of a submitter; *stopped_by* is the group whose cap refused a match."""
        if reason is StopReason.LIMIT and stopped_by is not None:
            reason = StopReason.QUOTA
        if reason is not decision.stopped or stopped_by is not None:
            decision.stopped = reason
            limiting = stopped_by or self._rules.quota.limiting_group
            decision.quota_group = limiting if reason is StopReason.QUOTA else None

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
        limit = UNLIMITED if rules.ignore_user_priorities else max(0.0, share * self._size - used)
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
