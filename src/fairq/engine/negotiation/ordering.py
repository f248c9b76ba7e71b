"""The order of candidate slots for one kind of job (docs/htcondor.md 3.8; matchmaker.cpp, sort_compare).

Five keys, more is better: NEGOTIATOR_PRE_JOB_RANK, the job's Rank, NEGOTIATOR_POST_JOB_RANK, the reason for
the claim (nobody preempted, then machine rank, then priority), PREEMPTION_RANK. The last two: see `preemption`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.engine.classad import AdColumns, evaluate_in_ad, expression_of
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import ClaimStates, claim_keys
from fairq.engine.negotiation.ranks import negotiator_rank
from fairq.engine.negotiation.slots import slot_weights
from fairq.records import Ad

Key = NDArray[np.floating] | NDArray[np.integer]


class Ordering(Struct, frozen=True):
    """All slots of the pool, ordered for one autocluster.

    Args:
        order: slot indices, best first, ties in the pool's tie-break order.
        place: per slot its place in that order.
        dense: the same, with equal places for slots that rank equally.
        ties: whether any two slots rank equally.
        state, outranked: as in `ClaimStates`.
        keys: the sort keys, the most significant first, one value per slot each; higher is better.
    """

    order: NDArray[np.int32]
    place: NDArray[np.int64]
    dense: NDArray[np.int64]
    ties: bool
    state: NDArray[np.int8]
    outranked: NDArray[np.bool_]
    keys: Sequence[Key]


class StaticRanks(Struct, frozen=True):
    """The order of all slots for any job, computed before the cycle's first match (matchmaker.cpp, rankSorter).

    Args:
        keys: NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK per slot, as of a job without attributes.
        place: per slot its place in their order, ties as listed. (In the real negotiator, ties depend on memory
            addresses.)
        weight: per slot its weight, as if slot weights were on: it ends the search of today's negotiator.
    """

    keys: tuple[NDArray[np.float32], NDArray[np.float32]]
    place: NDArray[np.int64]
    weight: NDArray[np.float64]


def static_ranks(slots: AdColumns, policy: NegotiationPolicy) -> StaticRanks | None:
    """Rank the slots once for all jobs, if the policy says so; None if each autocluster has its own order.

    Call it before the ads have attributes of the slots' holders.
    """
    if not policy.static_ranks:
        return None
    pre, post = (negotiator_rank(rank, slots, {}) for rank in (policy.pre_job_rank, policy.post_job_rank))
    place = np.empty(len(slots), np.int64)
    place[np.lexsort([-post, -pre])] = np.arange(len(slots))
    return StaticRanks((pre, post), place, slot_weights(slots, replace(policy, use_slot_weights=True)))


def order_slots(
    job: Ad,
    slots: AdColumns,
    held: NDArray[np.bool_],
    claims: ClaimStates,
    tie_order: NDArray[np.int64],
    policy: NegotiationPolicy,
    static: StaticRanks | None,
) -> Ordering:
    """Order all slots for *job*.

    *held* marks slots with a holder to be preempted, *claims* are what a match does to them; *tie_order* is each slot's
    place among equals. With *static* ranks only the reason for the claim comes from the job; there is no
    PREEMPTION_RANK then.
    """
    keys: list[Key] = []
    if static is not None:
        keys += static.keys
    else:
        keys.append(negotiator_rank(policy.pre_job_rank, slots, job))
        if not policy.ignore_job_ranks and "rank" in job:
            keys.append(evaluate_in_ad(expression_of(job["rank"]), job, slots).as_rank(0.0))
        keys.append(negotiator_rank(policy.post_job_rank, slots, job))
    keys += claim_keys(claims, job, slots, held, policy, static is not None)
    return _ordering(keys, claims.state, claims.outranked, tie_order)


def _ordering(
    keys: list[Key],
    state: NDArray[np.int8],
    outranked: NDArray[np.bool_],
    tie_order: NDArray[np.int64],
) -> Ordering:
    descending = [-key for key in keys if len(key) and (key != key[0]).any()]
    by_tie = np.argsort(tie_order, kind="stable")
    if not descending:
        equal = np.zeros(len(state), dtype=np.int64)
        return Ordering(by_tie.astype(np.int32), tie_order, equal, len(state) > 1, state, outranked, keys)
    if len(descending) == 1:
        order = by_tie[np.argsort(descending[0][by_tie], kind="stable")]
    else:
        order = np.lexsort([tie_order, *reversed(descending)])
    changes = np.zeros(len(order), dtype=np.bool_)
    for key in descending:
        ordered = key[order]
        changes[1:] |= ordered[1:] != ordered[:-1]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    dense: NDArray[np.int64] = np.cumsum(changes, dtype=np.int64)[place]
    return Ordering(order.astype(np.int32), place, dense, not bool(changes[1:].all()), state, outranked, keys)
