"""Forecasts of starts against the starts that followed, on a trace.

``python -m benchmarks.forecast TRACE --slots N`` simulates the trace with fair share by user. At several times it
forecasts the starts of all idle jobs, as ``fairq queue --start`` does, and compares them with the starts in the same
simulation, in which users go on submitting. It does this for several estimates of run times and several ranges.
With ``--run-times``, it compares the estimates with the run times alone.
"""

from __future__ import annotations

import argparse
import heapq
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from msgspec.structs import replace

from fairq.common.records import Ad, Claim, JobRange, JobStatus
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.decision import CycleDecision, Match
from fairq.engine.simulation.pool import SimulatedPool, Tenant
from fairq.engine.simulation.queues import JobKey, Queues
from fairq.engine.simulation.runtimes import LAST, Estimate, RunTimes, estimate_from_similar
from fairq.engine.simulation.simulation import Arrival, Simulation
from fairq.formats.trace import Trace, TraceJob
from fairq.formats.trace_table import read_trace
from fairq.settings import load
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.simulate import forecast
from fairq.steps.simulate.forecast import Assumed
from fairq.steps.simulate.shapes import Machines, slot_ads
from fairq.steps.simulate.world import World

DAY = 86400

TimedForecast = tuple[int, forecast.Forecast]
"""A forecast, and when it was made."""

Kind = Callable[[str, str, int | None], Hashable]
"""Returns the key of similar jobs, from submitter, group and declared limit."""

KINDS: dict[str, Kind] = {
    "submitter and limit": lambda user, group, limit: ("submitter and limit", user, limit),
    "submitter": lambda user, group, limit: ("submitter", user),
    "group": lambda user, group, limit: ("group", group),
    "pool": lambda user, group, limit: ("pool",),
}


@dataclass
class Past:
    """The run times of ended jobs, by the keys of similar jobs."""

    groups: dict[str, str]
    run_times_by_key: dict[Hashable, deque[int]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=LAST))
    )

    def add(self, user: str, limit: int | None, seconds: int) -> None:
        for kind in KINDS.values():
            self.run_times_by_key[kind(user, self.groups[user], limit)].append(seconds)


class Estimator(RunTimes):
    """Run times of similar jobs, by the first of *kinds* with enough of them; without kinds, the declared limit."""

    def __init__(self, past: Past, kinds: Iterable[str]) -> None:
        super().__init__(())
        self._past = past
        self._kinds = tuple(kinds)

    def estimate(
        self,
        schedd: str,
        cluster: int,
        submitter: str,
        group: str,
        quantile: float,
        limit: int | None = None,
        age: int = 0,
    ) -> Estimate:
        keys = [KINDS[kind](submitter, self._past.groups[submitter], limit) for kind in self._kinds]
        similar = estimate_from_similar(self._past.run_times_by_key, keys, quantile, limit, age)
        if similar is not None:
            return Estimate(similar[1], "group")
        return Estimate(max(limit or 3600, age), "limit")


class Replay:
    """The simulation of a trace, which can be paused for forecasts."""

    def __init__(self, trace: Trace, slots: int, every: int) -> None:
        self.trace = trace
        self.every = every
        self.starts: dict[JobKey, int] = {}
        self.idle_at: dict[int, int] = {}
        self.jobs: dict[JobKey, TraceJob] = {}
        self.submitted: list[JobRange] = []
        self.past = Past({f"{job.user}@trace": job.group for job in trace.jobs})
        self._settings = load(None, None, {})
        self._policy = negotiation_policy(self._settings)
        ads = slot_ads([Machines(slots)], trace.start)
        self._names = [str(ad["Name"]) for ad in ads]
        self._columns = AdColumns(ads, trace.start)
        self._ads: dict[int, Ad] = {}
        self._kinds: dict[int | None, int] = {}
        self.simulation = Simulation(
            SimulatedPool(self._names, self._columns),
            Queues(),
            self._ads,
            Accountant([], accounting_policy(self._settings), trace.start),
            self._policy,
            lambda job, _jobs: self.jobs[job].run,
            self._arrivals(),
            trace.start,
            every,
            self,
        )

    def _arrivals(self) -> Iterator[Arrival]:
        clusters: dict[str, int] = {}
        procs: dict[int, int] = defaultdict(int)
        for job in self.trace.jobs:
            name = f"{job.user}@trace"
            cluster = clusters.setdefault(name, len(clusters) + 1)
            proc = procs[cluster]
            procs[cluster] += 1
            self.jobs[JobKey("", cluster, proc)] = job
            ad = self._kinds.setdefault(job.limit, len(self._kinds) + 1)
            self._ads.setdefault(
                ad, {"RequestCpus": 1, "Requirements": True, "AllowedExecuteDuration": job.limit or 172_800}
            )
            jobs = JobRange(cluster, proc, proc, ad, name, job.user, JobStatus.IDLE, job.submit, job.submit)
            self.submitted.append(replace(jobs))
            yield Arrival(job.submit, jobs)

    def recent(self, now: int) -> list[JobRange]:
        """Return the jobs submitted during the period before *now*."""
        recent_jobs = []
        for jobs in self.submitted:
            if now - forecast.PERIOD < jobs.queue_date <= now:
                recent_jobs.append(jobs)
        return recent_jobs

    def world(self, now: int) -> World:
        """Return the pool at *now*."""
        simulation = self.simulation
        claims, running = {}, {}
        for run in simulation.running():
            tenant, job = run.tenant, run.job
            claims[run.row] = Claim(
                run.row, tenant.submitter, tenant.start, tenant.weight, job.schedd, job.cluster, job.proc
            )
            running[job] = run.jobs
        former_accountant = simulation.accountant
        charges = {key: replace(charge) for key, charge in former_accountant.charges.items()}
        accountant = Accountant(
            [replace(record) for record in former_accountant.records.values()],
            former_accountant.policy,
            former_accountant.last_update,
            charges,
        )
        return World(
            names=self._names,
            columns=self._columns,
            draining=frozenset(),
            rows={row: row for row in range(len(self._names))},
            claims=claims,
            dynamic={},
            idle=[replace(jobs) for jobs in simulation.queues.ranges()],
            running=running,
            ads=self._ads,
            accountant=accountant,
            policy=self._policy,
            round_robin_times={},
            now=now,
            foreign=0,
        )

    def started(self, job: JobKey, _match: Match, now: int) -> None:
        self.starts[job] = now

    def ended(self, job: JobKey, tenant: Tenant, end: int, now: int) -> None:
        self.past.add(tenant.submitter, self.jobs[job].limit, end - tenant.start)

    def preempted(self, job: JobKey, tenant: Tenant, now: int) -> None:
        """Nothing is preempted."""

    def held(self, decision: CycleDecision) -> None:
        """Only starts and ends count."""

    def moment(self, simulation: Simulation, now: int) -> None:
        """Only starts and ends count."""


@dataclass
class Score:
    """The accuracy of one way of forecasting; times in seconds."""

    jobs: int = 0
    inside: list[bool] = field(default_factory=list)
    """For each job whose range has two ends, whether the range held the start."""
    by_user: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    earlier: int = 0
    errors: list[int] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Way:
    """A way to forecast: the kinds of similar jobs (None: the true run times), and the lower quantile of the range.

    *again* says in which passes users submit as in the last day.
    """

    kinds: tuple[str, ...] | None
    quantile: float = 0.02
    again: tuple[bool, bool] = (False, False)

    @property
    def passes(self) -> tuple[Assumed, Assumed, Assumed]:
        """The passes for the earliest, the likely and the latest start."""
        likely, late = self.again
        return Assumed(self.quantile), Assumed(0.5, likely), Assumed(1 - self.quantile, late)

    @property
    def name(self) -> str:
        """The way in words."""
        kinds = "true run times" if self.kinds is None else ", ".join(self.kinds) or "limit"
        return f"{kinds} | {self.quantile:.0%} to {1 - self.quantile:.0%} | {_AGAIN_WORDS[self.again]}"


_AGAIN_WORDS = {(False, False): "no", (False, True): "latest", (True, True): "likely and latest"}


_NEAREST = ("submitter", "group", "pool")
_LATEST = (False, True)
HEADINGS = ("run times", "range", "submissions again", "jobs", "with two ends", "held", "held, mean of users",
            "earlier", "error", "width")  # fmt: skip
WAYS = (
    Way(None),
    Way(()),
    Way(("pool",)),
    Way(("group", "pool")),
    Way(_NEAREST),
    Way(tuple(KINDS)),
    Way(_NEAREST, 0.1, _LATEST),
    Way(_NEAREST, 0.02, _LATEST),
    Way(tuple(KINDS), 0.02, _LATEST),
    Way(_NEAREST, 0.02, (True, True)),
)


class TrueForecaster(forecast.Forecaster):
    """A forecaster that knows the run times."""

    def __init__(self, replay: Replay, world: World) -> None:
        super().__init__(world, replay.every, RunTimes(()))
        self._jobs = replay.jobs

    def _run_time(self, quantile: float) -> Callable[[JobKey, JobRange, int], int]:
        return lambda job, _jobs, _age: self._jobs[job].run


def measure(replay: Replay, times: Sequence[int], after: int, ways: Iterable[Way]) -> dict[Way, list[TimedForecast]]:
    """Forecast at each of *times* in each of the *ways*; end the simulation *after* seconds after the last time."""
    forecasts: dict[Way, list[TimedForecast]] = defaultdict(list)
    for now in times:
        replay.simulation.advance(now)
        if not replay.simulation.queues.idle:
            continue
        replay.idle_at[now] = replay.simulation.queues.idle
        world = replay.world(now)
        for way in ways:
            began = time.process_time()
            if way.kinds is None:
                forecaster: forecast.Forecaster = TrueForecaster(replay, world)
            else:
                times_of = Estimator(replay.past, way.kinds)
                forecaster = forecast.Forecaster(world, replay.every, times_of, replay.recent(now), way.passes)
            forecasts[way].append((now, forecaster.forecast()))
            print(
                f"day {(now - replay.trace.start) / DAY:.2f}: {replay.simulation.queues.idle} idle; {way.name}:"
                f" {time.process_time() - began:.1f} s",
                flush=True,
            )
    replay.simulation.advance(max(times) + after)
    return forecasts


def score(replay: Replay, forecasts: Iterable[TimedForecast]) -> Score:
    """Compare *forecasts* with the starts."""
    result = Score()
    for now, forecast_made in forecasts:
        result.jobs += replay.idle_at[now]
        for job, start in forecast_made.starts.items():
            truth = replay.starts.get(job, replay.simulation.now)
            early = start.earliest is not None and truth < start.earliest
            result.earlier += early
            if start.likely is not None:
                result.errors.append(abs(start.likely - truth))
            if start.latest is not None and start.earliest is not None:
                inside = not early and truth <= start.latest
                result.inside.append(inside)
                result.by_user[replay.jobs[job].user].append(inside)
                result.widths.append(start.latest - start.earliest)
    return result


def run_times(trace: Trace) -> None:
    """Compare estimates, made at each submission from the jobs that have ended by then, with the run times."""
    past = Past({f"{job.user}@trace": job.group for job in trace.jobs})
    estimators = {way.kinds: Estimator(past, way.kinds) for way in WAYS if way.kinds is not None}
    inside = dict.fromkeys(((kinds, low) for kinds in estimators for low in (0.02, 0.05, 0.1)), 0)
    near = dict.fromkeys(estimators, 0.0)
    ends: list[tuple[int, int]] = []
    for index, job in enumerate(trace.jobs):
        while ends and ends[0][0] <= job.submit:
            ended = trace.jobs[heapq.heappop(ends)[1]]
            past.add(f"{ended.user}@trace", ended.limit, ended.run)
        heapq.heappush(ends, (job.submit + job.run, index))
        for kinds, estimator in estimators.items():
            quantiles = {
                quantile: estimator.estimate("", 0, f"{job.user}@trace", "", quantile, job.limit).seconds
                for quantile in (0.02, 0.05, 0.1, 0.5, 0.9, 0.95, 0.98)
            }
            low, high = sorted((max(quantiles[0.5], 1), max(job.run, 1)))
            near[kinds] += low / high
            for low in (0.02, 0.05, 0.1):
                inside[kinds, low] += quantiles[low] <= job.run <= quantiles[round(1 - low, 2)]
    print("run times | smaller by larger of median and truth | inside 2% to 98% | 5% to 95% | 10% to 90%")
    for kinds in estimators:
        parts = [f"{inside[kinds, low] / len(trace.jobs):.1%}" for low in (0.02, 0.05, 0.1)]
        print(f"{', '.join(kinds) or 'limit'} | {near[kinds] / len(trace.jobs):.3f} | {' | '.join(parts)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace")
    parser.add_argument("--slots", type=int, default=1000)
    parser.add_argument("--every", type=int, default=300)
    parser.add_argument("--days", default="2.5,3.75,5,6.25,7.5,8.75", help="when to forecast, in days after the start")
    parser.add_argument("--after", type=float, default=5, help="when to end, in days after the last forecast")
    parser.add_argument("--ways", type=int, nargs="*", help="numbers of the ways, from 0")
    parser.add_argument("--run-times", action="store_true", help="compare the estimates of run times only")
    words = parser.parse_args()
    if words.run_times:
        run_times(read_trace(words.trace))
        return
    replay = Replay(read_trace(words.trace), words.slots, words.every)
    times = [replay.trace.start + round(float(day) * DAY / words.every) * words.every for day in words.days.split(",")]
    ways = [WAYS[number] for number in words.ways] if words.ways else WAYS
    forecasts_by_way = measure(replay, times, round(words.after * DAY), ways)
    print(f"{words.slots} slots, {len(times)} times")
    print(" | ".join(HEADINGS))
    for way, forecasts in forecasts_by_way.items():
        result = score(replay, forecasts)
        print(
            f"{way.name} | {result.jobs} | {len(result.inside) / result.jobs:.1%} | {mean(result.inside):.1%} |"
            f" {mean(mean(inside) for inside in result.by_user.values()):.1%} | {result.earlier / result.jobs:.1%} |"
            f" {hours(result.errors)} | {hours(result.widths)}"
        )


def hours(seconds: list[int]) -> str:
    """Return the median, in hours."""
    return f"{median(seconds) / 3600:.1f} h" if seconds else "-"


if __name__ == "__main__":
    main()
