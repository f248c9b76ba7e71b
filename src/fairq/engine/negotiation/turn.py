"""One submitter's turn in a spin: requests are offered until jobs, slots or limits give out.

docs/htcondor.md 3.3; matchmaker.cpp, negotiate.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.negotiation.budgets import TurnClock
from fairq.engine.negotiation.concurrency import JobLimits, LimitedList
from fairq.engine.negotiation.decision import StopReason
from fairq.engine.negotiation.evaluation import RequestContext
from fairq.engine.negotiation.kind_slots import GONE, ListBasis
from fairq.engine.negotiation.ledger import Entries, Ledger
from fairq.engine.negotiation.limits import Limits, PieRules
from fairq.engine.negotiation.match_list import Candidates, MatchList
from fairq.engine.negotiation.preemption import NONE, PRIO, PreemptState
from fairq.engine.negotiation.queue import JobId, Numbers, Session
from fairq.engine.negotiation.rejections import NO_MATCH, OF_MANY, RejectReason
from fairq.engine.negotiation.submitters import Submitter

_CLOCK_INTERVAL = 8
"""Number of matches in a row between two readings of the clock, which takes longer than a match."""


class TurnEnd(Struct, frozen=True):
    """The end of a turn. *satisfied*: the submitter takes no part in later spins."""

    satisfied: bool
    reason: StopReason


class _Refusal(Struct, frozen=True):
    """Why a request got no slot; *limits* are the concurrency limits that were used up."""

    reason: RejectReason
    limits: tuple[str, ...] = ()


class Turn:
    """The negotiation with one submitter at one schedd: all of it (`run`), or match by match (`deal`).

    Args:
        ledger: what all turns share.
        submitter: whose turn it is.
        limits: its limits; their use is counted in place.
        rules: the rules of the pie.
        rank_beyond_limit: when the limit is used up, continue with slots whose machine prefers the job (the first spin
            with preemption considered).
        only_free: preempt nothing (the last dealing).
    """

    def __init__(
        self,
        ledger: Ledger,
        submitter: Submitter,
        limits: Limits,
        rules: PieRules,
        *,
        rank_beyond_limit: bool = False,
        only_free: bool = False,
    ) -> None:
        self._ledger, self._submitter, self._limits, self._rules = ledger, submitter, limits, rules
        self._kinds, self._lists, self._policy = ledger.kinds, ledger.lists, ledger.policy
        self._rank_beyond_limit, self._only_free = rank_beyond_limit, only_free
        if ledger.preemptions.is_bounded:
            limits.may_preempt = partial(ledger.preemptions.permit, submitter.name)
        self._entries = Entries(ledger, submitter, limits, rules)
        policy, kinds = self._policy, self._kinds
        self._stop_when_limited = not policy.consider_preemption and not policy.use_slot_weights
        self._ends_with_limit = limits.exact and (only_free or not kinds.preemption.any_held)
        self._divides = kinds.parts is not None or self._lists.rooms is not None
        # Matches may be made in a row if nothing that the next one depends on happens between them.
        self._in_runs = not only_free and policy.matchlist_caching and not policy.depth_first
        self._in_runs &= kinds.ranks_of_all is not None and not self._divides
        self._session: Session | None = None
        self._is_offering = False
        self._limited = self._limited_free = False
        self._list: Candidates | None = None
        self._list_key: tuple[int, bool] | None = None
        self._version_at_match: tuple[int, int] = (-1, 0)
        """The `_version` after the last match of a dealing."""
        self._basis: ListBasis | None = None
        self._ranks: NDArray[np.floating] = np.empty(0)
        self._reasons: set[RejectReason] = set()
        self._busy = False
        self._named_limits: set[str] = set()
        self._offered: JobId = (0, 0)
        self._payer = Payer(submitter.name)
        self._last_request: tuple[object, RequestContext] | None = None
        self._time: TurnClock | None = None

    def run(self) -> TurnEnd:
        """Run the turn to its end."""
        end = self._run_timed(None)
        assert end is not None
        return end

    def deal(self) -> TurnEnd | None:
        """Make one match; return None if it was made, otherwise the end of the turn."""
        return self._run_timed(1)

    def stop_at_limit(self) -> None:
        """Record that a limit stops the next job, once for each job."""
        session, submitter = Session(self._submitter.queue), self._submitter
        if session.advance() and submitter.stopped_at != (job := session.first_job()):
            submitter.stopped_at = job
            self._entries.refuse(job, RejectReason.SUBMITTER_LIMIT, self._context_of(session.kind), ())

    def would_preempt(self) -> bool:
        """Return whether the next job could preempt a slot by priority if there were no limit."""
        session = Session(self._submitter.queue)
        return session.advance() and self._kinds.could_preempt(session.kind, self._context_of)

    def _run_timed(self, max_matches: int | None) -> TurnEnd | None:
        """Run until *max_matches* are made (return None) or the turn ends, and measure the time."""
        ledger, submitter, decision = self._ledger, self._submitter, self._submitter.decision
        if ledger.stopwatch is not None:
            self._time = ledger.stopwatch.turn(submitter.name, submitter.schedd)
            if self._time.over:
                decision.time_budget = self._time.budget
                return TurnEnd(True, StopReason.TIME)
        if self._is_schedd_full():
            return TurnEnd(True, StopReason.SCHEDD)
        if self._session is None:
            self._session = Session(submitter.queue)
        # Others may have had matches since: charge evaluation to this submitter again.
        evaluate_for(ledger.budget, self._payer)
        end = self._offer_requests(self._session, max_matches)
        evaluate_for(ledger.budget, NOBODY)
        if ledger.stopwatch is not None and self._time is not None:
            ledger.stopwatch.end(self._time, submitter.name, submitter.schedd)
            is_out_of_time = end is not None and end.reason is StopReason.TIME
            decision.time_budget = self._time.budget if is_out_of_time else None
        return None if end is None else self._final_end(end)

    def _is_schedd_full(self) -> bool:
        """Return whether jobs are left but their schedd offers no more."""
        return self._ledger.schedds.left(self._submitter.schedd) == 0 and self._submitter.queue.jobs_left

    def _final_end(self, end: TurnEnd) -> TurnEnd:
        """Return the end of the turn to report: constraints and a pool without slots come before other reasons."""
        decision, queue = self._submitter.decision, self._submitter.queue
        if self._rules.last_dealing and not queue.jobs_left:
            end = TurnEnd(True, StopReason.NO_MORE_JOBS)
        only_excluded_left = queue.excluded_jobs and decision.matched + queue.excluded_jobs >= decision.idle
        if end.reason is StopReason.NO_MORE_JOBS and only_excluded_left:
            return TurnEnd(end.satisfied, StopReason.JOB_CONSTRAINT)
        if self._is_schedd_full():
            return TurnEnd(True, StopReason.SCHEDD)
        if not self._ledger.taken.left and decision.matched < decision.idle:
            return TurnEnd(end.satisfied, StopReason.NO_SLOTS)
        return end

    def _offer_requests(self, session: Session, max_matches: int | None) -> TurnEnd | None:
        """Offer requests in order until *max_matches* are made (return None) or the turn ends."""
        while True:
            if not self._is_offering:
                end = self._end_by_limit()
                if end is not None:
                    return end
                if self._refuse_many(session):
                    continue
                if not session.advance():
                    return self._end_without_requests()
                self._is_offering = True
                self._offered = session.first_job()
            outcome = self._offer(session, max_matches)
            if outcome is None or isinstance(outcome, TurnEnd):
                return outcome
            self._is_offering = False
            if isinstance(outcome, _Refusal):
                self._refuse(session, outcome)
                if self._limited and self._stop_when_limited:
                    return TurnEnd(False, StopReason.LIMIT)

    def _end_by_limit(self) -> TurnEnd | None:
        """Return the end of a turn that has used up its time or a limit, None if it continues."""
        limits = self._limits
        if self._time is not None and self._time.runs_out():
            return TurnEnd(False, StopReason.TIME)
        if limits.is_used_up and not self._rank_beyond_limit:
            return TurnEnd(False, StopReason.LIMIT)
        if self._ends_with_limit and limits.permits_nothing_free:
            return TurnEnd(False, StopReason.LIMIT)
        return TurnEnd(False, StopReason.CEILING) if limits.used >= limits.ceiling else None

    def _end_without_requests(self) -> TurnEnd:
        """Return the end of a turn in which all jobs were offered."""
        if self._limits.is_used_up or self._limited:
            # If the limit blocked only slots in use, dealing leftovers cannot help this submitter.
            satisfied = self._limits.exact and not self._limited_free and not self._limits.is_used_up
            lacks_preemptions = self._limits.lacks_preemptions and not self._limits.is_used_up
            return TurnEnd(satisfied, StopReason.PREEMPTIONS if lacks_preemptions else StopReason.LIMIT)
        if not self._reasons:
            return TurnEnd(True, StopReason.NO_MORE_JOBS)
        if self._reasons == {RejectReason.CONCURRENCY_LIMIT}:
            return TurnEnd(True, StopReason.CONCURRENCY_LIMIT)
        return TurnEnd(True, StopReason.IN_USE if self._busy else StopReason.NO_MATCH)

    def _offer(self, session: Session, max_matches: int | None) -> TurnEnd | _Refusal | bool | None:
        """Match the request's jobs; return why the last one failed, how the turn ended, or True if all were matched.

        None if *max_matches* were made.
        """
        kind, ledger = session.kind, self._ledger
        job_limits = ledger.concurrency.job_limits(self._context_of(kind)) if ledger.has_limits else None
        while session.count:
            end = self._end_by_limit()
            if end is not None:
                return end
            if not self._policy.request_counts:
                self._offered = session.first_job()
            only_rank = self._limits.is_used_up
            if job_limits is not None and (name := job_limits.refusing()) is not None:
                # Refusals of the previous search still count, as of when its list was built (docs/htcondor.md 3.10).
                self._limited |= self._list is not None and self._list.refused_at_first
                return _Refusal(RejectReason.CONCURRENCY_LIMIT, self._name_limits([name]))
            if self._only_free and not ledger.taken.left:
                return _Refusal(RejectReason.NO_MATCH)
            self._named_limits.clear()
            matches = self._match_list(kind, only_rank, job_limits)
            slots, state = self._pop(matches, session.count, job_limits)
            if not slots:
                return self._search_refusal(kind, only_rank, matches)
            self._take(session, slots, state, job_limits)
            if max_matches == 1:
                self._version_at_match = self._version
                return None
        return True

    def _pop(self, matches: Candidates, count: int, job_limits: JobLimits | None) -> tuple[list[int], PreemptState]:
        if self._in_runs and job_limits is None and isinstance(matches, MatchList):
            return matches.pop_many(count, self._matches_in_time) or ([], NONE)
        best = matches.pop()
        return ([], NONE) if best is None else ([best[0]], best[1])

    def _matches_in_time(self, matches: int) -> int:
        """Return how many of *matches* are made before the time is over; it is not over when the first one begins."""
        time = self._time
        if time is None:
            return matches
        return next((number for number in range(1, matches, _CLOCK_INTERVAL) if time.runs_out()), matches)

    def _match_list(self, kind: int, only_rank: bool, job_limits: JobLimits | None) -> Candidates:
        """Return the current list if it is for this kind of request and valid, otherwise a new one."""
        if self._list is None or self._list_key != (kind, only_rank) or not self._still_valid(kind, self._list):
            kinds, limits = self._kinds, self._limits
            candidates = self._lists.make(
                kind, self._context_of, limits, only_rank=only_rank, only_free=self._only_free
            )
            # The preemption policy is explained as of when the list was built.
            self._basis = kinds.basis(kind, self._context_of, only_free=self._only_free)
            rooms = None if self._lists.rooms is None else self._lists.rooms.listed
            self._list = candidates if job_limits is None else job_limits.narrow(candidates, rooms)
            self._list_key = kind, only_rank
            if not self._policy.preemption_rank_stable:
                self._ranks = kinds.preemption.ranks(kind, self._context_of)
        return self._list

    def _still_valid(self, kind: int, matches: Candidates) -> bool:
        """Return whether the list may still be used (matchmaker.cpp, cache_still_valid).

        If the policy depends on the matches made, the next slot is tested again if it would be preempted.
        """
        policy, preemption = self._policy, self._kinds.preemption
        if not policy.matchlist_caching:
            return False
        if self._only_free:
            list_stays_valid = policy.tie_break != "std_sort" and self._kinds.static is None and not self._divides
            return list_stays_valid or self._version_at_match == self._version
        if policy.requirements_stable and policy.preemption_rank_stable:
            return True
        best = matches.next()
        if best is None:
            return policy.requirements_stable
        slot, state = best
        if not policy.requirements_stable and state == PRIO:
            room = None if self._lists.rooms is None else self._lists.rooms.on(slot)
            if room is None:
                stays = bool(preemption.preemptable(kind, self._context_of)[slot])
            else:
                stays = room.meets(self._context_of(kind).ad(), policy)
            if not stays:
                return False
        changes = not policy.preemption_rank_stable and state != NONE
        return not changes or bool(preemption.ranks(kind, self._context_of)[slot] == self._ranks[slot])

    @property
    def _version(self) -> tuple[int, int]:
        """A version that changes with every slot, or part of a slot, that is taken."""
        parts = self._kinds.parts
        return self._ledger.taken.left, 0 if parts is None else len(parts.partitions.changed)

    def _search_refusal(self, kind: int, only_rank: bool, matches: Candidates) -> _Refusal:
        """Return why a job is refused for which the list has no slot (docs/htcondor.md 3.12)."""
        self._limited |= matches.refused_by_limit
        self._limited_free |= matches.refused_free
        if not only_rank and (matches.refused_free or not matches.refused_by_limit):
            self._kinds.record_availability(kind, self._context_of)
        if isinstance(matches, LimitedList) and matches.used_up:
            return _Refusal(RejectReason.CONCURRENCY_LIMIT, self._name_limits(matches.used_up))
        if not only_rank and self._basis is not None and self._kinds.policy_excludes(self._basis):
            return _Refusal(RejectReason.PREEMPTION_POLICY)
        return _Refusal(RejectReason.SUBMITTER_LIMIT if matches.refused_by_limit else RejectReason.NO_MATCH)

    def _name_limits(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the concurrency limits to report for a request refused because of *names*.

        If reasons add up, they include those reported for the requests refused just before it, back to the last one
        whose own limits did not exclude every slot.
        """
        if not self._policy.limit_reasons_add_up:
            return tuple(sorted(names))
        self._named_limits.update(names)
        return tuple(sorted(self._named_limits))

    def _context_of(self, kind: int) -> RequestContext:
        """Return the request for a kind of job with the current attributes; only a match changes the use in them."""
        ledger, moment = self._ledger, (kind, self._offered, len(self._ledger.decision.matches))
        if self._last_request is None or self._last_request[0] != moment:
            self._payer = Payer(self._submitter.name, kind, self._offered)
            context = ledger.request_context(self._submitter.decision, kind, self._rules.quota.group)
            self._last_request = moment, context
        evaluate_for(ledger.budget, self._payer)
        return self._last_request[1]

    def _take(self, session: Session, slots: list[int], state: PreemptState, job_limits: JobLimits | None) -> None:
        """Match the next jobs of the request with *slots*, which have one class."""
        kind, ledger, text = session.kind, self._ledger, None
        if job_limits is not None:
            room = None if self._lists.rooms is None else self._lists.rooms.on(slots[0])
            text = job_limits.take(slots[0], room)
        elif self._policy.limits_of_slots_stay and state != NONE:
            ledger.concurrency.use_limits_of_slot(slots[0])
        is_alike = self._in_runs and state == NONE and text is None
        rank = None if is_alike else self._kinds.machine_rank(slots[0], kind, self._context_of)
        request = self._offered if self._policy.request_counts else None
        self._entries.match(session.take(len(slots)), request, slots, state, text, rank)
        if self._policy.depth_first:
            session.pack(ledger.packed_jobs(slots[0], self._context_of(kind).job) - 1)

    def _refuse(self, session: Session, refusal: _Refusal) -> None:
        """Record that the next job of the request was refused."""
        reason, kind = refusal.reason, session.kind
        self._entries.refuse(self._offered, reason, self._context_of(kind), refusal.limits)
        # A job stopped by the slice did not fail.
        session.refuse(is_failure=reason is not RejectReason.SUBMITTER_LIMIT and not self._limits.is_used_up)
        self._reasons.add(reason)
        self._busy = self._busy or self._kinds.matches_any(kind, self._context_of)

    def _refuse_many(self, session: Session) -> bool:
        """Refuse the next requests whose kinds have no slot left for anybody; return whether there were any.

        Beyond the limit only slots that prefer a job to their running one count: none if slots stay with their users.
        If the limits permit no free slot (parts of divided slots may weigh less), requests of kinds with a slot left
        are refused, too.
        """
        kinds, limits, beyond = self._kinds, self._limits, self._limits.is_used_up
        if not (session.queue.by_kind and kinds.slots_stay and self._policy.skip_by != "nothing"):
            return False
        if (self._only_free and not self._ledger.taken.left) or (self._limited and self._stop_when_limited):
            return False
        first = session.next_kind()
        # Usually the next request is not refused: avoid the work on arrays then.
        if first is None or (kinds.limited.item(first) if beyond else not kinds.is_known(first)):
            return False
        permits_free = beyond or self._divides or self._stop_when_limited or limits.permits_least
        if not (beyond or kinds.is_refused(first, permits_free=permits_free)):
            return False

        def refused(numbers: Numbers) -> NDArray[np.bool_]:
            return ~kinds.limited[numbers] if beyond else kinds.refused(numbers, permits_free=permits_free)

        requests = session.refuse_many(refused)
        numbers = session.queue.kinds[requests]
        why = np.full(len(numbers), NO_MATCH, np.uint8) if beyond else kinds.reasons(numbers, self._submitter.name)
        if not beyond and (kinds.status[numbers] != GONE).any():
            self._limited = self._limited_free = True
        clusters, procs = session.queue.first_jobs(requests)
        self._offered = int(clusters[-1]), int(procs[-1])
        self._named_limits.clear()
        self._list = None
        self._entries.refuse_many(numbers, clusters, procs, why, self._context_of)
        self._reasons |= {OF_MANY[reason] for reason in set(why.tolist())}
        self._busy = self._busy or any(kinds.matches_any(kind, self._context_of) for kind in numbers.tolist())
        return True
