"""The pool of a state as the start of a simulation: slots, claims, queue, accounts."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import Ad, Claim, JobRange, JobStatus
from fairq.common.reservation import JOB_ATTRIBUTE
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.charges import SlotCharge, charges_of
from fairq.engine.accounting.leases import expire_leases
from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.evaluation import requirements_met
from fairq.engine.negotiation.pieces import Carved
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
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.accounts import load_accountant, settings_of_pool
from fairq.steps.cycle.load import load_group_names, load_round_robin_times, policy_of_pool
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.evaluation.budget import evaluation_budget
from fairq.steps.pool.claimed_ads import without_claim
from fairq.steps.pool.dynamic_slots import carved_rows, laid_out
from fairq.steps.pool.imported_parts import merged, parts_of
from fairq.steps.pool.reservation_clause import reserved_rows, reserved_slots, with_reservations

if TYPE_CHECKING:
    from fairq.settings import Settings

RunTime = Callable[[JobKey, JobRange, int], int]
"""Returns the total run time of a job; takes the time that it has already run. Both in seconds."""


class World(Struct, frozen=True):
    """The start of a simulation, loaded once for several passes.

    *rows* are the rows of the slots by number, *carved* the dynamic slots that end with their jobs, by row. *foreign*
    counts the slots with jobs from outside the queue, whose ends are unknown. Without an end, the *pause* is taken to
    end now.
    """

    names: list[str]
    columns: AdColumns
    draining: frozenset[int]
    rows: Mapping[int, int]
    claims: Mapping[int, Claim]
    carved: Mapping[int, Carved]
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
            self.names,
            self.columns,
            self.draining,
            shows_draining=shows_draining,
            reserved=self.reserved,
            carved=self.carved,
        )
        accountant, running = self._start(run_time)
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

    def _start(self, run_time: RunTime) -> tuple[Accountant, list[Running]]:
        """Return the accounts, with charges by row, and the running jobs."""
        loaded = self.accountant
        charges: dict[Hashable, SlotCharge] = {}
        running = []
        for number, claim in self.claims.items():
            job = JobKey(*claim.key)
            queued = self.running.get(job)
            row = self.rows.get(number)
            charge = loaded.charges.get(number)
            if row is None:
                continue
            if charge is not None:
                charges[row] = replace(charge)
            if queued is None:
                continue
            tenant = Tenant(
                claim.submitter,
                claim.start_time,
                claim.slot_weight,
                row,
                claim.current_rank,
                claim.concurrency_limits,
                claim.negotiating_group,
                claim.autoregroup,
                advertised=claim.advertised,
            )
            age = max(0, self.now - claim.start_time)
            end = claim.start_time + run_time(job, queued, age)
            running.append(Running(job, queued, row, tenant, max(end, self.now)))
        records = [replace(record) for record in loaded.records.values()]
        return Accountant(records, loaded.policy, loaded.last_update, charges, loaded.decayed_until), running


def load_world(state: State, settings: Settings, now: int) -> World:
    """Load the pool of *state* at *now*, with the claims of fairq's own jobs separate from the slots' ads."""
    claims_by_slot = {claim.slot_id: claim for claim in claims.load_all(state)}
    dynamic = dynamic_slots.load_all(state)
    machines = {dynamic_slot.parent_id for dynamic_slot in dynamic}
    imported = {number for number, claim in claims_by_slot.items() if claim.cluster is not None}
    imported -= {dynamic_slot.slot_id for dynamic_slot in dynamic}
    stored = slots.load_table(state, imported | machines)
    ids, apart = stored.ids, stored.apart
    row_of = {number: row for row, number in enumerate(ids)}
    changed = {row: without_claim(ad, now) if ids[row] in imported else ad for row, ad in apart.items()}
    ads = laid_out(ids, stored.ads, apart, dynamic) if dynamic else stored.ads
    ads.put(list(apart), list(apart.values()))
    columns = AdColumns(ads, now, evaluation_budget(settings))
    carved = carved_rows(dynamic, ids)
    parts = parts_of(PoolSlots(stored.names, ids, columns, carved=carved), ads, imported)
    for row, part in parts.items():
        changed[part.parent] = merged(changed.get(part.parent) or ads[part.parent], ads[row])
    carved |= parts
    for number, of_slot in reserved_slots(state, now).items():
        row, plain = row_of[number], [reservation for reservation in of_slot if reservation.job is None]
        if plain:
            changed[row] = with_reservations(changed.get(row) or ads[row], plain)
    columns = columns.edited(np.arange(len(ids)), changed)
    policy = policy_of_pool(negotiation_policy(settings), state, settings, now)
    accountant = load_accountant(
        state, accounting_policy(settings_of_pool(settings, state)), charges_of(claims_by_slot.values())
    )
    expire_leases(accountant.records.values(), now)
    if load_group_names(state) != accountant.policy.group_names:
        accountant.recount()
    idle = jobs.idle(state)
    running = {
        JobKey(job.schedd, job.cluster, job.first_proc): replace(job, status=JobStatus.IDLE)
        for jobs_range in jobs.select(state, statuses={JobStatus.RUNNING})
        for job in jobs_range.each()
    }
    waiting = _waiting(state)
    job_ads_by_id = job_ads.ads(state, {jobs_range.ad_id for jobs_range in (*idle, *running.values(), *waiting.jobs)})
    return World(
        names=stored.names,
        columns=columns,
        draining=frozenset(compress(range(len(ids)), stored.draining)),
        rows=row_of,
        claims=claims_by_slot,
        carved=carved,
        idle=idle,
        running=running,
        ads=job_ads_by_id,
        accountant=accountant,
        policy=policy,
        round_robin_times=load_round_robin_times(state),
        now=now,
        foreign=sum(claim.cluster is None for claim in claims_by_slot.values()),
        reserved=reserved_rows(state, lambda: row_of, now, with_promises=False),
        promises=_promises(state, idle, job_ads_by_id, stored.names, columns),
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
    columns: AdColumns,
) -> list[Promise]:
    """Return the promises to idle jobs that still fit on their machines; *names* and *columns* are of all slots."""
    now = columns.now or 0
    by_number = {
        reservation.number: reservation for reservation in reservations.load(state, now) if reservation.job is not None
    }
    rows = {name: row for row, name in enumerate(names)} if by_number else {}
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
