"""A turn as it is held in a cycle: matches are charged as they are made, rejections noted, time measured."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass

from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import EvaluationBudget
from fairq.engine.classad.budget import NOBODY, Payer, evaluate_for
from fairq.engine.negotiation.budgets import Stopwatch, TurnClock
from fairq.engine.negotiation.candidates import Candidates
from fairq.engine.negotiation.concurrency import ConcurrencyLimits
from fairq.engine.negotiation.contenders import Contender
from fairq.engine.negotiation.decision import (
    CycleDecision,
    Match,
    MatchReason,
    Rejection,
    RejectReason,
    StopReason,
    SubmitterDecision,
)
from fairq.engine.negotiation.limits import Limits
from fairq.engine.negotiation.pie_rules import PieRules
from fairq.engine.negotiation.piece import Piece
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import NONE, PRIO, RANK, PreemptState
from fairq.engine.negotiation.shared_work import Asker
from fairq.engine.negotiation.turn import Job, Turn, TurnEnd

Watch = Callable[[Rejection, Asker, Candidates], None]
"""Told of a rejection: who asked, and the candidates as they stand at that moment."""

_REASONS = {NONE: MatchReason.NO_PREEMPTION, RANK: MatchReason.RANK, PRIO: MatchReason.PRIORITY}


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What all turns of a cycle share.

    Args:
        accountant: charged for the matches.
        candidates, concurrency, policy: as in the cycle.
        decision: where matches and rejections are noted.
        running: per slot, whose job it runs.
        now: seconds since 1970.
        asker: who asks for a submitter's autocluster while a group has its turn.
        allot: takes a slot, or what was proposed of one: what is charged, its weight, the piece.
        regroups: whether a group's turn is the second chance of members of other groups.
        slots_left: whether any candidate slot is left.
        stopwatch: measures the time budgets; None: there are none.
        watch: told of every rejection.
        budget: keeps account of what expressions cost, and for whom; None: nobody does.
    """

    accountant: Accountant
    candidates: Candidates
    concurrency: ConcurrencyLimits
    policy: NegotiationPolicy
    decision: CycleDecision
    running: Sequence[str | None]
    now: int
    asker: Callable[[SubmitterDecision, int, str], Asker]
    allot: Callable[[int], tuple[Hashable, float, Piece | None]]
    regroups: Callable[[str], bool]
    slots_left: Callable[[], bool]
    stopwatch: Stopwatch | None
    watch: Watch | None
    budget: EvaluationBudget | None


class HeldTurn:
    """The turn of one contender in a pie: all of it (`run`), or match by match in the last dealing (`deal`)."""

    def __init__(self, context: TurnContext, contender: Contender, limits: Limits, rules: PieRules) -> None:
        self._context = context
        self._contender = contender
        self._limits = limits
        self._rules = rules
        self._group = rules.quota.group
        self._steps: Generator[None, None, TurnEnd] | None = None
        self._turn: Turn | None = None
        self._regrouped = context.regroups(self._group)
        self._payer = Payer(contender.name)

    def run(self, ignore_limit: bool) -> TurnEnd:
        """Hold the turn to its end; with *ignore_limit* machines that prefer a job are given beyond the limit."""
        time = self._begin()
        if time is not None and time.over:
            return TurnEnd(True, StopReason.TIME)
        self._turn = turn = self._new_turn(ignore_limit, time)
        end = turn.run(self._contender.queue, self._take, self._refuse)
        self._end(time, end)
        return self._told(end)

    def deal(self) -> TurnEnd | None:
        """Make one match, on a slot that nobody has to leave; None if there was one, else how the turn ended."""
        time = self._begin()
        if time is not None and time.over:
            return TurnEnd(True, StopReason.TIME)
        if self._turn is None or self._steps is None:
            self._turn = self._new_turn(False, time, only_free=True)
            self._steps = self._turn.steps(self._contender.queue, self._take, self._refuse)
        self._turn.time = time
        # Others had matches since: what is evaluated now is this one's again.
        evaluate_for(self._context.budget, self._payer)
        end: TurnEnd | None = None
        try:
            next(self._steps)
        except StopIteration as stopped:
            end = stopped.value
        self._end(time, end)
        return None if end is None else self._told(end)

    def stop_at_limit(self) -> None:
        """Note once that a limit stops the next job."""
        contender = self._contender
        request = next(iter(contender.queue.session()), None)
        if request is not None and contender.stopped_at != (job := request.first_job()):
            contender.stopped_at = job
            self._refuse(job, RejectReason.SUBMITTER_LIMIT, request.autocluster, ())

    def would_preempt(self) -> bool:
        """Whether the next job could have a slot by priority, were it not for the limit."""
        request = next(iter(self._contender.queue.session()), None)
        return request is not None and self._context.candidates.finds_victim(self._asker(request.autocluster))

    def _new_turn(self, ignore_limit: bool, time: TurnClock | None, *, only_free: bool = False) -> Turn:
        context = self._context
        return Turn(
            context.candidates,
            self._asker,
            self._limits,
            context.concurrency,
            context.policy,
            ignore_limit,
            time,
            only_free=only_free,
        )

    def _begin(self) -> TurnClock | None:
        """Begin to measure the time; None if it is not measured."""
        stopwatch, contender = self._context.stopwatch, self._contender
        if stopwatch is None:
            return None
        time = stopwatch.turn(contender.name, contender.schedd)
        if time.over:
            contender.decision.time_budget = time.budget
        return time

    def _end(self, time: TurnClock | None, end: TurnEnd | None) -> None:
        evaluate_for(self._context.budget, NOBODY)
        stopwatch, contender = self._context.stopwatch, self._contender
        if stopwatch is None or time is None:
            return
        stopwatch.end(time, contender.name, contender.schedd)
        out_of_time = end is not None and end.reason is StopReason.TIME
        contender.decision.time_budget = time.budget if out_of_time else None

    def _told(self, end: TurnEnd) -> TurnEnd:
        """How the turn ended as it is told: constraints and a pool without slots come before other reasons."""
        decision, kept_out = self._contender.decision, self._contender.queue.kept_out
        if self._rules.last_dealing and not self._contender.queue.jobs_left:
            end = TurnEnd(True, StopReason.NO_MORE_JOBS)
        if end.reason is StopReason.NO_MORE_JOBS and kept_out and decision.matched + kept_out >= decision.idle:
            return TurnEnd(end.satisfied, StopReason.JOB_CONSTRAINT)
        if not self._context.slots_left() and decision.matched < decision.idle:
            return TurnEnd(end.satisfied, StopReason.NO_SLOTS)
        return end

    def _asker(self, autocluster: int) -> Asker:
        offered = None if self._turn is None else self._turn.offered
        self._payer = Payer(self._contender.name, autocluster, offered)
        evaluate_for(self._context.budget, self._payer)
        return self._context.asker(self._contender.decision, autocluster, self._group)

    def _take(
        self, job: Job, request: Job, autocluster: int, slot: int, state: PreemptState, concurrency_limits: str | None
    ) -> None:
        """Charge a match, and note it."""
        context, contender = self._context, self._contender
        key, cost, piece = context.allot(slot)
        machine_rank = context.candidates.machine_rank(slot, lambda: self._asker(autocluster))
        from_whom = piece.victims[0] if piece is not None and piece.victims else slot
        holder = None if state == NONE else context.running[from_whom]
        takes_over = state != NONE and piece is None
        charge = context.accountant.preempt if takes_over else context.accountant.add_match
        charge(contender.name, key, cost, context.now)
        self._limits.use(cost, state != NONE)
        contender.decision.matched += 1
        contender.decision.matched_weight += cost
        context.decision.matches.append(
            Match(
                contender.name,
                contender.schedd,
                *job,
                request,
                slot,
                cost,
                machine_rank,
                self._group,
                _REASONS[state],
                holder,
                piece,
                key,
                concurrency_limits,
                self._regrouped,
            )
        )

    def _refuse(self, request: Job, reason: RejectReason, autocluster: int, used_up: tuple[str, ...]) -> None:
        """Note a rejection."""
        context, contender, limits = self._context, self._contender, self._limits
        contender.decision.rejected += 1
        is_limited = reason is RejectReason.SUBMITTER_LIMIT or limits.used >= limits.limit
        quota_group = self._rules.quota_group if is_limited else None
        rejection = Rejection(contender.name, contender.schedd, request, reason, self._group, quota_group, used_up)
        context.decision.rejections.append(rejection)
        if context.watch is not None:
            context.watch(rejection, self._asker(autocluster), context.candidates)
