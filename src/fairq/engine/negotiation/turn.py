"""One submitter's turn in a spin: requests are offered until jobs, slots or limits give out.

docs/htcondor.md 3.3; matchmaker.cpp, negotiate.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.negotiation.budgets import TurnClock
from fairq.engine.negotiation.candidates import Candidates
from fairq.engine.negotiation.concurrency import ConcurrencyLimits, JobLimits, LimitedList
from fairq.engine.negotiation.decision import StopReason
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.matchlist import BucketedMatchList, MatchList, SortedList
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import NONE, PRIO
from fairq.engine.negotiation.reject_reason import NO_MATCH, RejectReason
from fairq.engine.negotiation.request_columns import ColumnSession
from fairq.engine.negotiation.requests import JobQueue, JobRequest
from fairq.engine.negotiation.turn_steps import Found, FoundMany, JobId, Refused, RefusedMany, Skips, TurnStep

_LOOK = 8
"""Matches of a run between two looks at the clock, which take longer than the matches."""


class TurnEnd(Struct, frozen=True):
    """How a turn ended. *satisfied*: the submitter takes no part in later spins."""

    satisfied: bool
    reason: StopReason


class Turn:
    """The negotiation with one submitter at one schedd.

    Args:
        candidates: where slots come from.
        context_of: who asks, per autocluster, with the ephemeral attributes of the moment.
        limits: how far the submitter may go, used up in place.
        concurrency: the concurrency limits.
        policy: the cycle's rules; with preemption not considered and slot weights off the turn ends when the
            limit kept a request from a slot.
        rank_beyond_limit: once the limit is used up, go on with slots whose machine prefers the job
            (the first spin with preemption considered).
        only_free: take no slot from anybody (the last dealing).
        tells_rejections: whether anybody asks which jobs were refused.
        time: the time that the turn has; None: any.
    """

    def __init__(
        self,
        candidates: Candidates,
        context_of: Callable[[int], RequestContext],
        limits: Limits,
        concurrency: ConcurrencyLimits,
        policy: NegotiationPolicy,
        rank_beyond_limit: bool,
        time: TurnClock | None = None,
        *,
        only_free: bool = False,
        tells_rejections: bool = True,
    ) -> None:
        self._tells_rejections = tells_rejections
        self._candidates = candidates
        self._context_of = context_of
        self._limits = limits
        self._concurrency = concurrency
        self._rank_beyond_limit = rank_beyond_limit
        self._policy = policy
        self._stop_when_limited = not policy.consider_preemption and not policy.use_slot_weights
        self.time = time
        self._only_free = only_free
        self._ends_with_limit = limits.exact and (only_free or not candidates.preemption.any_held)
        # Nothing happens between two matches that the next one could depend on.
        self._in_runs = (
            not only_free
            and policy.matchlist_caching
            and not policy.depth_first
            and candidates.ranks_of_all is not None
            and not candidates.divides
        )
        self._limited = self._limited_free = False
        self._seen: object = None
        self.offered: JobId = (0, 0)
        self._list: MatchList | None = None
        self._listed_for: tuple[int, bool] | None = None
        self._ranks: NDArray[np.floating] = np.empty(0)
        self._refused_by_policy: Callable[[], bool] = lambda: False
        self._used_up: tuple[str, ...] = ()
        self._told_limits: set[str] = set()

    def steps(self, queue: JobQueue) -> Generator[TurnStep, None, TurnEnd]:
        """Offer the queue's requests in order until the turn ends; return how it ended."""
        skips = Skips(self._policy.skip_by)
        reasons: set[RejectReason] = set()
        busy = False
        session = queue.session()
        columns = session if isinstance(session, ColumnSession) else None
        while True:
            end = self._full()
            if end is not None:
                return end
            many = None if columns is None else self._pass_over(columns)
            if many is not None:
                yield many
                reasons |= many.reasons()
                busy = busy or self._suits_any(many)
                continue
            request = next(session, None)
            if request is None:
                return self._done(reasons, busy)
            if skips.skips(request):
                continue
            outcome = yield from self._offer(request)
            if isinstance(outcome, TurnEnd):
                return outcome
            if outcome is None:
                continue
            yield Refused(self.offered, outcome, request.autocluster, self._used_up)
            skips.refuse(request, is_failure=self._is_failure(outcome))
            if columns is not None:
                columns.refuse(request.autocluster)
            reasons.add(outcome)
            busy = busy or self._candidates.suits_any(self._context_of(request.autocluster))
            if self._limited and self._stop_when_limited:
                return TurnEnd(False, StopReason.LIMIT)

    def _pass_over(self, session: ColumnSession) -> RefusedMany | None:
        """Refuse the next requests as far as no slot is left for them, whoever may take how much; None: there are none.

        Beyond the limit only slots count that prefer a job to the one they run: there are none. Where the limits permit
        nothing free (parts of divided slots may weigh less), jobs for which a slot is left are among them.
        """
        reach, beyond = self._candidates.reach, self._limits.used >= self._limits.limit
        all_taken = self._only_free and not self._candidates.any_left
        if reach is None or all_taken or (self._limited and self._stop_when_limited):
            return None
        first = session.next_autocluster()
        listed = None if self._list is None or self._listed_for is None or beyond else self._listed_for[0]
        # Mostly the next request is not refused: the arrays are not worth a look then.
        if first is None or not (beyond or (first != listed and reach.is_known(first))):
            return None
        refused: Callable[[NDArray[np.int64]], NDArray[np.bool_]] | None = None
        if not beyond:
            free = self._candidates.divides or self._stop_when_limited or self._limits.permit_some_unclaimed
            refused = reach.are_hopeless if free else reach.are_refused
            if not refused(np.array([first])):
                return None
        found = session.pass_over(refused, listed)
        self._told_limits.clear()
        self._used_up = ()
        self._list = self._listed_for = None
        self.offered = int(found.clusters[-1]), int(found.procs[-1])
        if beyond:
            return RefusedMany(found, np.full(len(found.autoclusters), NO_MATCH, np.uint8))
        if not reach.are_hopeless(found.autoclusters).all():
            self._limited = self._limited_free = True
        return RefusedMany(found, reach.why(found.autoclusters, self._context_of(first).submitter))

    def _suits_any(self, many: RefusedMany) -> bool:
        """Whether any of the requests matches a slot, whoever uses it."""
        return any(map(self._candidates.suits_any, map(self._context_of, many.requests.autoclusters.tolist())))

    @property
    def _is_beyond_limit(self) -> bool:
        """Whether only slots count that prefer a job to the one they run."""
        return self._limits.used >= self._limits.limit

    def _is_failure(self, reason: RejectReason) -> bool:
        """Whether a job could not be matched at all; to be stopped by the slice is no failure."""
        return reason is not RejectReason.SUBMITTER_LIMIT and self._limits.used < self._limits.limit

    def _done(self, reasons: set[RejectReason], busy: bool) -> TurnEnd:
        """How a turn ends in which all jobs were offered and some refused for *reasons*."""
        if self._limits.used >= self._limits.limit or self._limited:
            # Whom the limit keeps from nothing but slots of others has no use for what is dealt later.
            satisfied = self._limits.exact and not self._limited_free and self._limits.used < self._limits.limit
            return TurnEnd(satisfied, StopReason.LIMIT)
        if not reasons:
            return TurnEnd(True, StopReason.NO_MORE_JOBS)
        if reasons == {RejectReason.CONCURRENCY_LIMIT}:
            return TurnEnd(True, StopReason.CONCURRENCY_LIMIT)
        return TurnEnd(True, StopReason.IN_USE if busy else StopReason.NO_MATCH)

    def _full(self) -> TurnEnd | None:
        limits = self._limits
        if self.time is not None and self.time.runs_out():
            return TurnEnd(False, StopReason.TIME)
        is_beyond_limit = limits.used >= limits.limit
        if is_beyond_limit and not self._rank_beyond_limit:
            return TurnEnd(False, StopReason.LIMIT)
        if self._ends_with_limit and limits.permits_nothing_free:
            return TurnEnd(False, StopReason.LIMIT)
        if limits.used >= limits.ceiling:
            return TurnEnd(False, StopReason.CEILING)
        if self._tells_rejections or self._candidates.reach is None or self._candidates.divides:
            return None
        # Nobody asks which jobs are refused: whatever is offered now, the turn ends at the limit without another match.
        is_decided = is_beyond_limit or (self._limited_free and limits.permits_nothing_free)
        return TurnEnd(False, StopReason.LIMIT) if is_decided else None

    def _offer(self, request: JobRequest) -> Generator[TurnStep, None, RejectReason | TurnEnd | None]:
        """Match the request's jobs one after the other; return why the last one failed, or how the turn ended."""
        self.offered = first = request.first_job()
        self._used_up = ()
        job_limits = self._concurrency.of(self._context_of(request.autocluster))
        while request.count:
            end = self._full()
            if end is not None:
                return end
            if not self._policy.request_counts:
                self.offered = first = request.first_job()
            only_rank = self._is_beyond_limit
            if job_limits is not None and (name := job_limits.refusing()) is not None:
                self._used_up = self._name_limits([name])
                # What the search before refused stands, as it was when its list was built (docs/htcondor.md 3.10).
                self._limited |= self._list is not None and self._list.refused_at_first
                return RejectReason.CONCURRENCY_LIMIT
            hopeless = self._hopeless(request.autocluster, only_rank, job_limits)
            if hopeless is not None:
                return hopeless
            matches = self._match_list(request.autocluster, only_rank, job_limits)
            if self._in_runs and job_limits is None and isinstance(matches, BucketedMatchList | SortedList):
                many = self._many(request, matches, first)
                if many is not None:
                    yield many
                    continue
            found = matches.pop()
            if found is None:
                return self._searched_in_vain(request.autocluster, only_rank, matches)
            slot, state = found
            text = None
            if job_limits is not None:
                text = job_limits.take(slot, self._candidates.room_on(slot))
            elif self._policy.limits_of_slots_stay and state != NONE:
                self._concurrency.use_as_before(slot)
            yield Found(request.take(), first, request.autocluster, slot, state, text)
            if self._policy.depth_first:
                request.pack(self._candidates.packed_jobs(slot, lambda: self._context_of(request.autocluster)) - 1)
            if self._only_free:
                self._seen = self._candidates.version
                yield None
        return None

    def _hopeless(self, autocluster: int, only_rank: bool, job_limits: JobLimits | None) -> RejectReason | None:
        """The reason for a job whose list would be empty, whoever may take how much; None: it needs a list."""
        if self._only_free and not self._candidates.any_left:
            return RejectReason.NO_MATCH
        self._told_limits.clear()
        if job_limits is not None or (self._list is not None and self._listed_for == (autocluster, only_rank)):
            return None
        if not self._candidates.none_left(self._context_of(autocluster)):
            return None
        self._list = self._listed_for = None
        if not only_rank and self._candidates.keeps_out(self._context_of(autocluster)):
            return RejectReason.PREEMPTION_POLICY
        return RejectReason.NO_MATCH

    def _many(self, request: JobRequest, matches: BucketedMatchList | SortedList, first: JobId) -> FoundMany | None:
        """The next matches of the request, offered for *first*, without a word between them; None: one by one."""
        alike, limits = matches.alike(), self._limits
        if alike is None:
            return None
        number = limits.in_a_row(
            alike.cost, request.count, first_is_tested=alike.tested, up_to_least=self._ends_with_limit
        )
        slots = matches.pop_alike(self._in_time(number)) if number else []
        if not slots:
            return None
        job = first if self._policy.request_counts else None
        return FoundMany(request.take_many(len(slots)), job, request.autocluster, slots, alike.cost)

    def _in_time(self, matches: int) -> int:
        """How many of so many matches are made before the time is over, which was not when the first one began."""
        if self.time is None:
            return matches
        return next((number for number in range(1, matches, _LOOK) if self.time.runs_out()), matches)

    def _match_list(self, autocluster: int, only_rank: bool, job_limits: JobLimits | None) -> MatchList:
        """The list in use if it is for such a request, else a new one (there is only one list)."""
        wanted = (autocluster, only_rank)
        if self._list is None or self._listed_for != wanted or not self._still_valid(autocluster, self._list):
            now = partial(self._context_of, autocluster)
            matches = self._candidates.match_list(now, only_rank, self._limits, only_free=self._only_free)
            self._refused_by_policy = self._candidates.refused_by_policy()
            rooms = None if self._candidates.rooms is None else self._candidates.rooms.listed
            self._list = matches if job_limits is None else job_limits.narrow(matches, rooms)
            self._listed_for = wanted
            if not self._policy.preemption_rank_stable:
                self._ranks = self._candidates.preemption.ranks(now())
        return self._list

    def _still_valid(self, autocluster: int, matches: MatchList) -> bool:
        """Whether the list may be used further (matchmaker.cpp, cache_still_valid).

        Where the policy changes with the matches made, the next slot on it is tested again if it would be preempted.
        """
        policy = self._policy
        if not policy.matchlist_caching:
            return False
        if self._only_free:
            return self._candidates.lists_follow or self._seen == self._candidates.version
        if policy.requirements_stable and policy.preemption_rank_stable:
            return True
        found = matches.next()
        if found is None:
            return policy.requirements_stable
        slot, state = found
        context = self._context_of(autocluster)
        preemption = self._candidates.preemption
        room = self._candidates.room_on(slot)
        if not policy.requirements_stable and state == PRIO:
            stays = preemption.preemptable(context)[slot] if room is None else room.meets(context.ad(), policy)
            if not stays:
                return False
        changes = not policy.preemption_rank_stable and state != NONE
        return not changes or bool(preemption.ranks(context)[slot] == self._ranks[slot])

    def _searched_in_vain(self, autocluster: int, only_rank: bool, matches: MatchList) -> RejectReason:
        """The reason for a job for which nothing is left on a list, which may be a new one."""
        self._limited |= matches.refused_by_limit
        if matches.refused_free:
            self._limited_free = True
            self._candidates.note_left(self._context_of(autocluster))
        return self._why(only_rank, matches)

    def _name_limits(self, names: Iterable[str]) -> tuple[str, ...]:
        """The limits to name to a request refused for *names*.

        Where they add up, those named to the requests refused before it are among them, back to the last that its
        own limits did not keep from every slot.
        """
        if not self._policy.limit_reasons_add_up:
            return tuple(sorted(names))
        self._told_limits.update(names)
        return tuple(sorted(self._told_limits))

    def _why(self, only_rank: bool, matches: MatchList) -> RejectReason:
        """The reason the negotiator gives, by its order of precedence (docs/htcondor.md 3.12)."""
        if isinstance(matches, LimitedList) and matches.used_up:
            self._used_up = self._name_limits(matches.used_up)
            return RejectReason.CONCURRENCY_LIMIT
        if not only_rank and self._refused_by_policy():
            return RejectReason.PREEMPTION_POLICY
        if matches.refused_by_limit:
            return RejectReason.SUBMITTER_LIMIT
        return RejectReason.NO_MATCH
