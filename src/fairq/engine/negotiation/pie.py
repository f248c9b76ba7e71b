"""One pie: slots are divided among submitters by their effective priorities, spin after spin.

HTCondor 8 manual, layperson's description of the pie spin and pie slice; matchmaker.cpp, negotiateWithGroup,
calculateSubmitterLimit, calculatePieLeft, calculateNormalizationFactor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fairq.engine.negotiation.decision import StopReason, SubmitterDecision
from fairq.engine.negotiation.ledger import Ledger
from fairq.engine.negotiation.leftovers import Leftovers, Line
from fairq.engine.negotiation.limits import UNLIMITED, Limits, PieQuota, PieRules, headroom
from fairq.engine.negotiation.preemption import permits_preemption
from fairq.engine.negotiation.slices import Slice, Wanting, slices
from fairq.engine.negotiation.submitters import Submitter, in_order
from fairq.engine.negotiation.turn import Turn, TurnEnd


def deal_pie(ledger: Ledger, submitters: Sequence[Submitter], quota: PieQuota) -> list[Submitter]:
    """Serve submitters below their floors, then divide a pie within a *quota*; return those that want more slots."""
    rules = _rules(ledger, quota)
    below = [
        submitter for submitter in submitters if 0 < submitter.decision.floor > ledger.weighted_used(submitter.name)
    ]
    if below:
        _deal(ledger, replace(rules, floor_round=True), below)
    return _deal(ledger, rules, submitters)


def line_for_leftovers(ledger: Ledger, submitters: Sequence[Submitter], quota: PieQuota) -> Line:
    """Put the submitters of a pie in line for single matches within a *quota*."""
    return Pie(ledger, _rules(ledger, quota), submitters).leftovers.line(submitters)


def _deal(ledger: Ledger, rules: PieRules, submitters: Sequence[Submitter]) -> list[Submitter]:
    pie = Pie(ledger, rules, submitters)
    pie.deal()
    ledger.decision.spins += pie.spins
    return pie.submitters


def _rules(ledger: Ledger, quota: PieQuota) -> PieRules:
    policy = ledger.policy
    return PieRules(
        total=ledger.decision.pie,
        min_slot_weight=ledger.decision.min_slot_weight,
        consider_preemption=policy.consider_preemption,
        ignore_user_priorities=policy.ignore_user_priorities,
        floor_counts_usage=policy.floor_counts_usage,
        preempt_only_to_share=policy.preempt_only_to_share,
        pie_slices=policy.pie_slices,
        last_dealing=policy.last_dealing,
        quota=quota,
    )


class Pie:
    """Deals one pie. `spins` is the number of spins so far; `submitters` are those that still take part."""

    def __init__(self, ledger: Ledger, rules: PieRules, submitters: Sequence[Submitter]) -> None:
        self._ledger, self._rules = ledger, rules
        self.submitters = list(submitters)
        self.spins = 0
        self.leftovers = Leftovers(ledger, rules, lambda: self._quota_left(self._group_used()), self._missing)
        self._pie_left = 0.0
        self._max_min = rules.pie_slices == "max_min" and not rules.ignore_user_priorities
        self._preempts_in_later_spins = rules.consider_preemption and not rules.preempt_only_to_share
        self._free_first = self._max_min and rules.last_dealing and rules.preempt_only_to_share
        self._shares: dict[str, float] = {}
        """The share of each submitter, inversely proportional to effective priorities; each name counts once."""
        self._parts: dict[str, float] = {}
        """The weight of that share; reserved slots are shared only by the submitters that may use them."""
        self._entitled: dict[str, float] = {}
        """The entitlements as of the first spin, up to which submitters may preempt."""
        self._slices: dict[str, Slice] = {}
        self._used_before: dict[str, float] = {}
        self._has_matches = False
        self._turn_order: list[Submitter] = []
        self._limited_to_busy_slots: list[Submitter] = []

    def deal(self) -> None:
        """Spin until a spin neither matches a slot nor satisfies a submitter (one spin for floors).

        With the last dealing, leftovers are dealt then. If priority may preempt jobs, submitters below their
        entitlement come first: otherwise they would preempt, in the next cycle, those that got the leftovers.
        Afterwards, submitters that did not preempt because slots were free may preempt.
        """
        while self._spin() and not self._rules.floor_round:
            pass
        if not self._rules.last_dealing:
            return
        preempts = self._free_first and self._is_first_chance and permits_preemption(self._ledger.policy)
        if preempts:
            self.submitters = self.leftovers.deal(self.submitters, to_entitled=True)
        self.submitters = self.leftovers.deal(self.submitters)
        if preempts and self._ledger.kinds.preemption.may_preempt():
            # Also those that the limit refused only busy slots: the free slot they waited for may be taken.
            waiting = {*self._limited_to_busy_slots, *self.submitters}
            self.leftovers.preempt(submitter for submitter in self._turn_order if submitter in waiting)
            self.submitters = [submitter for submitter in self.submitters if submitter.queue.jobs_left]

    def _spin(self) -> bool:
        """Run one spin; return whether another spin may match more."""
        rules = self._rules
        first = self.spins == 0
        ignore_limit = first and rules.consider_preemption
        group_used = self._group_used()
        if not ignore_limit and self._is_used_up():
            self._pass_over(self.submitters)
            return False
        if not rules.consider_preemption:
            self.submitters = [submitter for submitter in self.submitters if submitter.queue.idle_jobs]
        if not self.submitters:
            return False
        self._divide(group_used)
        if first and rules.preempt_only_to_share and rules.consider_preemption and self._is_first_chance:
            self._entitled = self._ledger.demands.entitlements(rules.quota.group, rules.charged_limit, rules.total)
        self._pie_left = self._sum_limits(group_used)
        if not rules.consider_preemption and self._pie_left <= 0:
            return False
        self.spins += 1
        if first:
            self.submitters = self._turn_order = in_order(self.submitters, self._ledger.policy)
        left_before, self._has_matches = self._pie_left, False
        staying: list[Submitter] = []
        for index, submitter in enumerate(self.submitters):
            if not ignore_limit and self._is_used_up():
                self._pass_over(self.submitters[index:])
                staying += self.submitters[index:]
                break
            end = self._turn(submitter, group_used, ignore_limit)
            if not end.satisfied:
                staying.append(submitter)
            elif end.reason in (StopReason.LIMIT, StopReason.PREEMPTIONS):
                self._limited_to_busy_slots.append(submitter)
        # Today's negotiator compares what is left of the pie, which matches do not change if limits are infinite.
        has_matched = self._has_matches if rules.pie_slices == "max_min" else self._pie_left < left_before
        has_moved = has_matched or len(staying) < len(self.submitters)
        self.submitters = staying
        if self._max_min and self._ledger.free_weight.total <= 0 and not self._preempts_in_later_spins:
            return False
        return has_moved and bool(staying) and self._ledger.taken.left > 0

    def _turn(self, submitter: Submitter, group_used: float, ignore_limit: bool) -> TurnEnd:
        rules, decision = self._rules, submitter.decision
        used = self._ledger.weighted_used(submitter.name)
        if rules.quota.caps_preemption:
            group_used = self._group_used()
        limit, unclaimed_limit = self._limit(self._parts[submitter.name], used, group_used)
        if rules.floor_round:
            limit = min(self._lacking_to_floor(decision, used), limit)
        missing, limit = limit, min(limit, self._pie_left)
        if rules.preempt_only_to_share:
            missing = self._missing(submitter, used) if self.spins == 1 and self._is_first_chance else 0.0
        if self._max_min:
            unclaimed_limit = self._slice(submitter, used)
            limit = max(unclaimed_limit, missing) if ignore_limit or self._preempts_in_later_spins else unclaimed_limit
        ceiling = headroom(decision.ceiling, used)
        self._publish(submitter)
        end, stopped_by = self._end_without_turn(submitter, limit, ceiling), None
        if end is None:
            limits = Limits(
                limit=limit,
                unclaimed_limit=unclaimed_limit,
                ceiling=ceiling,
                pie_left=self._pie_left,
                exact=rules.last_dealing,
                free_first=self._free_first,
                least=rules.min_slot_weight,
                tolerance=rules.tolerance,
                share=missing if rules.preempt_only_to_share else None,
                caps=rules.quota.caps,
            )
            end = Turn(self._ledger, submitter, limits, rules, rank_beyond_limit=ignore_limit).run()
            self._pie_left, stopped_by = limits.pie_left, limits.stopped_by
            self._has_matches |= limits.used > 0
            limit -= limits.used
            if rules.last_dealing and not end.satisfied and limits.ceiling - limits.used < rules.least:
                end = TurnEnd(True, StopReason.CEILING)
        if end.reason is StopReason.LIMIT and decision.stopped is StopReason.PREEMPTIONS:
            return end  # it might take no more jobs' slots since then, either
        decision.stopped, decision.quota_group = end.reason, None
        if end.reason is StopReason.LIMIT and stopped_by is not None:
            decision.stopped, decision.quota_group = StopReason.QUOTA, stopped_by
        elif end.reason is StopReason.LIMIT and rules.quota_group is not None:
            decision.quota_group = rules.quota_group
            if rules.charged_limit is not None and rules.charged_limit - self._group_used() <= max(0.0, limit):
                decision.stopped = StopReason.QUOTA
        return end

    def _end_without_turn(self, submitter: Submitter, limit: float, ceiling: float) -> TurnEnd | None:
        """Return why a submitter gets no turn in this spin, None if it gets one."""
        smallest = self._rules.min_slot_weight
        if not submitter.queue.idle_jobs:
            return TurnEnd(True, StopReason.NO_IDLE_JOBS)
        if self.spins > 1 and (limit < smallest or self._pie_left < smallest):
            return TurnEnd(False, StopReason.LIMIT)
        if ceiling == 0 or ceiling < smallest:
            return TurnEnd(True, StopReason.CEILING)
        return None

    def _divide(self, group_used: float) -> None:
        """Compute every submitter's share of the pie and, if slices are cut from free weight, its slice."""
        priorities = {submitter.name: submitter.effective_priority for submitter in self.submitters}
        worst = max(priorities.values())
        normal = sum(worst / priority for priority in priorities.values())
        self._shares = {name: worst / (priority * normal) for name, priority in priorities.items()}
        self._parts = self._parts_of(priorities)
        if self._max_min:
            names = {
                submitter.name: submitter.effective_priority
                for submitter in self.submitters
                if submitter.queue.jobs_left
            }
            self._used_before = {name: self._ledger.weighted_used(name) for name in names}
            wanting = {name: Wanting(priority, self._used_before[name]) for name, priority in names.items()}
            self._slices = self._cut(self._quota_left(group_used), wanting)

    def _cut(self, quota_left: float, wanting: Mapping[str, Wanting]) -> dict[str, Slice]:
        """Cut the free weight, at most *quota_left*, into slices; reserved slots go to submitters that may use them."""
        reserved = []
        for weight, admits in self._ledger.free_weight.reserved():
            admitted = {name: user for name, user in wanting.items() if admits(name)}
            if admitted and weight > 0:
                reserved.append((weight, admitted))
        cuts = slices(min(self._ledger.free_weight.for_all(), quota_left), wanting)
        for weight, admitted in reserved:
            for name, reserved_cut in slices(min(weight, quota_left), admitted).items():
                cut = cuts[name]
                cuts[name] = Slice(cut.share, cut.slice + reserved_cut.slice, cut.part + reserved_cut.slice)
        return cuts

    def _parts_of(self, priorities: Mapping[str, float]) -> dict[str, float]:
        """Return each submitter's part of the whole pie, and of the reserved slots that it may use."""
        size, reserved = self._rules.size, self._ledger.free_weight.all_reserved()
        common = min(size, self._rules.total - sum(weight for weight, _ in reserved)) if reserved else size
        parts = {name: share * common for name, share in self._shares.items()}
        for weight, admits in reserved:
            admitted = {name: 1 / priority for name, priority in priorities.items() if admits(name)}
            for name, inverse in admitted.items():
                parts[name] += min(weight, size) * inverse / sum(admitted.values())
        return parts

    def _limit(self, part: float, used: float, group_used: float) -> tuple[float, float]:
        """Return a submitter's limit, and its limit for matches without preemption."""
        rules = self._rules
        limit = UNLIMITED if rules.ignore_user_priorities else max(0.0, part - used)
        quota = rules.charged_limit
        unclaimed_limit = limit if quota is None else min(limit, max(0.0, quota - group_used))
        binds_all = rules.quota.caps_preemption or not rules.consider_preemption
        return (unclaimed_limit if binds_all else limit), unclaimed_limit

    def _slice(self, submitter: Submitter, used: float) -> float:
        """Return what is left of a submitter's slice; it may have used some of it at another schedd."""
        own_slice = self._slices.get(submitter.name)
        if own_slice is None:
            return 0.0
        remaining = own_slice.slice - max(0.0, used - self._used_before[submitter.name])
        if self._rules.floor_round:
            remaining = min(remaining, self._lacking_to_floor(submitter.decision, used))
        return max(0.0, remaining)

    def _missing(self, submitter: Submitter, used: float) -> float:
        """Return what a submitter lacks to its entitlement; rounding errors count as nothing."""
        rules = self._rules
        entitled = UNLIMITED if rules.ignore_user_priorities else self._entitled.get(submitter.name, 0.0)
        missing = max(0.0, entitled - used - rules.tolerance)
        return min(self._lacking_to_floor(submitter.decision, used), missing) if rules.floor_round else missing

    def _lacking_to_floor(self, decision: SubmitterDecision, used: float) -> float:
        """Return how much a submitter lacks to its floor."""
        return decision.floor - (used if self._rules.floor_counts_usage else 0.0)

    def _sum_limits(self, group_used: float) -> float:
        """Return the sum of all limits, by which a spin decides whether it matched anything; set each starvation.

        Slices that are cut from free weight need no such bound.
        """
        total = 0.0
        for submitter in self.submitters:
            used = self._ledger.weighted_used(submitter.name)
            if self._max_min:
                limit = self._slice(submitter, used)
            else:
                limit, _ = self._limit(self._parts[submitter.name], used, group_used)
            submitter.starvation = used / (used + limit) if used + limit > 0 else UNLIMITED
            total += limit
        return UNLIMITED if self._max_min else total

    def _publish(self, submitter: Submitter) -> None:
        """Store the submitter's share and limit in the decision and for the accountant's reports."""
        decision, own_slice = submitter.decision, self._slices.get(submitter.name)
        if own_slice is not None:
            decision.share, decision.limit = own_slice.share, own_slice.part
            decision.slices.append(own_slice.slice)
        elif self.spins == 1 and not self._max_min:
            decision.share, decision.limit = self._shares[submitter.name], self._parts[submitter.name]
        else:
            return
        self._ledger.publish_share(submitter.name, decision.share, decision.limit)

    def _pass_over(self, submitters: Sequence[Submitter]) -> None:
        """Record that *submitters* get no turn because the group's quota is used up."""
        for submitter in submitters:
            submitter.pass_over(self._rules.quota_group)

    @property
    def _is_first_chance(self) -> bool:
        """Whether this is the first round of allocation; a second chance with all others counts as a first one."""
        return not self._rules.quota.leftovers

    def _quota_left(self, group_used: float) -> float:
        """Return how much more the group may use."""
        quota = self._rules.charged_limit
        return UNLIMITED if quota is None else max(0.0, quota - group_used)

    def _group_used(self) -> float:
        rules = self._rules
        return 0.0 if rules.charged_limit is None else self._ledger.weighted_used(rules.quota.group)

    def _is_used_up(self) -> bool:
        quota = self._rules.charged_limit
        return quota is not None and self._group_used() >= quota
