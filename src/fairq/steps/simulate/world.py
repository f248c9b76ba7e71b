"""The pool of a state as the start of a simulation: slots, claims, queue, accounts."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import Ad, Claim, DynamicSlot, JobRange, JobStatus
from fairq.common.reservation import JOB_ATTRIBUTE
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.charges import SlotCharge, charges_of
from fairq.engine.accounting.leases import expire_leases
from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.evaluation import requirements_met
from fairq.engine.negotiation.pieces import Carving
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.pool import PoolSlots, ReservedSlots
from fairq.engine.simulation.pool import SimulatedPool, Tenant
from fairq.engine.simulation.promises import Promise
from fairq.engine.simulation.queues import JobKey, Queues
from fairq.engine.simulation.simulation import Arrival, Running, Simulation, Witness
from fairq.engine.simulation.waiting_jobs import Waiting, WaitingJobs
from fairq.state import claims, dynamic_slots, job_ads, jobs, reservations, slots, waits
from fairq.state import pause as pauses
from fairq.state.connection import State
from fairq.state.pause import Pause
from fairq.state.slots import StoredSlots
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.accounts import load_accountant, settings_of_pool
from fairq.steps.cycle.load import load_group_names, load_round_robin_times, policy_of_pool
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.evaluation.budget import evaluation_budget
from fairq.steps.pool.claimed_ads import without_claim
from fairq.steps.pool.imported_parts import merged, parts_of
from fairq.steps.pool.reservation_clause import reserved_rows, reserved_slots, with_reservations

if TYPE_CHECKING:
    from fairq.settings import Settings

RunTime = Callable[[JobKey, JobRange, int], int]
"""Returns the total run time of a job; takes the time that it has already run. Both in seconds."""


class World(Struct, frozen=True):
    """The start of a simulation, loaded once for several passes.

    *foreign* counts the slots with jobs from outside the queue, whose ends are unknown. Without an end, the *pause* is
    taken to end now.
    """

    names: list[str]
    columns: AdColumns
    draining: frozenset[int]
    rows: Mapping[int, int]
    claims: Mapping[int, Claim]
    dynamic: Mapping[int, DynamicSlot]
    idle: list[JobRange]
    running: Mapping[JobKey, JobRange]
    ads: Mapping[int, Ad]
    accountant: Accountant
    policy: NegotiationPolicy
    round_robin_times: Mapping[str, int]
    now: int
    foreign: int
    reserved: Sequence[ReservedSlots] = ()
    pause: Pause | None = None
    promises: Sequence[Promise] = ()
    waiting: Waiting = Waiting()

    def simulation(
        self, run_time: RunTime, witness: Witness, every: int, arrivals: Iterable[Arrival] = ()
    ) -> Simulation:
        """Return a simulation that begins with this world; its first cycle is at `now`, or when the pause ends."""
        shows_draining = not self.policy.count_unusable_slots
        pool = SimulatedPool(
            self.names, self.columns, self.draining, shows_draining=shows_draining, reserved=self.reserved
        )
        accountant, running = self._start(pool, run_time)
        return Simulation(
            pool,
            Queues(self.idle),
            self.ads,
            accountant,
            self.policy,
            lambda job, queued: run_time(job, queued, 0),
            arrivals,
            self.now if self.pause is None else self.pause.until or self.now,
            every,
            witness,
            self.round_robin_times,
            running,
            clock=time.monotonic,
            charge_each_end=True,
            is_patient=True,
            promises=self.promises,
            waiting=WaitingJobs(self.waiting),
            moments=[time for reservation in self.reserved for time in (reservation.begin, reservation.end or 0)],
        )

    def _start(self, pool: SimulatedPool, run_time: RunTime) -> tuple[Accountant, list[Running]]:
        """Return the accounts, with charges under the keys of *pool*, and the running jobs."""
        loaded = self.accountant
        charges: dict[Hashable, SlotCharge] = {}
        running = []
        for number, claim in self.claims.items():
            job = JobKey(claim.schedd or "", claim.cluster or 0, claim.proc or 0)
            queued = self.running.get(job)
            dynamic_slot = self.dynamic.get(number)
            row = self.rows.get(number if dynamic_slot is None else dynamic_slot.parent_id)
            key = row if dynamic_slot is None else pool.new_key()
            charge = loaded.charges.get(number)
            if row is None or key is None:
                continue
            if charge is not None:
                charges[key] = replace(charge)
            if queued is None:
                continue
            tenant = Tenant(
                claim.submitter,
                claim.start_time,
                claim.slot_weight,
                key,
                claim.current_rank,
                claim.concurrency_limits,
                claim.negotiating_group,
                claim.autoregroup,
                None if dynamic_slot is None else Carving(claim.slot_weight, dynamic_slot.carved),
            )
            age = max(0, self.now - claim.start_time)
            end = claim.start_time + run_time(job, queued, age)
            running.append(Running(job, queued, row, tenant, max(end, self.now)))
        records = [replace(record) for record in loaded.records.values()]
        return Accountant(records, loaded.policy, loaded.last_update, charges, loaded.decayed_until), running


def load_world(state: State, settings: Settings, now: int) -> World:
    """Load the pool of *state* at *now*, with the claims of fairq's own jobs separate from the slots' ads."""
    claims_by_slot = {claim.slot_id: claim for claim in claims.load_all(state)}
    dynamic = {dynamic_slot.slot_id: dynamic_slot for dynamic_slot in dynamic_slots.load_all(state)}
    own_slots = {number for number, claim in claims_by_slot.items() if claim.cluster is not None}
    stored = slots.load_table(state, own_slots)
    stored.ads.put(list(stored.apart), list(stored.apart.values()))
    merged_ads = _merge_parts(stored, dynamic, own_slots - dynamic.keys())
    kept_rows = [row for row, number in enumerate(stored.ids) if number not in dynamic]
    new_rows = {row: new for new, row in enumerate(kept_rows)}
    freed_ads = {new_rows[row]: without_claim(ad, now) for row, ad in stored.apart.items() if row in new_rows}
    freed_ads |= {new_rows[row]: ad for row, ad in merged_ads.items()}
    reserved = {
        number: plain
        for number, slot_reservations in reserved_slots(state, now).of_slot.items()
        if (plain := [plain_reservation for plain_reservation in slot_reservations if plain_reservation.job is None])
    }
    for row in kept_rows if reserved else ():
        if (slot_reservations := reserved.get(stored.ids[row])) is not None:
            freed_ads[new_rows[row]] = with_reservations(
                freed_ads.get(new_rows[row]) or stored.ads[row], slot_reservations
            )
    columns = AdColumns(stored.ads, now, evaluation_budget(settings)).edited(np.array(kept_rows, np.intp), freed_ads)
    policy = policy_of_pool(negotiation_policy(settings), state, settings, now)
    accountant = load_accountant(
        state, accounting_policy(settings_of_pool(settings, state)), charges_of(claims_by_slot.values())
    )
    expire_leases(accountant.records.values(), now)
    if load_group_names(state) != accountant.policy.group_names:
        accountant.recount()
    idle = jobs.idle(state)
    running = {
        JobKey(jobs_range.schedd, jobs_range.cluster, proc): replace(
            jobs_range, first_proc=proc, last_proc=proc, status=JobStatus.IDLE
        )
        for jobs_range in jobs.select(state, statuses={JobStatus.RUNNING})
        for proc in range(jobs_range.first_proc, jobs_range.last_proc + 1)
    }
    waiting = _waiting(state)
    ads = job_ads.ads(state, {jobs_range.ad_id for jobs_range in (*idle, *running.values(), *waiting.jobs)})
    place_of = {stored.ids[row]: new_rows[row] for row in kept_rows}
    return World(
        names=[stored.names[row] for row in kept_rows],
        columns=columns,
        draining=frozenset(new_rows[row] for row in kept_rows if stored.draining[row]),
        rows=place_of,
        claims=claims_by_slot,
        dynamic=dynamic,
        idle=idle,
        running=running,
        ads=ads,
        accountant=accountant,
        policy=policy,
        round_robin_times=load_round_robin_times(state),
        now=now,
        foreign=sum(claim.cluster is None for claim in claims_by_slot.values()),
        reserved=reserved_rows(state, lambda: place_of, now, with_promises=False),
        promises=_promises(state, idle, ads, stored.names, new_rows, columns),
        pause=pauses.load(state, now),
        waiting=waiting,
    )


def _waiting(state: State) -> Waiting:
    waiting = jobs.select(state, statuses={JobStatus.WAITING}, schedd="")
    if not waiting:
        return Waiting()
    caps = waits.load_caps(state)
    counts = {cap.cluster: jobs.counts_of(state, cap.cluster) for cap in caps}
    return Waiting(waiting, waits.load(state), waits.load_afters(state), caps, counts)


def _promises(
    state: State,
    idle: Iterable[JobRange],
    ads: Mapping[int, Ad],
    names: Sequence[str],
    new_rows: Mapping[int, int],
    columns: AdColumns,
) -> list[Promise]:
    """Return the promises to idle jobs that still fit on their machines.

    *new_rows* are the rows in the world, with these *columns*, of the slots in *names*.
    """
    now = columns.now or 0
    by_number = {
        reservation.number: reservation for reservation in reservations.load(state, now) if reservation.job is not None
    }
    rows = {names[row]: new for row, new in new_rows.items()} if by_number else {}
    kept = []
    for queued in idle if by_number else ():
        reservation = by_number.get((queued.own or {}).get(JOB_ATTRIBUTE, 0))
        row = None if reservation is None else rows.get(reservation.slots[0])
        if reservation is None or row is None or not reservation.admits(queued.submitter):
            continue
        ad = queued.ad_of(ads[queued.ad_id], queued.first_proc)
        if requirements_met(
            {name.lower(): value for name, value in ad.items()}, columns, np.array([row], np.intp)
        ).any():
            job = JobKey(queued.schedd, queued.cluster, queued.first_proc)
            kept.append(Promise(job, queued.submitter, row, reservation))
    return kept


def _merge_parts(stored: StoredSlots, dynamic: dict[int, DynamicSlot], own: Collection[int]) -> dict[int, Ad]:
    """Add to *dynamic* the dynamic slots of machines that run jobs of the queue, by the numbers *own*.

    Return the ads of their partitionable slots by row, as if they were merged back.
    """
    parts = parts_of(PoolSlots(stored.names, stored.ids, AdColumns(stored.ads)), stored.ads, own)
    merged_ads: dict[int, Ad] = {}
    for row, part in parts.items():
        merged_ads[part.parent] = merged(merged_ads.get(part.parent) or stored.ads[part.parent], stored.ads[row])
        number = stored.ids[row]
        dynamic[number] = DynamicSlot(number, stored.ids[part.parent], dict(part.taken))
    return merged_ads
