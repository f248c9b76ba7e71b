"""One submitter's turn in a spin: requests are offered until jobs, slots or limits give out.

Reference 3.3; matchmaker.cpp, negotiate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fairq.engine.negotiation.candidates import Candidates
from fairq.engine.negotiation.decision import RejectReason, StopReason
from fairq.engine.negotiation.matchlist import Limits, MatchList
from fairq.engine.negotiation.requests import Request, RequestQueue
from fairq.engine.negotiation.shared_work import Asker

Job = tuple[int, int]

TakeSlot = Callable[[Job, Job, int, int, int], None]
"""Called for a match: the job, its request's first job, its autocluster, the slot and its preempt state."""

Refuse = Callable[[Job, RejectReason, int], None]
"""Called for a request offered in vain: its first job when the turn began, why, and its autocluster."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ended. *satisfied*: the submitter takes no part in later spins."""

    satisfied: bool
    reason: StopReason


class Turn:
    """The negotiation with one submitter at one schedd.

    Args:
        candidates: where slots come from.
        asker_of: who asks, per autocluster, with the ephemeral attributes of the moment.
        limits: how far the submitter may go, used up in place.
        rank_beyond_limit: once the limit is used up, go on with slots whose machine prefers the job
            (the first spin with preemption considered).
        stop_when_limited: end the turn when the limit kept a request from a slot (preemption not
            considered and slot weights off).
    """

    def __init__(
        self,
        candidates: Candidates,
        asker_of: Callable[[int], Asker],
        limits: Limits,
        rank_beyond_limit: bool,
        stop_when_limited: bool,
    ) -> None:
        self._candidates = candidates
        self._asker_of = asker_of
        self._limits = limits
        self._rank_beyond_limit = rank_beyond_limit
        self._stop_when_limited = stop_when_limited
        self._limited = False
        self._list: MatchList | None = None
        self._listed_for: tuple[int, bool] | None = None

    def run(self, queue: RequestQueue, take: TakeSlot, refuse: Refuse) -> TurnEnd:
        """Offer the queue's requests in order until the turn ends."""
        rejected: set[int] = set()
        unmatched = busy = False
        for request in queue.session():
            end = self._full()
            if end is not None:
                return end
            if request.autocluster in rejected:
                continue
            reason, end = self._offer(request, take)
            if end is not None:
                return end
            if reason is None:
                continue
            refuse(self._offered, reason, request.autocluster)
            rejected.add(request.autocluster)
            unmatched = True
            busy = busy or self._candidates.suits_any(self._asker_of(request.autocluster))
            if self._limited and self._stop_when_limited:
                return TurnEnd(False, StopReason.LIMIT)
        end = self._full()
        if end is not None:
            return end
        if self._limits.used >= self._limits.limit or self._limited:
            return TurnEnd(False, StopReason.LIMIT)
        without_match = StopReason.IN_USE if busy else StopReason.NO_MATCH
        return TurnEnd(True, without_match if unmatched else StopReason.NO_MORE_JOBS)

    def _full(self) -> TurnEnd | None:
        limits = self._limits
        if limits.used >= limits.limit and not self._rank_beyond_limit:
            return TurnEnd(False, StopReason.LIMIT)
        if limits.used >= limits.ceiling:
            return TurnEnd(False, StopReason.CEILING)
        return None

    def _offer(self, request: Request, take: TakeSlot) -> tuple[RejectReason | None, TurnEnd | None]:
        """Match the request's jobs one after the other: why the last one failed, or how the turn ended."""
        limits = self._limits
        self._offered = first = request.first_job()
        while request.count:
            end = self._full()
            if end is not None:
                return None, end
            only_rank = limits.used >= limits.limit
            matches = self._match_list(request.autocluster, only_rank)
            found = matches.pop()
            if found is None:
                self._limited |= matches.refused_by_limit
                return self._why(request.autocluster, only_rank, matches), None
            slot, state = found
            take(request.take(), first, request.autocluster, slot, state)
        return None, None

    def _match_list(self, autocluster: int, only_rank: bool) -> MatchList:
        """The list in use if it is for such a request, else a new one (there is only one list)."""
        wanted = (autocluster, only_rank)
        if self._list is None or self._listed_for != wanted:
            self._list = self._candidates.match_list(self._asker_of(autocluster), only_rank, self._limits)
            self._listed_for = wanted
        return self._list

    def _why(self, autocluster: int, only_rank: bool, matches: MatchList) -> RejectReason:
        """The reason the negotiator gives, by its order of precedence (reference 3.12)."""
        if not only_rank and self._candidates.refused_by_policy(self._asker_of(autocluster)):
            return RejectReason.PREEMPTION_POLICY
        if matches.refused_by_limit:
            return RejectReason.SUBMITTER_LIMIT
        return RejectReason.NO_MATCH
