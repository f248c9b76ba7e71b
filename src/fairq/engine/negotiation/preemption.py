"""When is a running job preempted? The reasons, the policy, the order, and the limits.

A slot in use is a candidate if the cycle considers preemption and the job's retirement time is over
(`pool.candidate_slots`). Then:

1. **Reason.** The slot's Rank prefers the new job to the running one (`PreemptState.RANK`), or it ranks both equally
and priority decides (`PreemptState.PRIO`). A slot that prefers its running job is never preempted
(`Preemption.claims`).
2. **Policy.** Preemption by priority requires that PREEMPTION_REQUIREMENTS is true and that the holder's effective
priority is worse (`Preemption.preemptable`). A submitter does not preempt its own jobs by priority.
3. **Order.** Among slots of equal rank, free slots come first, then slots that prefer the job, then the others, with
the highest PREEMPTION_RANK first (`order`), then borrowed ones (`quotas.loans`).
4. **Limits.** By priority, a submitter preempts only as long as that brings it nearer to its entitlement
(`limits.Limits`, `slices.entitlements`); no match passes a hard cap (`quotas.enforcement`).

HTCondor 8 manual, "Priorities in Negotiation and Preemption" and "Negotiation"; docs/htcondor.md 3.7 to 3.9;
matchmaker.cpp, matchmakingAlgorithm, addPreemptionRank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import EVERY_ATTRIBUTE, AdColumns, attributes_read, columns_read, evaluate_in_columns, parse
from fairq.engine.classad.nodes import Literal
from fairq.engine.negotiation.evaluation import (
    ContextOf,
    Evaluation,
    RequestContext,
    negotiator_rank,
)
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.remote_attributes import Holders


class PreemptState(IntEnum):
    """The effect of a match on a slot, in ascending preference: preempt by priority, by machine rank, or not."""

    PRIO = 0
    RANK = 1
    NONE = 2


PREEMPT_STATES = tuple(PreemptState)
PRIO, RANK, NONE = PREEMPT_STATES


HOUR = 3600
"""Seconds over which `max_preemptions_per_hour` counts."""


class PreemptionCounts:
    """Counts the jobs preempted in a cycle, and for each submitter, against the maxima of the policy."""

    def __init__(self, policy: NegotiationPolicy) -> None:
        max_per_cycle, max_per_hour = policy.max_preemptions_per_cycle, policy.max_preemptions_per_hour
        remaining = [] if max_per_cycle is None else [max_per_cycle]
        remaining += [] if max_per_hour is None else [max_per_hour - policy.preempted_lately]
        self._max_preemptions = min(remaining, default=None)
        self._max_per_submitter = policy.max_preemptions_per_submitter
        self.is_bounded = self._max_preemptions is not None or self._max_per_submitter is not None
        self._preempted = 0
        self._preempted_for: Counter[str] = Counter()

    def permit(self, submitter: str) -> bool:
        """Return whether one more job may be preempted for a submitter."""
        if self._max_preemptions is not None and self._preempted >= self._max_preemptions:
            return False
        return self._max_per_submitter is None or self._preempted_for[submitter] < self._max_per_submitter

    def use(self, submitter: str, jobs: int) -> None:
        """Count *jobs* more jobs preempted for a submitter."""
        self._preempted += jobs
        self._preempted_for[submitter] += jobs


def permits_preemption(policy: NegotiationPolicy) -> bool:
    """Return whether priority may ever preempt a job: PREEMPTION_REQUIREMENTS is not the constant false."""
    requirements = policy.preemption_requirements
    return policy.consider_preemption and (requirements is None or requirements.node != Literal(False))


RANKS = (parse("Rank"), parse("CurrentRank"))


class Preemption:
    """The slots in use, and the rules for preempting their jobs.

    Args:
        slots: the slots' ads. *holders*: their users.
        policy: the cycle's rules.
        evaluate: makes an `Evaluation`.
    """

    def __init__(
        self,
        slots: AdColumns,
        holders: Holders,
        policy: NegotiationPolicy,
        evaluate: Callable[..., Evaluation[NDArray[np.bool_]]],
    ) -> None:
        self._slots, self._holders, self._policy = slots, holders, policy
        self._rows = np.arange(len(slots))
        self.held = holders.held
        self.any_held = bool(holders.held.any())
        self.codes = holders.names.codes
        """The number of every slot's holder; -1 for nobody."""
        self._code_of = {name: code for code, name in enumerate(holders.names.distinct)}
        requirements = policy.preemption_requirements
        self.meeting = evaluate(self._find_meeting, [], [requirements] if requirements else [])
        """Evaluates for which slots in use PREEMPTION_REQUIREMENTS is true; for all of them without that policy."""

    def put_borrowed_first(self, ties: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return *ties*, the positions among slots that rank equally, with borrowed slots before all others."""
        return ties if self._borrowed is None else ties - len(ties) * self._borrowed

    @cached_property
    def _borrowed(self) -> NDArray[np.bool_] | None:
        find = self._holders.find_borrowed
        return None if find is None else find()

    def may_preempt(self) -> bool:
        """Return whether any job might be preempted by priority."""
        return self.any_held and permits_preemption(self._policy)

    def slots_stay(self) -> bool:
        """Return whether no job can be preempted in this cycle, by priority or by a machine's Rank."""
        if not self.any_held:
            return True
        if self.may_preempt() or attributes_read(RANKS, "target", self._slots):
            return False
        live = self._holders.changing
        if live is not None and columns_read(RANKS, "target", self._slots) & (live.live | {EVERY_ATTRIBUTE}):
            return False
        rank, current = (evaluate_in_columns(expression, self._slots, {}).as_rank(0.0) for expression in RANKS)
        return not bool((self.held & (rank > current)).any())

    def code_of(self, submitter: str) -> int:
        """Return the number of a submitter in `codes`."""
        return self._code_of.get(submitter, len(self._code_of))

    def own(self, submitter: str) -> NDArray[np.bool_]:
        """Return which slots *submitter* holds."""
        own: NDArray[np.bool_] = self.codes == self.code_of(submitter)
        return own

    def claims(self, job: Ad) -> NDArray[np.int8]:
        """Return for each slot its preempt state for a job; -1 if the slot prefers its running job."""
        state = np.full(len(self._slots), NONE, np.int8)
        if self.any_held:
            rank, current = (evaluate_in_columns(expression, self._slots, job).as_rank(0.0) for expression in RANKS)
            state[self.held] = PRIO
            state[self.held & (rank > current)] = RANK
            state[self.held & (rank < current)] = -1
        return state

    def preemptable(self, kind: int, context_of: ContextOf) -> NDArray[np.bool_]:
        """Return which slots' jobs may be preempted by priority, if they are not the submitter's own."""
        meeting = self.meeting.get(kind, context_of)
        margin = self._policy.preempt_prio_delta
        if margin is None or not self.any_held:
            return meeting
        priority, theirs = context_of(kind).priority, self._holders.priorities
        preemptable: NDArray[np.bool_] = meeting & (theirs > priority) & (theirs >= priority + margin)
        return preemptable

    def ranks(self, kind: int, context_of: ContextOf) -> NDArray[np.floating]:
        """Return the current PREEMPTION_RANK of every slot."""
        if self._holders.changing is not None:
            self._holders.changing.refresh()
        return negotiator_rank(self._policy.preemption_rank, self._slots, context_of(kind).ad(), self._rows)

    def _find_meeting(self, context: RequestContext) -> NDArray[np.bool_]:
        requirements = self._policy.preemption_requirements
        if requirements is None:
            return self.held
        meeting = np.zeros_like(self.held)
        rows = np.flatnonzero(self.held)
        meeting[rows] = evaluate_in_columns(requirements, self._slots, context.ad(), rows).is_true()
        return meeting
