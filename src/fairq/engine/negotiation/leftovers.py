"""What becomes of leftovers: the rest that the slices leave is handed out one match at a time.

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

_GONE = (StopReason.IN_USE, StopReason.NO_SLOTS)
"""Ends of the last turn that say: what the submitter could use has gone to others."""


class Leftovers:
    """The rest of one pie.

    Args:
        ledger: what all turns share.
        rules: those of the pie.
        room: returns how much more the group may have in use.
        missing: returns what a submitter, which uses so much, misses to its entitlement.
    """

    def __init__(
        self,
        ledger: Ledger,
        rules: PieRules,
        room: Callable[[], float],
        missing: Callable[[Submitter, float], float],
    ) -> None:
        self._ledger, self._rules, self._room, self._missing = ledger, rules, room, missing

    def deal(self, submitters: Sequence[Submitter], *, to_entitled: bool = False) -> list[Submitter]:
        """Deal what is free one match at a time, each to whoever has least for its share; return who has jobs left.

        *to_entitled*: to those alone whom a match brings nearer to their entitlement, by priority.
        """
        in_line = submitters
        if self._ledger.free_weight.total <= 0:
            # Only to find out what to tell them, once.
            in_line = [] if to_entitled else [one for one in submitters if not one.found_nothing_free]
        line = self.line(in_line, to_entitled=to_entitled)
        while line.deal_one():
            pass
        return [one for one in submitters if one.queue.jobs_left]

    def preempt(self, waiting: Iterable[Submitter]) -> None:
        """Let those in want preempt by priority what they miss to their entitlement."""
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

        def deal(place: int) -> bool:
            submitter, (turn, limits) = submitters[place], turns[place]
            used = self._ledger.weighted_used(submitter.name)
            # The entitlement is nearer after a match of less than twice what is missing.
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
        """Make one match for a submitter, within *bound* (slot weight) and its ceiling; else why there is none."""
        rules, decision, smallest = self._rules, submitter.decision, self._rules.least
        used = self._ledger.weighted_used(submitter.name)
        ceiling, room = headroom(decision.ceiling, used), self._room()
        if bound < smallest or (rules.floor_round and used >= decision.floor):
            return decision.stopped
        has_no_room = room + rules.tolerance < smallest
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

    def _others_had_a_right(self, decision: SubmitterDecision, turn: Turn) -> bool:
        """Whether what stopped a submitter earlier remains the reason, although nothing is free for it any more."""
        if decision.stopped is StopReason.LIMIT:
            return self._ledger.kinds.preemption.may_preempt() and turn.would_preempt()
        return decision.stopped is StopReason.QUOTA

    def _stop(self, decision: SubmitterDecision, reason: StopReason, stopped_by: str | None) -> None:
        """Note what ended the last turn of a submitter; *stopped_by* is the group whose cap refused a match."""
        if reason is StopReason.LIMIT and stopped_by is not None:
            reason = StopReason.QUOTA
        if reason is not decision.stopped or stopped_by is not None:
            decision.stopped = reason
            limiting = stopped_by or self._rules.quota.limiting_group
            decision.quota_group = limiting if reason is StopReason.QUOTA else None


class Line:
    """Submitters that get one match at a time: always the one with the least weight for its share.

    Ties are decided by effective priority, then by name.

    Args:
        submitters: in the order of their turns.
        held: returns the current slot weight of a submitter.
        deal: makes one match for the submitter at that place, and returns whether there was one; a submitter without a
            match takes no further part.
        by_priority: a better effective priority comes before less weight.
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
        self._line = [self._entry(place) for place in range(len(submitters))]
        heapq.heapify(self._line)

    def deal_one(self) -> bool:
        """Give one match to the first submitter that takes one; False if none does."""
        line = self._line
        while line:
            place = line[0][-1]
            now = self._entry(place)
            # At another schedd the same submitter may have been dealt one since.
            if now > line[0]:
                heapq.heapreplace(line, now)
            elif self._deal(place):
                heapq.heapreplace(line, self._entry(place))
                return True
            else:
                heapq.heappop(line)
        return False

    def _entry(self, place: int) -> tuple[float, float, str, int]:
        submitter = self._submitters[place]
        priority = submitter.effective_priority
        ratio = rounded(self._held(submitter.name) * priority)
        first, second = (priority, ratio) if self._by_priority else (ratio, priority)
        return first, second, submitter.name, place


def deal_among_groups(lines: Mapping[str, Line], used_part: Callable[[str], float]) -> None:
    """Give one match at a time to the group that uses the smallest part of its quota, until none takes one.

    *lines* are those of the groups, in the order of their turns; *used_part* returns the used part of a group's quota.
    """
    left = dict(lines)
    while left:
        group = min(left, key=used_part)
        if not left[group].deal_one():
            del left[group]
