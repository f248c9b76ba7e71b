"""A trace under one policy: builds the pool and the jobs in memory, runs the simulation, records the events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field

from fairq.common.expression_form import as_expression
from fairq.common.quantities import shown_time
from fairq.common.records import Ad, JobRange, JobStatus
from fairq.common.reservation import Reservation, with_clause
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.identity import ROOT_GROUP, assigned_group
from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.decision import CycleDecision, Match
from fairq.engine.negotiation.pool import ReservedSlots, pie_of
from fairq.engine.simulation.fairness import Party, ShareMeter
from fairq.engine.simulation.journal import Journal
from fairq.engine.simulation.pool import SimulatedPool, Tenant
from fairq.engine.simulation.queues import JobKey, Queues
from fairq.engine.simulation.simulation import Arrival, Simulation
from fairq.errors.simulation import EndlessPreemptionError
from fairq.formats.trace import Trace, TraceJob
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.negotiation_policy import negotiation_policy

if TYPE_CHECKING:
    from fairq.settings import Settings

EVERYBODY = "everybody"
"""The submitter that all jobs are charged to under first come, first served."""

_ROOM = "TARGET.Cpus >= RequestCpus && TARGET.Memory >= RequestMemory"
_REQUIREMENTS, _WITH_GPUS = as_expression(_ROOM), as_expression(f"{_ROOM} && TARGET.GPUs >= RequestGPUs")
_END_OF_TIME = 1 << 60

_FRUITLESS = 1000
"""Preemption is endless if no job ends or starts for the first time in so many cycles, and for as long as any job runs.

A job that is not preempted ends in that time. With a cycle each 300 s, these are three half-lives of the priorities."""


class Policy(Struct, frozen=True):
    """Rules to simulate under a *name*.

    *one_identity*: all jobs are charged to one submitter. *factors* are priority factors of users that override the
    settings.
    """

    name: str
    settings: Settings
    one_identity: bool = False
    factors: Mapping[str, float] = field(default_factory=dict)


class Replay(Struct, frozen=True):
    """The result of a trace under a policy.

    Args:
        policy: the policy.
        journal: start and end of every job, by its place in the trace.
        meter: delivered and entitled shares.
        cycles: the number of cycles.
        slots: the number of slots; *weight*: their slot weight.
        end: the end of the last job, in seconds since 1970.
    """

    policy: Policy
    journal: Journal
    meter: ShareMeter
    cycles: int
    slots: int
    weight: float
    end: int


def replay(
    trace: Trace,
    policy: Policy,
    slots: Sequence[Ad],
    every: int,
    window: int,
    advance: Callable[[int], None] = lambda _: None,
    reservations: Sequence[Reservation] = (),
) -> Replay:
    """Simulate *trace* under *policy* on *slots*, with a cycle every *every* seconds, until all jobs have ended.

    *window* is the length of the windows of shares, in seconds. *advance* receives the number of newly ended jobs.
    *reservations* of slots hold meanwhile.

    Raises:
        SettingValueError: an expression is invalid.
        EndlessPreemptionError: jobs preempt each other so often that none of them will end.
    """
    accounting = accounting_policy(policy.settings)
    rules = negotiation_policy(policy.settings)
    accountant = Accountant([], accounting, trace.start)
    names = _Names(policy, accounting.group_names, accounting.accountant_local_domain or "trace")
    slots_reserved = _reserved(slots, reservations)
    columns = AdColumns(_with_clauses(slots, reservations), trace.start)
    pool = SimulatedPool([str(ad["Name"]) for ad in slots], columns, reserved=slots_reserved)
    weight = pie_of(columns, rules)
    journal = Journal([job.submit for job in trace.jobs], [job.run for job in trace.jobs])
    parties = _Parties(trace, names)
    factors = _factors(accountant, policy, parties)
    meter = ShareMeter(parties.all, factors, weight, trace.start, window)
    witness = _Keeper(trace, journal, meter, parties, advance)
    jobs = _Jobs(trace, names, witness, is_plain=rules.large_job_patience is None and not reservations)
    simulation = Simulation(
        pool,
        Queues(),
        jobs.ads,
        accountant,
        rules,
        witness.run_time,
        jobs.arrivals(),
        trace.start,
        every,
        witness,
        moments=[time for reservation in reservations for time in (reservation.begin, reservation.end or 0)],
    )
    if simulation.advance(_END_OF_TIME, partial(witness.is_endless, simulation)):
        cure = f"require TotalJobRunTime > {journal.longest()} in negotiator.preemption_requirements"
        cure += ", or change Rank of the slots" * pool.ranks_jobs
        raise EndlessPreemptionError(policy=policy.name, jobs=witness.preempting(), cure=cure)
    end = int(journal.end.max(initial=trace.start))
    return Replay(policy, journal, meter, simulation.cycles, len(slots), weight, end)


def _reserved(slots: Sequence[Ad], reservations: Sequence[Reservation]) -> list[ReservedSlots]:
    rows = {ad["Name"]: row for row, ad in enumerate(slots)}
    return [
        ReservedSlots(
            [rows[name] for name in reservation.slots], reservation.admits, reservation.begin, reservation.end
        )
        for reservation in reservations
    ]


def _with_clauses(slots: Sequence[Ad], reservations: Sequence[Reservation]) -> list[Ad]:
    """Return the ads of *slots* with the clauses of their reservations in their Requirements."""
    changed = [dict(ad) for ad in slots]
    by_name = {ad["Name"]: ad for ad in changed}
    for reservation in reservations:
        for name in reservation.slots:
            by_name[name]["Requirements"] = with_clause(by_name[name].get("Requirements"), f"({reservation.clause})")
    return changed


def _factors(accountant: Accountant, policy: Policy, parties: _Parties) -> list[float]:
    """Return the factor of every party; set the factors of the *policy* in the *accountant*."""
    if policy.one_identity:
        return [1.0] * len(parties.all)
    factors = []
    for party, name in zip(parties.all, parties.identities, strict=True):
        own_factor = policy.factors.get(party.name)
        if own_factor is not None:
            accountant.record(name).priority_factor = own_factor
        factors.append(accountant.priority_factor(name))
        if own_factor is None:
            accountant.forget(name)
    return factors


class _Names:
    """The submitter of a job under a policy: its user, in its accounting group if the policy has that group."""

    def __init__(self, policy: Policy, groups: Sequence[str], domain: str) -> None:
        self._one = policy.one_identity
        self._groups = tuple(groups)
        self._domain = domain
        lasts = Counter(group.rpartition(".")[2].lower() for group in groups)
        self._by_last_part = {last: group for group in groups if lasts[last := group.rpartition(".")[2].lower()] == 1}
        """The groups by their last part, where it is unique: an account of Slurm has only that part."""

    def identity(self, job: TraceJob) -> str:
        """Return the submitter that *job* is charged to."""
        if self._one:
            return f"{EVERYBODY}@{self._domain}"
        group = self.group(job)
        return f"{group}.{job.user}@{self._domain}" if group else f"{job.user}@{self._domain}"

    def group(self, job: TraceJob) -> str:
        """Return the configured accounting group of *job*; empty if none."""
        if self._one or not self._groups or not job.group:
            return ""
        assigned = assigned_group(f"{job.group}.x@{self._domain}", self._groups)
        return self._by_last_part.get(job.group.lower(), "") if assigned == ROOT_GROUP else assigned

    @property
    def grouped(self) -> bool:
        """Whether the policy has accounting groups."""
        return bool(self._groups) and not self._one


class _Parties:
    """The parties entitled to a share: one per user and accounting group of the policy."""

    def __init__(self, trace: Trace, names: _Names) -> None:
        self.all: list[Party] = []
        self.identities: list[str] = []
        self.of_job: list[int] = []
        numbers: dict[tuple[str, str], int] = {}
        for job in trace.jobs:
            group = names.group(job)
            number = numbers.get((job.user, group))
            if number is None:
                number = numbers[job.user, group] = len(self.all)
                self.all.append(Party(job.user, group or (ROOT_GROUP if names.grouped else "")))
                self.identities.append(names.identity(job))
            self.of_job.append(number)


class _Jobs:
    """The jobs of a trace in the engine's form: one cluster per submitter, with procs in order of submission."""

    def __init__(self, trace: Trace, names: _Names, keeper: _Keeper, *, is_plain: bool) -> None:
        self.ads: dict[int, Ad] = {}
        self._trace = trace
        self._names = names
        self._keeper = keeper
        self._kinds: dict[tuple[int, int | None, int, int | None, str], int] = {}
        self._is_plain = is_plain
        for job in trace.jobs:
            kind = self._kind(job)
            if kind not in self._kinds:
                number = self._kinds[kind] = len(self._kinds) + 1
                self.ads[number] = {
                    "RequestCpus": job.cpus,
                    "RequestMemory": job.memory or 0,
                    "Requirements": _REQUIREMENTS,
                }
                if job.gpus:
                    self.ads[number] |= {"RequestGPUs": job.gpus, "Requirements": _WITH_GPUS}
                optional = {"AllowedExecuteDuration": kind[3], "AcctGroup": kind[4] or None}
                self.ads[number] |= {name: value for name, value in optional.items() if value is not None}

    def _kind(self, job: TraceJob) -> tuple[int, int | None, int, int | None, str]:
        """Return the values that distinguish jobs; only reservations and promises read limit and group."""
        return job.cpus, job.memory, job.gpus, *((None, "") if self._is_plain else (job.limit, job.group))

    def arrivals(self) -> Iterator[Arrival]:
        clusters: dict[str, int] = {}
        for number, job in enumerate(self._trace.jobs):
            name = self._names.identity(job)
            cluster = clusters.setdefault(name, len(clusters) + 1)
            proc = self._keeper.arrive(number, cluster)
            kind = self._kinds[self._kind(job)]
            yield Arrival(
                job.submit,
                JobRange(
                    cluster, proc, proc, kind, name, job.user, JobStatus.IDLE, job.submit, job.submit, job.priority
                ),
            )


class _Keeper:
    """Writes the journal and updates the meter."""

    def __init__(
        self, trace: Trace, journal: Journal, meter: ShareMeter, parties: _Parties, advance: Callable[[int], None]
    ) -> None:
        self._journal = journal
        self._meter = meter
        self._party = parties.of_job
        self._jobs = trace.jobs
        self._run = [job.run for job in trace.jobs]
        self._cpus = [job.cpus for job in trace.jobs]
        self._submit = [job.submit for job in trace.jobs]
        self._numbers: dict[int, list[int]] = {}
        self._queued = 0
        self._advance = advance
        self._ended = 0
        self._is_new = True
        self._fruitful = (0, 0)
        """The time and the cycle count at which a job last arrived, ended, or started for the first time."""
        self._preempted: dict[int, None] = {}
        """The jobs preempted since then."""

    def arrive(self, number: int, cluster: int) -> int:
        """Map the next proc of *cluster* to job *number* of the trace; return the proc."""
        procs = self._numbers.setdefault(cluster, [])
        procs.append(number)
        return len(procs) - 1

    def number(self, job: JobKey) -> int:
        return self._numbers[job.cluster][job.proc]

    def run_time(self, job: JobKey, _jobs: JobRange) -> int:
        return self._run[self.number(job)]

    def started(self, job: JobKey, match: Match, now: int) -> None:
        number = self.number(job)
        self._is_new |= bool(self._journal.first_start[number] < 0)
        self._journal.start(number, now, match.cost)
        self._count_arrived(now)
        self._meter.waiting[self._party[number]] -= self._cpus[number]
        self._meter.used[self._party[number]] += match.cost

    def ended(self, job: JobKey, tenant: Tenant, end: int, now: int) -> None:
        number = self.number(job)
        self._journal.end[number] = end
        self._meter.ended(self._party[number], tenant.weight, now - end)
        self._ended += 1
        self._is_new = True

    def preempted(self, job: JobKey, tenant: Tenant, now: int) -> None:
        number = self.number(job)
        self._preempted[number] = None
        self._journal.preempt(number, now - tenant.start, tenant.weight)
        self._meter.used[self._party[number]] -= tenant.weight
        self._meter.waiting[self._party[number]] += self._cpus[number]

    def held(self, decision: CycleDecision) -> None:
        if decision.quotas:
            self._meter.allocate({figures.group: figures.allocated for figures in decision.quotas})

    def moment(self, simulation: Simulation, now: int) -> None:
        self._count_arrived(now)
        if self._is_new:
            self._is_new = False
            self._fruitful = now, simulation.cycles
            self._preempted.clear()
        self._meter.moment(now)
        self._advance(self._ended)
        self._ended = 0

    def _count_arrived(self, now: int) -> None:
        while self._queued < len(self._submit) and self._submit[self._queued] <= now:
            self._meter.waiting[self._party[self._queued]] += self._cpus[self._queued]
            self._queued += 1
            self._is_new = True

    def is_endless(self, simulation: Simulation) -> bool:
        """Return whether jobs only preempt each other: nothing else has happened for long, and no job will arrive."""
        time, cycles = self._fruitful
        if simulation.cycles - cycles < _FRUITLESS or self._queued < len(self._submit) or not self._preempted:
            return False
        return simulation.now - time > self._journal.longest()

    def preempting(self) -> str:
        """Return the jobs that preempt each other, in words."""
        jobs = [self._jobs[number] for number in sorted(self._preempted)]
        words = [f"that of {job.user} submitted at {shown_time(job.submit)}" for job in jobs[:2]]
        return " and ".join(words) + f" and {len(jobs) - 2} others" * (len(jobs) > 2)
