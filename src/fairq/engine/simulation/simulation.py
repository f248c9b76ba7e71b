"""The loop of a simulation: jobs arrive, cycles run, jobs end. The cycles are those of `negotiate`, unchanged."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import Ad, JobRange
from fairq.common.reservation import JOB_ATTRIBUTE, Reservation
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.leases import expire_leases, leases_of
from fairq.engine.accounting.removal import removable
from fairq.engine.negotiation.budgets import Clock
from fairq.engine.negotiation.cycle import NegotiationCycle
from fairq.engine.negotiation.decision import CycleDecision, Match
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.negotiation.preemption import HOUR, permits_preemption
from fairq.engine.negotiation.queue import Jobs
from fairq.engine.simulation.pool import SimulatedPool, Tenant
from fairq.engine.simulation.promises import Promise, limited_submitters
from fairq.engine.simulation.queues import JobKey, Queues
from fairq.engine.simulation.waiting_jobs import Waiting, WaitingJobs


class Arrival(NamedTuple):
    """Jobs that are submitted at *time* (seconds since 1970)."""

    time: int
    jobs: JobRange


class Running(NamedTuple):
    """A job that runs on the slot *row*, and ends at *end*."""

    job: JobKey
    jobs: JobRange
    row: int
    tenant: Tenant
    end: int


class Witness(Protocol):
    """Receives the events of a simulation in order of time."""

    def started(self, job: JobKey, match: Match, now: int) -> None:
        """A job begins to run."""

    def ended(self, job: JobKey, tenant: Tenant, end: int, now: int) -> None:
        """A job ended at *end*; the cycle at *now* notices it."""

    def preempted(self, job: JobKey, tenant: Tenant, now: int) -> None:
        """A job has lost its slot, and waits again."""

    def held(self, decision: CycleDecision) -> None:
        """A cycle has run."""

    def moment(self, simulation: Simulation, now: int) -> None:
        """All events at *now* have been reported."""


class _Job(Struct):
    key: JobKey
    jobs: JobRange
    tenant: Tenant
    end: int


_PATIENCE_DIVISOR = 16
"""A patient simulation waits for the time since the last change divided by this; so many cycles come first."""


class Simulation:
    """A pool over time.

    At the time of each cycle, first the jobs that have ended leave, then the submitted jobs are queued, then the cycle
    runs. A cycle is skipped if nothing can match: nothing ended or arrived since the last one, no job waits, or no
    slot is free and no job may be preempted. Usage is charged to the second, with or without a cycle.

    Args:
        pool: the slots, and who has them.
        queues: the idle jobs.
        ads: the shared ads of the jobs, by id, including those of later arrivals.
        accountant: the records and charges at the start; the charges use the keys of `SimulatedPool`.
        policy: the rules of the cycles.
        run_time: called when a job starts; returns its run time in seconds.
        arrivals: the jobs submitted later, sorted by time.
        start: the time of the first cycle (seconds since 1970).
        every: seconds between cycles; 0: whenever a job arrives or ends.
        witness: receives all events.
        round_robin_times: see `negotiate`.
        running: jobs that run at the start.
        charge_each_end: charge all submitters up to each end, as commands that report an end do. Otherwise, all ends
            since the last cycle are charged at once, which is faster and differs only in the last digits.
        clock: measures the time budgets of the cycles, as in `negotiate`; None: there are none.
        is_patient: while nothing changes, run cycles less often: after a sixteenth of the time since the last change.
            Matches that become possible only by time may come later by as much.
        moments: times at which slots begin or cease to take jobs because of reservations.
        promises: machines that are promised to jobs.
        waiting: jobs that are not idle yet.
    """

    def __init__(
        self,
        pool: SimulatedPool,
        queues: Queues,
        ads: Mapping[int, Ad],
        accountant: Accountant,
        policy: NegotiationPolicy,
        run_time: Callable[[JobKey, JobRange], int],
        arrivals: Iterable[Arrival],
        start: int,
        every: int,
        witness: Witness,
        round_robin_times: Mapping[str, int] | None = None,
        running: Iterable[Running] = (),
        *,
        clock: Clock | None = None,
        charge_each_end: bool = False,
        is_patient: bool = False,
        moments: Sequence[int] = (),
        promises: Iterable[Promise] = (),
        waiting: WaitingJobs | None = None,
    ) -> None:
        self.pool = pool
        self.queues = queues
        self.accountant = accountant
        self.policy = policy
        self.cycles = 0
        """The number of cycles that ran."""
        self.pairs = 0
        """`NegotiationCycle.pairs` of the last cycle."""
        self.work = 0
        """`NegotiationCycle.work` of all cycles, plus the number of their slots."""
        self.limited: set[str] = set()
        """The submitters that a limit stopped in the last cycle, not a lack of free slots."""
        self.now = start - (every or 1)
        """The time of the last cycle, run or skipped."""
        self.skipped_since = start
        """The time of the first of the cycles skipped directly before this one, else of this cycle."""
        self._ads = ads
        self._run_time = run_time
        self._arrivals = iter(arrivals)
        self._next_arrival = next(self._arrivals, None)
        self._waiting = WaitingJobs(Waiting()) if waiting is None else waiting
        self._start = start
        self._charges_each_end = charge_each_end or not accountant.policy.exact_usage
        # The ledger of a simulation is not used, and would grow over many thousand cycles.
        accountant.keeps_books = False
        records = accountant.records.values()
        self._leased = [record for record in records if leases_of(record)]
        self._every = every
        self._clock = clock
        self._is_patient = is_patient
        self._moments = sorted(moments)
        pool.promises = list(promises)
        self._last_promise = 0
        self._last_change = start
        self._preempted = deque([start] * policy.preempted_lately)
        self._witness = witness
        self._round_robin_times = dict(round_robin_times or {})
        self._ends: list[tuple[int, int]] = []
        self._jobs: dict[int, _Job] = {}
        self._number_by_key: dict[int, int] = {}
        self._sequence = 0
        self._may_match_more = True
        self._preempts = may_preempt(policy, pool)
        for run in running:
            pool.claim(run.row, run.tenant)
            queues.run(run.tenant.submitter, run.job.schedd, run.tenant.weight)
            self._begin(run.job, run.jobs, run.tenant, run.end)

    def advance(self, until: int, stop: Callable[[], bool] = lambda: False) -> bool:
        """Continue to the last cycle at or before *until*, or until *stop* returns true after a cycle.

        Return whether events remain.
        """
        while (now := self._next_time()) is not None:
            if now > until or stop():
                return True
            self._step(now)
        return False

    def running(self) -> Iterator[Running]:
        """Yield the jobs that run, in the order of their starts."""
        for job in self._jobs.values():
            yield Running(job.key, job.jobs, job.tenant.row, job.tenant, job.end)

    def renew_promises(self, now: int) -> None:
        """Drop the promises of jobs that no longer wait, or that a limit stops; make new ones, as after a cycle."""
        patience, pool, queues = self.policy.large_job_patience, self.pool, self.queues
        if patience is None:
            pool.promises = []
            return
        if pool.promises:
            usable = pool.promisable(self.policy)
            pool.promises = [
                promise
                for promise in pool.promises
                if usable[promise.row]
                and queues.is_idle(promise.submitter, promise.job)
                and not (promise.reservation.begin <= now and promise.submitter in self.limited)
            ]
        free_promises = self.policy.large_job_machines - len(pool.promises)
        overdue = [
            jobs
            for jobs in queues.ranges()
            if free_promises > 0 and jobs.status_date <= now - patience and jobs.submitter not in self.limited
        ]
        if not overdue:
            return
        ends = {job.tenant.key: job.end for job in self._jobs.values()}
        machines = pool.machines(ends, self.policy, now)
        promised = {promise.job for promise in pool.promises}
        not_large: set[int] = set()
        for jobs in sorted(overdue, key=self._promise_order):
            if jobs.ad_id in not_large and not (jobs.own or jobs.template):
                continue
            own = jobs.ad_of(self._ads[jobs.ad_id], jobs.first_proc)
            ad = {name.lower(): value for name, value in own.items()}
            for proc in range(jobs.first_proc, jobs.last_proc + 1):
                job = JobKey(jobs.schedd, jobs.cluster, proc)
                if job in promised or (opening := machines.find_room(ad)) is None:
                    if not (jobs.own or jobs.template):
                        not_large.add(jobs.ad_id)
                    break
                self._promise(job, jobs, str(ad.get("acctgroupuser", jobs.owner)), *opening)
                free_promises -= 1
                if not free_promises:
                    return
                machines = pool.machines(ends, self.policy, now)

    def _promise_order(self, jobs: JobRange) -> tuple[Any, ...]:
        """Return the sort key by which waiting jobs are promised machines."""
        priority = self.accountant.effective_priority(jobs.submitter)
        return priority, jobs.submitter, -jobs.priority, jobs.status_date, jobs.cluster, jobs.first_proc

    def _promise(self, job: JobKey, jobs: JobRange, user: str, begin: int, row: int) -> None:
        self._last_promise -= 1
        name = f"{job.cluster}.{job.proc}"
        reservation = Reservation(
            self._last_promise, [self.pool.name(row)], begin, None, "", self.now, [user], job=name
        )
        self.pool.promises.append(Promise(job, jobs.submitter, row, reservation))
        self.queues.set_attributes(jobs.submitter, job, {JOB_ATTRIBUTE: self._last_promise})

    def _next_time(self) -> int | None:
        """Return the time of the next cycle that may change something, None if no event remains."""
        times = [self._ends[0][0]] if self._ends else []
        if self.queues.idle:
            times += [lease.expiration for record in self._leased for lease in leases_of(record)]
            times += [time for time in self._moments if time > self.now][:1]
        if self._next_arrival is not None:
            times.append(self._next_arrival.time)
        if (begin := self._waiting.next_begin) is not None:
            times.append(begin)
        may_match = self._may_match_more and self.queues.idle and (self.pool.free > 0 or self._preempts)
        if may_match:
            times.append(
                self.now + 1 + ((self.now - self._last_change) // _PATIENCE_DIVISOR if self._is_patient else 0)
            )
        if not times:
            return None
        time = max(min(times), self.now + 1, self._start)
        return time if not self._every else self._start + -(-(time - self._start) // self._every) * self._every

    def _step(self, now: int) -> None:
        accountant = self.accountant
        self.renew_promises(now - self._every)
        self.skipped_since = min(now, self.now + (self._every or 1))
        if expire_leases(self._leased, now):
            self._may_match_more = True
            self.skipped_since = now
        if (self._ends and self._ends[0][0] <= now) or (self._next_arrival and self._next_arrival.time <= now):
            self._last_change = self.skipped_since = now
        if self._charges_each_end:
            self._end_jobs(now)
            accountant.update(now)
        else:
            accountant.update(now)
            self._end_jobs(now)
        while self._next_arrival is not None and self._next_arrival.time <= now:
            self.queues.add(self._next_arrival.jobs)
            self._next_arrival = next(self._arrivals, None)
        for jobs in self._waiting.released(now):
            self.queues.add(jobs)
            self._last_change = self.skipped_since = now
        self.now = now
        if self.queues.idle and (self.pool.free > 0 or self.pool.divides or self._preempts):
            self._negotiate(now)
        self._witness.moment(self, now)

    def _end_jobs(self, now: int) -> None:
        while self._ends and self._ends[0][0] <= now:
            end, number = heapq.heappop(self._ends)
            job = self._jobs.pop(number, None)
            if job is None:  # the job was preempted before this end
                continue
            tenant = job.tenant
            del self._number_by_key[tenant.key]
            self.accountant.remove_match(tenant.key, end)
            self.pool.release(tenant)
            self.queues.stop(tenant.submitter, job.key.schedd, tenant.weight)
            self._waiting.ended(job.key)
            self._witness.ended(job.key, tenant, end, now)

    def _negotiate(self, now: int) -> None:
        accountant = self.accountant
        accountant.forget_shares()
        if accountant.policy.count_preempted:
            accountant.recount()
        for name in removable(accountant.records.values(), accountant.policy):
            accountant.forget(name)
        slots = self.pool.snapshot(now)
        jobs = Jobs(self.queues.snapshot(), self._ads)
        while self._preempted and self._preempted[0] <= now - HOUR:
            self._preempted.popleft()
        policy = replace(self.policy, preempted_lately=len(self._preempted))
        cycle = NegotiationCycle(slots, jobs, accountant, policy, now, self._round_robin_times, clock=self._clock)
        decision = cycle.run()
        self.cycles += 1
        self.limited = limited_submitters(decision)
        self.pairs = cycle.pairs
        self.work += len(slots.keys) + cycle.work
        if decision.matches:
            self._last_change = now
        if decision.round_robin_times:
            self._round_robin_times = decision.round_robin_times
        # The slot and the victims of a match are rows of this cycle's snapshot: look them up before the pool changes.
        pieces = [self.pool.piece(match.slot) for match in decision.matches]
        victims = [[self.pool.tenant(row) for row in match.victims] for match in decision.matches]
        for match, piece, evicted in zip(decision.matches, pieces, victims, strict=True):
            for tenant in evicted:
                if tenant is not None:
                    self._evict(tenant, now)
            self._start_job(match, piece, now)
        # If nothing runs, nothing can be preempted; without this, jobs that never start would run cycles endlessly.
        may_preempt_later = self._preempts and bool(self._jobs)
        self._may_match_more = bool(decision.matches) or may_preempt_later or not self.policy.last_dealing
        self._witness.held(decision)

    def _evict(self, tenant: Tenant, now: int) -> None:
        """Return a preempted job to the queue; the cycle has already removed its charge."""
        self._preempted.append(now)
        job = self._jobs.pop(self._number_by_key.pop(tenant.key))
        self.pool.release(tenant)
        self.queues.stop(tenant.submitter, job.key.schedd, tenant.weight)
        self.queues.add(job.jobs)
        self._waiting.evicted(job.key)
        self._witness.preempted(job.key, tenant, now)

    def _start_job(self, match: Match, piece: Tenant | None, now: int) -> None:
        """Start the job of a match; a job that takes over a *piece* also takes over its charge."""
        row = key = self.pool.row(match.slot)
        carving, name = match.carving, ""
        if piece is not None:
            key, carving, name = piece.key, piece.carving, piece.name
        elif carving is not None:
            key = self.pool.new_key()
            self.accountant.charges[key] = self.accountant.charges.pop(match.key)
        claim = (match.machine_rank, match.concurrency_limits, match.group, match.autoregroup)
        tenant = Tenant(match.submitter, now, match.cost, key, *claim, carving, name)
        self.pool.claim(row, tenant)
        job = JobKey(match.schedd, match.cluster, match.proc)
        jobs = self.queues.start(match.submitter, job, match.cost)
        self._begin(job, jobs, tenant, now + self._run_time(job, jobs))
        self._waiting.started(job)
        self._witness.started(job, match, now)

    def _begin(self, job: JobKey, jobs: JobRange, tenant: Tenant, end: int) -> None:
        self._sequence += 1
        self._jobs[self._sequence] = _Job(job, jobs, tenant, end)
        self._number_by_key[tenant.key] = self._sequence
        heapq.heappush(self._ends, (end, self._sequence))


def may_preempt(policy: NegotiationPolicy, pool: SimulatedPool) -> bool:
    """Return whether a cycle may preempt a job; if not, cycles are skipped while no slot is free.

    Priority preempts nothing if PREEMPTION_REQUIREMENTS is false, machine rank nothing if no slot's rank prefers jobs.
    """
    return policy.consider_preemption and (pool.ranks_jobs or permits_preemption(policy))
