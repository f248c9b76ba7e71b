"""One negotiation cycle on the state: load the pool, decide, store the matches and what they cost."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.engine.accounting.accountant import Accountant, charges_of
from fairq.engine.accounting.leases import ExpiredLease, expire_leases
from fairq.engine.classad import AdColumns
from fairq.engine.explain.record import CycleRecorder, ExplainedRejection
from fairq.engine.negotiation.cycle import negotiate as decide
from fairq.engine.negotiation.decision import CycleDecision
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.snapshot import Jobs, PoolSlots, SubmitterQueue
from fairq.records import Actor, Ad, Claim, JobRange
from fairq.state import claims, cycles, job_ads, jobs, meta, slots, submitters
from fairq.state.connection import State, reading, writing
from fairq.state.cycle_lock import cycle_lock
from fairq.steps.accounting_policy import accounting_policy
from fairq.steps.claimed_ads import with_claim
from fairq.steps.dynamic_slots import CarvedSlot, carved_rows, carved_slots, load_ads
from fairq.steps.negotiation_policy import negotiation_policy
from fairq.steps.store_cycle import decision_document, load_group_names, load_round_robin_times, store_cycle

if TYPE_CHECKING:
    from fairq.settings import Settings


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle as decided, with what a reader needs to name things.

    Args:
        number: of the cycle, counted from 1; a dry run shows the number that the cycle would have.
        decision: what was decided.
        document: the same as plain data, without the matches.
        policy: the rules in force.
        slot_names: names of the slots by the index that matches use.
        victims: which of fairq's own jobs had the slots of preempting matches, by slot index.
        expired: leases that ended before the cycle.
        carved: the dynamic slots made for matches, by the matches' keys.
        explanation: every rejection with the slots that it lost to each test, if that was asked for.
    """

    number: int
    decision: CycleDecision
    document: dict[str, Any]
    policy: NegotiationPolicy
    slot_names: Sequence[str]
    victims: dict[int, Claim]
    expired: Sequence[ExpiredLease]
    carved: dict[Hashable, CarvedSlot]
    explanation: Sequence[ExplainedRejection] | None = None


@dataclass(frozen=True, slots=True)
class LoadedPool:
    """What a cycle loads from the state."""

    slots: PoolSlots
    ids: list[int]
    ads: list[Ad]
    jobs: Jobs
    claims: dict[int, Claim]
    accountant: Accountant
    expired: list[ExpiredLease]


def negotiate(
    path: Path, settings: Settings, actor: Actor, *, dry_run: bool = False, explain: bool = False
) -> Cycle:
    """Hold one negotiation cycle at the actor's time.

    Everything is stored in one transaction, or nothing with *dry_run*. With *explain* the slots that every
    rejected request lost are counted, which takes time of its own.

    Raises:
        CycleUnderWayError: another cycle works on this state.
    """
    policy = negotiation_policy(settings)
    if dry_run:
        with reading(path) as state:
            return _decide(load_pool(state, settings, actor.time), state, policy, actor.time, explain)
    with cycle_lock(path), writing(path) as state:
        pool = load_pool(state, settings, actor.time)
        known = set(pool.accountant.records)
        cycle = _decide(pool, state, policy, actor.time, explain)
        store_cycle(state, cycle, pool, known, actor)
        return cycle


def _decide(
    pool: LoadedPool, state: State, policy: NegotiationPolicy, now: int, explain: bool
) -> Cycle:
    number = cycles.next_number(state)
    recorder = CycleRecorder(pool.slots, policy) if explain else None
    times = load_round_robin_times(state)
    decision = decide(
        pool.slots, pool.jobs, pool.accountant, policy, now, times, recorder, clock=time.monotonic
    )
    victims = {
        row: claim
        for match in decision.matches
        for row in match.victims
        if (claim := pool.claims.get(pool.ids[row])) is not None and claim.cluster is not None
    }
    carved = carved_slots(decision.matches, pool.ids, pool.slots.names, pool.ads)
    document = decision_document(number, decision)
    explained = None if recorder is None else recorder.explained
    return Cycle(number, decision, document, policy, pool.slots.names, victims, pool.expired, carved, explained)


def load_pool(state: State, settings: Settings, now: int) -> LoadedPool:
    """Load all that a cycle at *now* looks at; leases that are over have ended."""
    held = {claim.slot_id: claim for claim in claims.load_all(state)}
    keys = slots.load_ids(state)
    ads = load_ads(state)
    for row, key in enumerate(keys):
        if key in held:
            ads[row] = with_claim(ads[row], held[key], now)
    draining = frozenset(row for row, drained in enumerate(slots.load_draining(state)) if drained)
    records = submitters.load_all(state)
    expired = expire_leases(records, now)
    last_update = int(meta.get(state, "last_update", "0") or 0)
    charges = charges_of(held.values())
    accountant = Accountant(records, accounting_policy(settings), last_update, charges)
    if load_group_names(state) != accountant.policy.group_names:
        accountant.recount()
    pool = PoolSlots(slots.load_names(state), keys, AdColumns(ads, now=now), draining, carved_rows(state, keys))
    return LoadedPool(pool, keys, ads, _load_jobs(state, held.values()), held, accountant, expired)


def _load_jobs(state: State, held: Iterable[Claim]) -> Jobs:
    idle: dict[tuple[str, str], list[JobRange]] = defaultdict(list)
    for queued in jobs.idle(state):
        idle[queued.submitter, queued.schedd].append(queued)
    running = jobs.running_counts(state)
    weight: dict[tuple[str, str], float] = defaultdict(float)
    for claim in held:
        if claim.cluster is not None:
            weight[claim.submitter, claim.schedd or ""] += claim.slot_weight
    queues = [
        SubmitterQueue(
            name,
            schedd,
            running.get((name, schedd), 0),
            idle.get((name, schedd), ()),
            weight.get((name, schedd), 0.0),
        )
        for name, schedd in sorted(idle.keys() | running.keys())
    ]
    ads = job_ads.ads(state, (queued.ad_id for ranges in idle.values() for queued in ranges))
    return Jobs(queues, ads)
