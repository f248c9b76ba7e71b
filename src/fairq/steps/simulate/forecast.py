"""Forecast when idle jobs will start if nobody submits more: simulate the next cycles on a copy of the state.

Three passes with short, likely and long run times give a range. If all run times are known, the passes agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import count, islice, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.quantities import counted, shown_time
from fairq.common.records import Ad, JobRange, JobStatus
from fairq.engine.accounting.identity import assigned_group
from fairq.engine.negotiation.decision import CycleDecision, Match
from fairq.engine.simulation.pool import Tenant
from fairq.engine.simulation.queues import JobKey
from fairq.engine.simulation.runtimes import PastRun, RunTimes
from fairq.engine.simulation.simulation import Arrival, Simulation, Witness
from fairq.state import cycles, ended_jobs, job_ads, runs
from fairq.state.connection import State
from fairq.state.pause import Pause
from fairq.steps.launch.values import read_if_usable
from fairq.steps.simulate.world import World, load_world

if TYPE_CHECKING:
    from fairq.settings import Settings

HORIZON = 14 * 86400
"""The time span of a forecast, in seconds."""

PERIOD = 86400
"""Seconds of past submissions that are repeated."""


class Assumed(NamedTuple):
    """The assumptions of a pass: the *quantile* of the run times; *again*: users submit as they did lately."""

    quantile: float
    again: bool = False


LIKELY = Assumed(0.5)
PASSES = Assumed(0.02), LIKELY, Assumed(0.98, again=True)
"""The passes for the earliest, the likely and the latest start, chosen on the LCG trace (benchmarks/forecast.py)."""

_WORK = 600_000
"""Maximum number of slots and job ranges examined by all cycles of a pass; a few cycles run in any pool.

Pairs of a slot and an autocluster count, too (`NegotiationCycle.pairs`).
"""

_FEWEST_CYCLES, _MOST_CYCLES, _MOST_FOR_SOME = 3, 4000, 1000
"""Numbers of cycles of a pass; the last one is for some jobs alone: a cycle in which jobs preempt each other takes 5 ms
in the smallest pool."""

_CYCLES_LOOKED_AT = 20
_RUNS_LOOKED_AT = 20_000
_ADS_LOOKED_AT = 2_000
_USUAL, _SHORTEST, _LONGEST = 60, 1, 3600
"""Seconds between cycles: the default if the state has too few cycles, and the bounds of the measured value."""

_ENDED_BY_ITSELF = "finished"


class Start(Struct, frozen=True):
    """The start of a job: *likely*, between *earliest* and *latest* (seconds since 1970; None: beyond the forecast).

    *place* is the job's place in line, from 1; *of* is the number of waiting jobs.
    """

    job: JobKey
    place: int | None
    of: int
    earliest: int | None
    likely: int | None
    latest: int | None


class Forecast(Struct, frozen=True):
    """Starts of jobs by job, with their assumptions.

    *sources* counts the estimated run times by their source. *every* is the time between cycles in seconds, *until*
    the end of the passes. *foreign* is the number of slots with jobs from outside the queue, assumed to stay there.
    *again*: the latest starts assume that users submit as they did lately. *pause*: the pool is paused.
    *waiting*: jobs wait for other jobs.
    """

    starts: dict[JobKey, Start]
    sources: dict[str, int]
    every: int
    until: int
    foreign: int
    again: bool = False
    pause: Pause | None = None
    waiting: bool = False

    def start_of(self, schedd: str, cluster: int, proc: int) -> Start | None:
        """Return the start of one job; None if the forecast does not contain it."""
        return self.starts.get(JobKey(schedd, cluster, proc))

    def document(self, start: Start) -> dict[str, Any]:
        """Return one start as plain data."""
        return {
            "place": start.place,
            "idle": start.of,
            "start_time": start.likely,
            "earliest_time": start.earliest,
            "latest_time": start.latest,
            "horizon_time": self.until,
            "every": self.every,
            "sources": self.sources,
            "assumptions": self.assumptions(start),
        }

    def assumptions(self, start: Start | None = None) -> list[str]:
        """Return the assumptions of the forecast, or of one *start*, as sentences."""
        sentences = ["nobody submits more jobs", f"a cycle each {self.every} s"]
        total = sum(self.sources.values()) or 1
        parts = [f"{_SOURCES[name]} {100 * count / total:.0f} %" for name, count in self.sources.items()]
        if self.waiting:
            sentences.append("all jobs that others wait for succeed")
        if parts:
            sentences.append(f"run times: {', '.join(parts)}")
        if self.again and (start is None or start.earliest != start.latest):
            sentences.append("for the latest start, the jobs of the last 24 h come again each day")
        if self.pause is not None:
            sentences.append(
                f"the pool is resumed {'now' if self.pause.until is None else shown_time(self.pause.until)}"
            )
        if self.foreign:
            sentences.append(f"jobs that are not in the queue keep {counted(self.foreign, 'slot')}")
        return sentences


_CERTAIN = frozenset({"limit", "unknown"})
"""Sources of run times that are the same in all passes."""

_SOURCES = {
    "cluster": "same cluster",
    "kind": "same submitter and limit",
    "submitter": "same submitter",
    "group": "same group",
    "pool": "whole pool",
    "limit": "declared limit",
    "unknown": "unknown (1 hour)",
}


class Forecaster:
    """Forecasts from *world*, with a cycle every *every* seconds and run times estimated by *times*.

    *recent* are the jobs submitted during the last `PERIOD`. A pass may assume that they are submitted again in each
    further period.
    """

    def __init__(
        self,
        world: World,
        every: int,
        times: RunTimes,
        recent: Sequence[JobRange] = (),
        passes: tuple[Assumed, Assumed, Assumed] = PASSES,
    ) -> None:
        self._world = world
        self._recent = sorted(recent, key=lambda jobs: jobs.queue_date)
        self._passes = passes
        self._now = world.now
        self._every = every
        self._group_names = world.accountant.policy.group_names
        self._times = times
        self._limits: dict[int, int | None] = {}
        self._sources: Counter[str] = Counter()

    @classmethod
    def of_state(cls, state: State, settings: Settings, now: int, times: RunTimes | None = None) -> Self:
        """Load *state* at *now*; *times* estimates run times, by default from the state's history."""
        world = load_world(state, settings, now)
        recent = _submitted_since(state, world, now - PERIOD)
        missing = {jobs.ad_id for jobs in recent} - world.ads.keys()
        world = replace(world, ads={**world.ads, **job_ads.ads(state, missing)})
        return cls(world, _usual_gap(state), times or _history(state, world.accountant.policy.group_names, now), recent)

    def _group(self, submitter: str) -> str:
        return assigned_group(submitter, self._group_names)

    def forecast(self, only: Collection[JobKey] | None = None, work: int | None = None) -> Forecast:
        """Return the starts of the jobs *only*, else of all idle jobs; a pass ends after *work* (`Simulation.work`)."""
        waiting = self._count
        earliest, likely_assumptions, latest = self._passes
        likely = self._run(likely_assumptions, only, work)
        sources = dict(sorted(self._sources.items()))
        certain = sources.keys() <= _CERTAIN and not likely_assumptions.again
        last = max(likely.starts.values(), default=0) if likely.is_complete else None
        is_last = certain and not (latest.again and self._comes_again(last))
        # A job without a likely start has no latest one.
        is_last = is_last or (only is not None and likely.starts.keys().isdisjoint(only))
        passes = [
            likely if certain else self._run(earliest, only, work),
            likely,
            likely if is_last else self._run(latest, only, work),
        ]
        waited = (job for job in likely.starts if job not in self._world.running)
        order = {job: position for position, job in enumerate(waited, 1)}
        jobs = dict.fromkeys(job for result in passes for job in result.starts) if only is None else dict.fromkeys(only)
        starts = {}
        for job in jobs:
            times = [result.starts.get(job) for result in passes]
            within = [time for time in times if time is not None]
            starts[job] = Start(
                job,
                order.get(job),
                waiting,
                min((result.earliest[job] for result in passes if job in result.earliest), default=None),
                times[1],
                None if len(within) < len(times) else max(within),
            )
        # Keep a likely start inside its range after rounding to whole cycles.
        until = min(result.until for result in passes)
        is_repeated = bool(self._recent) and any(assumed.again for assumed in self._passes)
        world = self._world
        waits = bool(world.waiting.afters)
        return Forecast(starts, sources, self._every, until, world.foreign, is_repeated, world.pause, waits)

    def _run(self, assumed: Assumed, only: Collection[JobKey] | None, work: int | None) -> _Pass:
        self._sources.clear()
        world = self._world
        current = _Pass(only, self._count, self._beyond)
        simulation = current.simulation = self.simulation(assumed, current)
        size = len(world.names) + len(world.idle) + len(world.waiting.jobs)
        highest = _MOST_CYCLES if only is None else _MOST_FOR_SOME

        def is_over() -> bool:
            maximum = min(highest, _WORK // (size + simulation.pairs + 1))
            if work is not None and simulation.work >= work:
                maximum = 0
            return simulation.cycles >= max(_FEWEST_CYCLES, maximum)

        current.is_over = is_over
        simulation.advance(self._now + HORIZON, current.stop)
        current.until = simulation.now if is_over() else self._now + HORIZON
        return current

    def simulation(self, assumed: Assumed, witness: Witness | None = None) -> Simulation:
        """Return the simulation of a pass, at its start; it reports to *witness*."""
        witness = witness or _Pass((), 0, 0)
        arrivals = self._submitted_again() if assumed.again else ()
        return self._world.simulation(self._run_time(assumed.quantile), witness, self._every, arrivals)

    def _comes_again(self, last: int | None) -> bool:
        """Return whether jobs are submitted again by the time *last* (None: unknown)."""
        return bool(self._recent) and (last is None or self._recent[0].queue_date + PERIOD <= last)

    @property
    def _count(self) -> int:
        """The number of idle and of waiting jobs."""
        return sum(map(len, (*self._world.idle, *self._world.waiting.jobs)))

    @cached_property
    def _beyond(self) -> int:
        """A number above the numbers of all clusters."""
        ranges = (*self._world.idle, *self._world.waiting.jobs, *self._world.running.values(), *self._recent)
        return 1 + max((jobs.cluster for jobs in ranges), default=0)

    def _submitted_again(self) -> Iterator[Arrival]:
        for period in count(1) if self._recent else ():
            shift = period * PERIOD
            for jobs in self._recent:
                time = jobs.queue_date + shift
                cluster = jobs.cluster + period * self._beyond
                yield Arrival(time, replace(jobs, cluster=cluster, queue_date=time, status_date=time))

    def _run_time(self, quantile: float) -> Callable[[JobKey, JobRange, int], int]:
        def run_time(job: JobKey, jobs: JobRange, age: int) -> int:
            limit, group = self._limit(jobs), self._group(jobs.submitter)
            estimated = self._times.estimate(job.schedd, job.cluster, jobs.submitter, group, quantile, limit, age)
            self._sources[estimated.source] += 1
            return estimated.seconds

        return run_time

    def _limit(self, jobs: JobRange) -> int | None:
        """Return the declared limit of the jobs' run time, in seconds."""
        if not jobs.own and jobs.ad_id in self._limits:
            return self._limits[jobs.ad_id]
        limit = _declared_limit({**self._world.ads[jobs.ad_id], **(jobs.own or {})}, self._now)
        if not jobs.own:
            self._limits[jobs.ad_id] = limit
        return limit


class _Pass:
    """Records the first start of every job in a cluster below *beyond*, and when it might have been earliest."""

    def __init__(self, only: Collection[JobKey] | None, count: int, beyond: int) -> None:
        self.starts: dict[JobKey, int] = {}
        self.earliest: dict[JobKey, int] = {}
        self.until = 0
        self.simulation: Simulation
        self.is_over: Callable[[], bool] = lambda: False
        self._beyond = beyond
        self._left = count if only is None else len(only)
        self._wanted = None if only is None else frozenset(only)

    @property
    def is_complete(self) -> bool:
        """Whether all wanted jobs have started."""
        return self._left <= 0

    def stop(self) -> bool:
        """Return whether all wanted jobs have started, or the pass has examined enough."""
        return self._left <= 0 or self.is_over()

    def started(self, job: JobKey, _match: Match, now: int) -> None:
        if job.cluster < self._beyond and job not in self.starts:
            self.starts[job] = now
            self.earliest[job] = self.simulation.skipped_since
            self._left -= self._wanted is None or job in self._wanted

    def ended(self, job: JobKey, tenant: Tenant, end: int, now: int) -> None:
        """Only starts count."""

    def preempted(self, job: JobKey, tenant: Tenant, now: int) -> None:
        """Only the first start counts, not a restart."""

    def held(self, decision: CycleDecision) -> None:
        """Only starts count."""

    def moment(self, simulation: Simulation, now: int) -> None:
        """Only starts count."""


def _declared_limit(ad: Ad, now: int) -> int | None:
    """Return the declared limit of the run time of a job with *ad*, in seconds."""
    limits = [
        value
        for name in ("AllowedExecuteDuration", "AllowedJobDuration")
        if name in ad and (value := read_if_usable(ad, name, now)) is not None and value > 0
    ]
    return int(min(limits)) if limits else None


def _history(state: State, groups: Sequence[str], now: int) -> RunTimes:
    """Return the run times of the last jobs that ended by themselves."""
    ended = runs.latest_with_ads(state, _ENDED_BY_ITSELF, _RUNS_LOOKED_AT)
    ad_ids = dict.fromkeys(ad for _, ad in reversed(ended) if ad is not None)
    ads = job_ads.ads(state, islice(ad_ids, _ADS_LOOKED_AT))
    limits = {number: _declared_limit(ad, now) for number, ad in ads.items()}
    return RunTimes(
        PastRun(
            run.schedd,
            run.cluster,
            run.submitter,
            assigned_group(run.submitter, groups),
            run.end_time - run.start_time,
            limits.get(ad) if ad is not None else None,
            ad in limits,
        )
        for run, ad in ended
    )


def _submitted_since(state: State, world: World, since: int) -> list[JobRange]:
    """Return the jobs submitted after *since* that wait, run or have run, as they were when submitted."""
    queued = [*world.idle, *world.running.values()]
    submitted = [replace(jobs) for jobs in queued if jobs.queue_date > since]
    for _, job in ended_jobs.page(state, ended_jobs.Wanted(since=since), _RUNS_LOOKED_AT):
        if job.queue_date > since and job.start_time is not None:
            submitted.append(
                JobRange(
                    job.cluster,
                    job.first_proc,
                    job.last_proc,
                    job.ad_id,
                    job.submitter,
                    job.owner,
                    JobStatus.IDLE,
                    job.queue_date,
                    job.queue_date,
                    job.priority,
                    job.schedd,
                    job.own,
                    job.template,
                )
            )
    return submitted


def _usual_gap(state: State) -> int:
    """Return the median time between the last cycles, in seconds."""
    times = sorted(cycle.time for cycle in cycles.summaries(state, _CYCLES_LOOKED_AT))
    gaps = sorted(later - time for time, later in pairwise(times) if later > time)
    return max(_SHORTEST, min(_LONGEST, gaps[len(gaps) // 2])) if gaps else _USUAL
