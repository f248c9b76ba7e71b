"""When is a running job preempted? The reasons, the policy, the order, and the limits.

A slot in use is a candidate if the cycle considers preemption and the job's retirement time is over
(`slots.candidate_slots`). Then:

1. **Reason.** The slot's Rank prefers the new job to the running one (`PreemptState.RANK`), or it ranks both equally
and priority decides (`PreemptState.PRIO`). A slot that prefers its running job is never preempted (`claim_states`). 2.
**Policy.** Preemption by priority requires that PREEMPTION_REQUIREMENTS is true and that the holder's effective
priority is worse (`PreemptionPolicy`). A submitter does not preempt its own jobs by priority. 3. **Order.** Among slots
of equal rank, free slots come first, then slots that prefer the job, then the others, with the highest PREEMPTION_RANK
first (`claim_keys`). 4. **Limits.** By priority, a submitter preempts only as long as that brings it nearer
to its entitlement (`PreemptionLimits`, `entitlement.entitlements`); no match passes a hard cap (`quotas.enforcement`).

HTCondor 8 manual, "Priorities in Negotiation and Preemption" and "Negotiation"; docs/htcondor.md 3.7 to 3.9;
matchmaker.cpp, matchmakingAlgorithm, addPreemptionRank.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_columns, parse
from fairq.engine.classad.nodes import Literal
from fairq.engine.negotiation.expression_cache import ExpressionCache, Recall, RequestContext
from fairq.engine.negotiation.holders import Holders
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.ranks import negotiator_rank
from fairq.records import Ad

_MACHINE_RANK = parse("Rank")
_CURRENT_RANK = parse("CurrentRank")


class PreemptState(IntEnum):
    """The effect of a match on a slot, in ascending preference: preempt by priority, by machine rank, or not."""

    PRIO = 0
    RANK = 1
    NONE = 2


PREEMPT_STATES = tuple(PreemptState)
PRIO, RANK, NONE = PREEMPT_STATES
EXPRESSIONS = (_MACHINE_RANK, _CURRENT_RANK)
"""What is read of slots in use."""


NO_GROUP = -1
"""The number of the group of a slot without a holder, or where hard caps do not matter."""


def slot_kind(
    slot: int, state: NDArray[np.int8], cost: Sequence[float], groups: NDArray[np.int32] | None
) -> tuple[PreemptState, float, int]:
    """What the limits read of a slot: its preempt state, its weight, and the group of its holder."""
    is_free = groups is None or state[slot] == NONE
    return PREEMPT_STATES[state[slot]], cost[slot], NO_GROUP if is_free else int(groups[slot])  # type: ignore[index]


class ClaimStates(Struct, frozen=True):
    """The relation of every slot of the pool to one autocluster.

    Args:
        state: per slot a `PreemptState`; a slot with a holder is PRIO unless its Rank puts the job below the running
            one.
        outranked: slots whose Rank puts the job below the running one; they are not candidates.
    """

    state: NDArray[np.int8]
    outranked: NDArray[np.bool_]


def claim_states(job: Ad, slots: AdColumns, held: NDArray[np.bool_]) -> ClaimStates:
    """Return the preempt state of each slot for *job*; *held* marks slots with a holder to be preempted."""
    size = len(slots)
    state = np.full(size, NONE, dtype=np.int8)
    if not held.any():
        return ClaimStates(state, np.zeros(size, dtype=np.bool_))
    rank, current = (evaluate_in_columns(of, slots, job).as_rank(0.0) for of in EXPRESSIONS)
    state[held] = PRIO
    state[held & (rank > current)] = RANK
    return ClaimStates(state, held & (rank < current))


def claim_keys(
    claims: ClaimStates,
    job: Ad,
    slots: AdColumns,
    held: NDArray[np.bool_],
    policy: NegotiationPolicy,
    static: bool,
) -> list[NDArray[np.floating] | NDArray[np.integer]]:
    """The last sort keys of candidates, higher is better: the reason of the claim, then PREEMPTION_RANK.

    There is no PREEMPTION_RANK with *static* ranks.
    """
    if not held.any():
        return []
    keys: list[NDArray[np.floating] | NDArray[np.integer]] = [claims.state]
    if not static:
        ranks = negotiator_rank(policy.preemption_rank, slots, job)
        keys.append(np.where(held, ranks, np.float32(0.0)))
    return keys


def permits_preemption(policy: NegotiationPolicy) -> bool:
    """Whether the policy may ever let priority preempt a job: PREEMPTION_REQUIREMENTS is not the constant false."""
    requirements = policy.preemption_requirements
    return policy.consider_preemption and (requirements is None or requirements.node != Literal(False))


class PreemptionPolicy:
    """The slots in use that a job may preempt by priority.

    Args:
        slots: the slots' ads.
        policy: the cycle's rules.
        holders: the users of the slots.
        recall: where results of earlier cycles are.
    """

    def __init__(
        self,
        slots: AdColumns,
        policy: NegotiationPolicy,
        holders: Holders,
        recall: Recall | None = None,
    ) -> None:
        self._slots = slots
        self._policy = policy
        self._holders = holders
        self.any_held = bool(holders.held.any())
        self._codes = {name: code for code, name in enumerate(holders.names.distinct)}
        self.holder_codes = holders.names.codes
        """The holder of every slot, as a number; -1 for nobody."""
        requirements = policy.preemption_requirements
        self._requirements = ExpressionCache(
            self._evaluate_requirements, slots, [], [requirements] if requirements else [], holders.changing, recall
        )
        self._last_preemptable: tuple[object, object, NDArray[np.bool_]] | None = None
        self._last_any: tuple[object, bool] | None = None
        self._last_allowed: tuple[object, object, NDArray[np.bool_]] | None = None

    @property
    def held(self) -> NDArray[np.bool_]:
        """The slots with a holder that a match would preempt."""
        return self._holders.held

    def may_preempt(self) -> bool:
        """Whether any slot has a holder, and the policy may let priority preempt it."""
        return self.any_held and permits_preemption(self._policy)

    def meets_requirements(self, context: RequestContext) -> NDArray[np.bool_]:
        """The held slots for which PREEMPTION_REQUIREMENTS is true; all of them without that policy."""
        return self._requirements.get(context)

    def preemptable(self, context: RequestContext) -> NDArray[np.bool_]:
        """Those whose holder's priority is worse by the required margin."""
        meeting = self.meets_requirements(context)
        margin = self._policy.preempt_prio_delta
        if margin is None:
            return meeting
        key = (id(meeting), context.priority)
        if self._last_preemptable is None or self._last_preemptable[0] != key:
            theirs = self._holders.priorities
            preemptable = meeting & (theirs > context.priority) & (theirs >= context.priority + margin)
            # The mask is kept with it, so that its id stays its own.
            self._last_preemptable = key, meeting, preemptable
        return self._last_preemptable[2]

    def any_preemptable(self, context: RequestContext) -> bool:
        """Whether there is any such slot."""
        preemptable = self.preemptable(context)
        if self._last_any is None or self._last_any[0] is not preemptable:
            self._last_any = preemptable, bool(preemptable.any())
        return self._last_any[1]

    def allowed(
        self, context: RequestContext, state: NDArray[np.int8], preemptable: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """The slots that may be preempted by machine rank or priority, without regard to limits."""
        key = (id(state), id(preemptable), context.submitter)
        if self._last_allowed is None or self._last_allowed[0] != key:
            allowed = (state == RANK) | (preemptable & ~self.own(context.submitter))
            # The arrays are kept with it, so that their ids stay their own.
            self._last_allowed = key, (state, preemptable), allowed
        return self._last_allowed[2]

    def own(self, submitter: str) -> NDArray[np.bool_]:
        """The slots that *submitter* itself holds."""
        own: NDArray[np.bool_] = self.holder_codes == self.code_of(submitter)
        return own

    def code_of(self, submitter: str) -> int:
        """The number of *submitter* in `holder_codes`."""
        return self._codes.get(submitter, len(self._codes))

    def ranks(self, context: RequestContext) -> NDArray[np.floating]:
        """PREEMPTION_RANK of every slot for the job at this moment."""
        if self._holders.changing is not None:
            self._holders.changing.refresh()
        return negotiator_rank(self._policy.preemption_rank, self._slots, context.ad())

    def _evaluate_requirements(self, context: RequestContext) -> NDArray[np.bool_]:
        requirements = self._policy.preemption_requirements
        if requirements is None:
            return self._holders.held
        return self._holders.held & evaluate_in_columns(requirements, self._slots, context.ad()).is_true()


class PreemptionLimits(Struct, kw_only=True):
    """The limits of a submitter's preemption in one turn, in slot weight.

    Args:
        limit: limit of all matches.
        used: the used part of the limit.
        share: set if preemption by priority only brings the submitter nearer to its entitlement, and preemption by
            machine rank is not limited (`preempt_only_to_share`): the weight missing to the entitlement, 0 while the
            rest of others is handed out.
        free_first: no preemption by priority for a job that matches a better slot which is free but beyond the limit:
            the job may still get that slot.
    """

    limit: float
    used: float = 0.0
    share: float | None = None
    free_first: bool = False

    def permit(self, cost: float) -> bool:
        """Whether the limit permits a slot of that cost; the first slot may round the limit up."""
        return self.used + cost <= self.limit or self.used <= 0 < self.limit

    def permit_by_priority(self, cost: float) -> bool:
        """Whether the limit permits preemption by priority of a slot of that cost."""
        if self.share is None:
            return self.permit(cost)
        return self.used + cost / 2 < self.share

    def permit_preempting(self, cost: float, state: PreemptState) -> bool:
        """The test of a slot in use when it is taken off the list of candidates."""
        if self.share is None:
            return self.permit(cost)
        return state == RANK or self.permit_by_priority(cost)
