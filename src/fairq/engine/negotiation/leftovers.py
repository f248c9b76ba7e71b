"""Leftovers: what the slices leave is dealt one match at a time.

HTCondor 8 manual, layperson's description of the pie spin: it goes on "until it runs out of machines or all the
condor_schedd daemons say they have no more jobs". Slices smaller than a slot end the spins before that.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence

from fairq.engine.negotiation.decision import StopReason, SubmitterDecision
from fairq.engine.negotiation.ledger import Ledger
from fairq.engine.negotiation.limits import UNLIMITED, Limits, PieRules, headroom
from fairq.engine.negotiation.submitters import Submitter
from fairq.engine.negotiation.turn import Turn
from fairq.engine.weights import rounded

_TAKEN_BY_OTHERS = (StopReason.IN_USE, StopReason.NO_SLOTS)
"""Reasons for the end of a turn if the slots that the submitter could use went to others."""


class Leftovers:
    """The leftovers of one pie.

    Args:
        ledger: what all turns share.
        rules: the rules of the pie.
        quota_left: returns how much more the group may use.
        missing: returns how much a submitter lacks to its entitlement, given its use.
    """

    def __init__(
        self,
        ledger: Ledger,
        rules: PieRules,
        quota_left: Callable[[], float],
        missing: Callable[[Submitter, float], float],
    ) -> None:
        self._ledger, self._rules, self._quota_left, self._missing = ledger, rules, quota_left, missing

    def deal(self, submitters: Sequence[Submitter], *, to_entitled: bool = False) -> list[Submitter]:
        """Deal single matches, each to the submitter with the least use for its share; return those with jobs left.

        *to_entitled*: only to submitters that a match brings nearer to their entitlement, in order of priority.
        """
        in_line = submitters
        if self._ledger.free_weight.total <= 0:
            # Nothing is free: run one turn each, only to find the reason to report.
            in_line = [] if to_entitled else [submitter for submitter in submitters if not submitter.found_nothing_free]
        line = self.line(in_line, to_entitled=to_entitled)
        while line.deal_one():
            pass
        return [submitter for submitter in submitters if submitter.queue.jobs_left]

    def preempt(self, waiting: Iterable[Submitter]) -> None:
        """Let *waiting* submitters preempt by priority what they lack to their entitlement."""
        for submitter in waiting:
            used = self._ledger.weighted_used(submitter.name)
            missing, ceiling = self._missing(submitter, used), headroom(submitter.decision.ceiling, used)
            if missing <= 0 or ceiling < self._rules.least:
                continue
            limits = self._single_matches(ceiling)
            limits.limit = limits.share = missing
            end = Turn(self._ledger, submitter, limits, self._rules).run()
            if limits.used:
                self._stop(submitter.decision, end.reason, limits.stopped_by)

    def line(self, submitters: Sequence[Submitter], *, to_entitled: bool = False) -> Line:
        """Put *submitters* in line for single matches."""
        turns = [self._turn(submitter) for submitter in submitters]

        def deal(index: int) -> bool:
            submitter, (turn, limits) = submitters[index], turns[index]
            used = self._ledger.weighted_used(submitter.name)
            # A match of less than twice the missing weight brings the use nearer to the entitlement.
            bound = 2 * self._missing(submitter, used) if to_entitled else UNLIMITED
            end = self._deal_one(submitter, turn, limits, bound)
            if end is not None and not to_entitled:
                self._stop(submitter.decision, end, limits.stopped_by)
            return end is None

        return Line(submitters, self._ledger.weighted_used, deal, by_priority=to_entitled)

    def _turn(self, submitter: Submitter) -> tuple[Turn, Limits]:
        limits = self._single_matches(0.0)
        return Turn(self._ledger, submitter, limits, self._rules, only_free=True), limits

    def _deal_one(self, submitter: Submitter, turn: Turn, limits: Limits, bound: float) -> StopReason | None:
        """Make one match for a submitter, within *bound* (slot weight) and its ceiling; if it fails, return why."""
        rules, decision, smallest = self._rules, submitter.decision, self._rules.least
        used = self._ledger.weighted_used(submitter.name)
        ceiling, quota_left = headroom(decision.ceiling, used), self._quota_left()
        if bound < smallest or (rules.floor_round and used >= decision.floor):
            return decision.stopped
        quota_is_used_up = quota_left + rules.tolerance < smallest
        if quota_is_used_up or ceiling < smallest:
            turn.stop_at_limit()
            return StopReason.QUOTA if quota_is_used_up else StopReason.CEILING
        limits.ceiling = limits.used + ceiling
        limits.unclaimed_limit = limits.used + min(ceiling, bound, quota_left)
        end = turn.deal()
        if end is None:
            return None
        if end.reason is StopReason.LIMIT:
            return StopReason.QUOTA if limits.stopped_by is not None or quota_left < ceiling else StopReason.CEILING
        if end.reason not in _TAKEN_BY_OTHERS:
            return end.reason
        submitter.found_nothing_free = self._ledger.free_weight.total <= 0
        return decision.stopped if self._keeps_former_reason(decision, turn) else end.reason

    def _single_matches(self, ceiling: float) -> Limits:
        """Return the limits of a submitter that gets single matches; they permit no match without preemption yet."""
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

    def _keeps_former_reason(self, decision: SubmitterDecision, turn: Turn) -> bool:
        """Return whether the earlier reason to stop remains, although nothing is free for the submitter now."""
        if decision.stopped in (StopReason.LIMIT, StopReason.PREEMPTIONS):
            return self._ledger.kinds.preemption.may_preempt() and turn.would_preempt()
        return decision.stopped is StopReason.QUOTA

    def _stop(self, decision: SubmitterDecision, reason: StopReason, stopped_by: str | None) -> None:
        """Record why the last turn of a submitter ended; *stopped_by* is the group whose cap refused a match."""
        if reason is StopReason.LIMIT and stopped_by is not None:
            reason = StopReason.QUOTA
        if reason is not decision.stopped or stopped_by is not None:
            decision.stopped = reason
            limiting = stopped_by or self._rules.quota.limiting_group
            decision.quota_group = limiting if reason is StopReason.QUOTA else None


class Line:
    """A line of submitters for single matches: the next one goes to the submitter with the least weight for its share.

    Ties are decided by effective priority, then by name.

    Args:
        submitters: in the order of their turns.
        held: returns the current slot weight of a submitter.
        deal: makes one match for the submitter at an index, and returns whether it was made; a submitter without a
            match leaves the line.
        by_priority: order by effective priority first, then by weight.
    """

    def __init__(
        self,
        submitters: Sequence[Submitter],
        held: Callable[[str], float],
        deal: Callable[[int], bool],
        *,
        by_priority: bool = False,
    ) -> None:
        self._submitters, self._held, self._deal, self._by_priority = submitters, held, deal, by_priority
        self._line = [self._entry(index) for index in range(len(submitters))]
        heapq.heapify(self._line)

    def deal_one(self) -> bool:
        """Give one match to the first submitter that takes one; False if none does."""
        line = self._line
        while line:
            index = line[0][-1]
            current = self._entry(index)
            # The same submitter may have got a match at another schedd since.
            if current > line[0]:
                heapq.heapreplace(line, current)
            elif self._deal(index):
                heapq.heapreplace(line, self._entry(index))
                return True
            else:
                heapq.heappop(line)
        return False

    def _entry(self, index: int) -> tuple[float, float, str, int]:
        submitter = self._submitters[index]
        priority = submitter.effective_priority
        ratio = rounded(self._held(submitter.name) * priority)
        first, second = (priority, ratio) if self._by_priority else (ratio, priority)
        return first, second, submitter.name, index


def deal_among_groups(lines: Mapping[str, Line], used_part: Callable[[str], float]) -> None:
    """Give one match at a time to the group that uses the smallest part of its quota, until none takes one.

    *lines* are those of the groups, in the order of their turns; *used_part* returns the used part of a group's quota.
    """
    active = dict(lines)
    while active:
        group = min(active, key=used_part)
        if not active[group].deal_one():
            del active[group]
