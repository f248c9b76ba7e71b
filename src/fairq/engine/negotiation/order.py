"""The order of candidate slots for one kind of job (docs/htcondor.md 3.8; matchmaker.cpp, sort_compare).

Five keys, more is better: NEGOTIATOR_PRE_JOB_RANK, the job's Rank, NEGOTIATOR_POST_JOB_RANK, the reason for the claim
(nobody preempted, then machine rank, then priority), PREEMPTION_RANK. Ties are in the pool's tie-break order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import AdColumns, evaluate_in_ad, expression_of
from fairq.engine.negotiation.evaluation import negotiator_rank
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import slot_weights
from fairq.engine.std_sort import std_sorted_pieces

Key = NDArray[np.floating] | NDArray[np.integer]


class Order(Struct, frozen=True):
    """Slots in their order for a kind of job.

    Args:
        rows: the slots, best first.
        dense: per slot of the pool its rank in that order, equal for slots that rank equally.
        ties: whether any slots rank equally.
        state: per slot its preempt state, -1 if it prefers its running job; None: no listed slot has a user.
        classes: per slot its class (`SlotClasses`).
        number: the number of this order in the cycle.
        keys, place: the sort keys, and per slot its index in them, if other slots are to be inserted.
    """

    rows: NDArray[np.int32]
    dense: NDArray[np.int32]
    ties: bool
    state: NDArray[np.int8] | None
    classes: NDArray[np.int32]
    number: int
    keys: Sequence[Key] = ()
    place: NDArray[np.int32] | None = None

    def key_of(self, key: Key, rows: NDArray[np.int32]) -> Key:
        """Return *key* for these slots; a slot without keys gets that of another slot."""
        assert self.place is not None
        return key[self.place[rows]]


class StaticRanks(Struct, frozen=True):
    """The order of all slots for any job, computed before the cycle's first match (matchmaker.cpp, rankSorter).

    Args:
        keys: NEGOTIATOR_PRE_JOB_RANK and NEGOTIATOR_POST_JOB_RANK per slot, as of a job without attributes.
        place: per slot its position in their order, ties as listed.
        weight: per slot its weight, even if slot weights are off: it ends the search of today's negotiator.
    """

    keys: tuple[NDArray[np.float32], NDArray[np.float32]]
    place: NDArray[np.int64]
    weight: NDArray[np.float64]


def static_ranks(slots: AdColumns, policy: NegotiationPolicy) -> StaticRanks | None:
    """Rank the slots once for all jobs if the policy says so; call it before holders' attributes are added."""
    if not policy.static_ranks:
        return None
    rows = np.arange(len(slots))
    pre, post = (negotiator_rank(rank, slots, {}, rows) for rank in (policy.pre_job_rank, policy.post_job_rank))
    positions = np.empty(len(slots), np.int64)
    positions[np.lexsort([-post, -pre])] = np.arange(len(slots))
    return StaticRanks((pre, post), positions, slot_weights(slots, replace(policy, use_slot_weights=True)))


def sort_keys(
    job: Ad, slots: AdColumns, rows: NDArray[np.intp], policy: NegotiationPolicy, static: StaticRanks | None
) -> list[Key]:
    """Return the sort keys of *rows* that do not depend on their users."""
    if static is not None:
        return [key[rows] for key in static.keys]
    keys: list[Key] = [negotiator_rank(policy.pre_job_rank, slots, job, rows)]
    if not policy.ignore_job_ranks and "rank" in job:
        keys.append(evaluate_in_ad(expression_of(job["rank"]), job, slots, rows).as_rank(0.0))
    return [*keys, negotiator_rank(policy.post_job_rank, slots, job, rows)]


def order_slots(
    keys: Sequence[Key],
    rows: NDArray[np.intp],
    tie_order: NDArray[np.int64],
    state: NDArray[np.int8] | None,
    classes: NDArray[np.int32],
    number: int,
    *,
    keeps_keys: bool,
) -> Order:
    """Order *rows* by *keys*, more is better, the most significant first."""
    index = None
    if keeps_keys:
        index = np.zeros(len(tie_order), np.int32)
        index[rows] = np.arange(len(rows))
    kept_keys = keys if keeps_keys else ()
    ties = tie_order[rows]
    differing = [-key for key in keys if len(key) and (key != key[0]).any()]
    order = np.lexsort([ties, *reversed(differing)])
    changes = np.zeros(len(rows), np.bool_)
    for key in differing:
        sorted_key = key[order]
        changes[1:] |= sorted_key[1:] != sorted_key[:-1]
    ranks = np.zeros(len(tie_order), np.int32)
    ranks[rows[order]] = np.cumsum(changes)
    best_first = rows[order].astype(np.int32)
    return Order(best_first, ranks, not changes[1:].all(), state, classes, number, kept_keys, index)


def std_sorted_rows(rows: NDArray[np.int32], dense: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    """Yield *rows* in the order of ``std::sort``, which depends on all of them."""
    return (rows[piece] for piece in std_sorted_pieces(dense[rows].astype(np.int64)))
