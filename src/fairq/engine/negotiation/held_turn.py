"""A turn in a cycle: it charges matches, records rejections, and measures time."""

from __future__ import annotations

from collections.abc import Generator

from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.negotiation.budgets import TurnClock
from fairq.engine.negotiation.decision import StopReason
from fairq.engine.negotiation.expression_cache import RequestContext
from fairq.engine.negotiation.ledger import Ledger
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.matches import AlikeMatches, Match, MatchReason
from fairq.engine.negotiation.pie_rules import PieRules
from fairq.engine.negotiation.preemption import NONE, PRIO, RANK
from fairq.engine.negotiation.reject_reason import RejectReason
from fairq.engine.negotiation.rejections import RejectedMany, Rejection
from fairq.engine.negotiation.submitter_turn import SubmitterTurn
from fairq.engine.negotiation.turn import Turn, TurnEnd
from fairq.engine.negotiation.turn_steps import Found, FoundMany, JobId, Refused, RefusedMany, TurnStep
from fairq.engine.sums import added

_REASONS = {NONE: MatchReason.NO_PREEMPTION, RANK: MatchReason.RANK, PRIO: MatchReason.PRIORITY}


class HeldTurn:
    """The turn of one submitter in a pie: all of it (`run`), or match by match in the last dealing (`deal`)."""

    def __init__(self, ledger: Ledger, submitter: SubmitterTurn, limits: Limits, rules: PieRules) -> None:
        self._ledger = ledger
        self._submitter = submitter
        self._limits = limits
        self._rules = rules
        self._group = rules.quota.group
        self._steps: Generator[TurnStep, None, TurnEnd] | None = None
        self._turn: Turn | None = None
        self._regrouped = ledger.regroups(self._group)
        self._payer = Payer(submitter.name)
        self._asked: tuple[tuple[int, JobId | None, int], RequestContext] | None = None

    def run(self, ignore_limit: bool) -> TurnEnd:
        """Run the turn to its end; with *ignore_limit*, slots that prefer a job are matched beyond the limit."""
        time = self._begin()
        if time is not None and time.over:
            return TurnEnd(True, StopReason.TIME)
        if self._is_schedd_full():
            return TurnEnd(True, StopReason.SCHEDD)
        self._turn = self._new_turn(ignore_limit, time)
        steps = self._turn.steps(self._submitter.queue)
        end = self._go_on(steps)
        while end is None:
            end = self._go_on(steps)
        self._end(time, end)
        return self._told(end)

    def deal(self) -> TurnEnd | None:
        """Make one match without preemption; None if there was one, otherwise the end of the turn."""
        time = self._begin()
        if time is not None and time.over:
            return TurnEnd(True, StopReason.TIME)
        if self._is_schedd_full():
            return TurnEnd(True, StopReason.SCHEDD)
        if self._turn is None or self._steps is None:
            self._turn = self._new_turn(False, time, only_free=True)
            self._steps = self._turn.steps(self._submitter.queue)
        self._turn.time = time
        # Others had matches since: what is evaluated now is this one's again.
        evaluate_for(self._ledger.budget, self._payer)
        end = self._go_on(self._steps)
        self._end(time, end)
        return None if end is None else self._told(end)

    def _go_on(self, steps: Generator[TurnStep, None, TurnEnd]) -> TurnEnd | None:
        """Record the results of the turn until others may have a match (None), or it ends."""
        try:
            while (step := next(steps)) is not None:
                if isinstance(step, FoundMany):
                    self._take_many(step)
                    self._ledger.check_slots()
                elif isinstance(step, Found):
                    self._take(step)
                    self._ledger.check_slots()
                elif isinstance(step, RefusedMany):
                    self._refuse_many(step)
                else:
                    self._refuse(step)
        except StopIteration as stopped:
            end: TurnEnd = stopped.value
            return end
        return None

    def _is_schedd_full(self) -> bool:
        """Whether its schedd offers no more of the jobs that are left."""
        return self._ledger.schedds.left(self._submitter.schedd) == 0 and self._submitter.queue.jobs_left

    def stop_at_limit(self) -> None:
        """Note once that a limit stops the next job."""
        submitter = self._submitter
        request = next(iter(submitter.queue.session()), None)
        if request is not None and submitter.stopped_at != (job := request.first_job()):
            submitter.stopped_at = job
            self._refuse(Refused(job, RejectReason.SUBMITTER_LIMIT, request.autocluster))

    def would_preempt(self) -> bool:
        """Whether the next job could preempt a slot by priority without the limit."""
        request = next(iter(self._submitter.queue.session()), None)
        return request is not None and self._ledger.candidates.finds_victim(self._context(request.autocluster))

    def _new_turn(self, ignore_limit: bool, time: TurnClock | None, *, only_free: bool = False) -> Turn:
        ledger = self._ledger
        return Turn(
            ledger.candidates,
            self._context,
            self._limits,
            ledger.concurrency,
            ledger.policy,
            ignore_limit,
            time,
            only_free=only_free,
            tells_rejections=ledger.tells_rejections,
        )

    def _begin(self) -> TurnClock | None:
        """Start the measurement of time; None if it is not measured."""
        stopwatch, submitter = self._ledger.stopwatch, self._submitter
        if stopwatch is None:
            return None
        time = stopwatch.turn(submitter.name, submitter.schedd)
        if time.over:
            submitter.decision.time_budget = time.budget
        return time

    def _end(self, time: TurnClock | None, end: TurnEnd | None) -> None:
        evaluate_for(self._ledger.budget, NOBODY)
        stopwatch, submitter = self._ledger.stopwatch, self._submitter
        if stopwatch is None or time is None:
            return
        stopwatch.end(time, submitter.name, submitter.schedd)
        out_of_time = end is not None and end.reason is StopReason.TIME
        submitter.decision.time_budget = time.budget if out_of_time else None

    def _told(self, end: TurnEnd) -> TurnEnd:
        """The reported end of the turn: constraints and a pool without slots come before other reasons."""
        decision, kept_out = self._submitter.decision, self._submitter.queue.kept_out
        if self._rules.last_dealing and not self._submitter.queue.jobs_left:
            end = TurnEnd(True, StopReason.NO_MORE_JOBS)
        if end.reason is StopReason.NO_MORE_JOBS and kept_out and decision.matched + kept_out >= decision.idle:
            return TurnEnd(end.satisfied, StopReason.JOB_CONSTRAINT)
        if self._is_schedd_full():
            return TurnEnd(True, StopReason.SCHEDD)
        if not self._ledger.slots_left() and decision.matched < decision.idle:
            return TurnEnd(end.satisfied, StopReason.NO_SLOTS)
        return end

    def _context(self, autocluster: int) -> RequestContext:
        ledger = self._ledger
        offered = None if self._turn is None else self._turn.offered
        # Only a match changes what is in use.
        moment = autocluster, offered, len(ledger.decision.matches)
        if self._asked is not None and self._asked[0] == moment:
            evaluate_for(ledger.budget, self._payer)
            return self._asked[1]
        self._payer = Payer(self._submitter.name, autocluster, offered)
        evaluate_for(ledger.budget, self._payer)
        context = ledger.request_context(self._submitter.decision, autocluster, self._group)
        self._asked = moment, context
        return context

    def _take(self, found: Found) -> None:
        """Charge a match, and note it."""
        ledger, submitter = self._ledger, self._submitter
        slot, state = found.slot, found.state
        key, cost, carving, evicted = ledger.allot(slot)
        machine_rank = ledger.candidates.machine_rank(slot, lambda: self._context(found.autocluster))
        making_room = evicted or (() if carving is None else carving.victims)
        from_whom = making_room[0] if making_room else slot
        takes_over = state != NONE and carving is None and evicted is None
        charge = ledger.accountant.preempt if takes_over else ledger.accountant.add_match
        charge(submitter.name, key, cost, ledger.now)
        self._limits.use(cost, state != NONE)
        submitter.decision.matched += 1
        ledger.schedds.use(submitter.schedd, 1)
        submitter.decision.matched_weight += cost
        cluster, proc = found.job
        preempted = None if state == NONE else ledger.running[from_whom]
        # By place: by name, a match takes three times as long to note.
        ledger.decision.matches.append(
            Match(
                submitter.name,
                submitter.schedd,
                cluster,
                proc,
                found.request,
                slot,
                cost,
                machine_rank,
                self._group,
                _REASONS[state],
                preempted,
                carving,
                key,
                found.concurrency_limits,
                self._regrouped,
                evicted,
            )
        )

    def _take_many(self, found: FoundMany) -> None:
        """Charge matches without preemption of slots of equal weight, and note them."""
        ledger, submitter, cost = self._ledger, self._submitter, found.cost
        keys = ledger.allot_whole(found.slots)
        ledger.accountant.add_matches(submitter.name, keys, cost, ledger.now)
        self._limits.use_free(cost, len(keys))
        submitter.decision.matched += len(keys)
        ledger.schedds.use(submitter.schedd, len(keys))
        submitter.decision.matched_weight = added(submitter.decision.matched_weight, cost, len(keys))
        ranks = ledger.candidates.ranks_of_all
        assert ranks is not None
        ledger.decision.matches.extend(
            AlikeMatches(
                submitter.name,
                submitter.schedd,
                found.jobs,
                found.request,
                found.slots,
                keys,
                cost,
                ranks,
                self._group,
                self._regrouped,
            )
        )

    def _refuse(self, refused: Refused) -> None:
        """Note a rejection."""
        ledger, submitter, limits = self._ledger, self._submitter, self._limits
        submitter.decision.rejected += 1
        if not ledger.tells_rejections:
            return
        is_limited = refused.reason is RejectReason.SUBMITTER_LIMIT or limits.used >= limits.limit
        rejection = Rejection(
            submitter.name,
            submitter.schedd,
            refused.request,
            refused.reason,
            group=self._group,
            quota_group=(limits.stopped_by or self._rules.quota_group) if is_limited else None,
            limits=refused.limits,
        )
        ledger.decision.rejections.append(rejection)
        if ledger.observer is not None:
            ledger.observer(rejection, self._context(refused.autocluster), ledger.candidates)

    def _refuse_many(self, refused: RefusedMany) -> None:
        """Note many rejections."""
        ledger, submitter, limits = self._ledger, self._submitter, self._limits
        autoclusters, clusters, procs = refused.requests
        submitter.decision.rejected += len(autoclusters)
        entry = RejectedMany(
            submitter.name,
            submitter.schedd,
            clusters,
            procs,
            refused.why,
            self._group,
            limits.stopped_by or self._rules.quota_group,
            limits.used >= limits.limit,
        )
        ledger.decision.rejections.append(entry)
        if ledger.observer is not None:
            for autocluster, rejection in zip(autoclusters.tolist(), entry.each(), strict=True):
                ledger.observer(rejection, self._context(autocluster), ledger.candidates)
