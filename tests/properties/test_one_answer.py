"""`why`, `negotiate`, `queue --start` and the simulation answer alike about every job of a pool."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from tests.engine.negotiation.pools import NOW
from tests.properties.test_why import apply, fill, pools, rules

from fairq.common.records import Actor
from fairq.engine.simulation.queues import JobKey
from fairq.state import jobs
from fairq.state.connection import reading
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.simulate.forecast import PASSES, Forecaster
from fairq.steps.why.answer import why

HOUR = 3600
SOON = NOW + 60
"""When all are asked: one cycle was held at NOW."""

ASKED = 2
"""Number of jobs asked about in each pool."""

WORK = 5_000
"""How much a pass of a forecast looks at."""


class Starts:
    """Records when each job first starts."""

    def __init__(self):
        self.times: dict[JobKey, int] = {}

    def started(self, job, match, now):
        self.times.setdefault(job, now)

    def ended(self, *event): ...
    def preempted(self, *event): ...
    def held(self, *event): ...
    def moment(self, simulation, now): ...


def simulated(path, configured):
    """When each job starts in an hour without new jobs, by the run times that the likely forecast has."""
    seen = Starts()
    with reading(path) as state:
        forecaster = Forecaster.of_state(state, configured, SOON)
    forecaster.simulation(PASSES[1], seen).advance(SOON + HOUR)
    return seen.times


def first(moment, otherwise):
    return otherwise if moment is None else moment


@given(pools)
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_two_answers_never_contradict_each_other(pool):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        fill(path, pool)
        groups = {}
        if pool["quotas"] is not None:
            surplus = {"accept_surplus": pool["surplus"], "autoregroup": pool["autoregroup"]}
            groups = {name: {"quota": quota, **surplus} for name, quota in zip(NAMES, pool["quotas"], strict=True)}
        configured = rules(path, pool, quoted(groups))
        negotiate(path, configured, Actor("root", "fairq negotiate", NOW))
        matched = next_cycle(path, configured)
        starts = simulated(path, configured)
        assert {(job.cluster, job.proc) for job, time in starts.items() if time == SOON} == matched
        with reading(path) as state:
            idle = [JobKey(of.schedd, of.cluster, of.last_proc) for of in jobs.idle(state)][-ASKED:]
            forecast = Forecaster.of_state(state, configured, SOON).forecast(idle, WORK)
        for key in idle:
            _, cluster, proc = key
            found = why(path, configured, f"{cluster}.{proc}", SOON, ahead=True)
            assert (found["reason"] == "would be matched") == ((cluster, proc) in matched), found["summary"]
            if found["reason"] == "would be matched":
                continue
            time = starts.get(key)
            told = forecast.starts[key]
            if time is not None:
                start = found["start"]
                assert start is not None, found["summary"]
                assert first(start["earliest_time"], start["horizon_time"]) <= time, found["summary"]
                assert first(told.earliest, forecast.until) <= time, found["summary"]
            for number, one in enumerate(found["alternatives"]):
                changed = path.with_name(f"{number}.db")
                changed.write_bytes(path.read_bytes())
                made = {
                    "groups": {name: dict(members) for name, members in groups.items()},
                    "settings": dict(pool["settings"]),
                    "limits": dict(pool["limits"]),
                }
                for change in one["changes"]:
                    apply(changed, configured, change, made)
                after = rules(changed, {**pool, **made}, quoted(made["groups"]))
                assert (cluster, proc) in next_cycle(changed, after), (found["summary"], one)


NAMES = ("physics", "physics.hep")


def quoted(groups):
    return {f'"{name}"': members for name, members in groups.items()}


def next_cycle(path, configured):
    """The jobs that the next cycle matches."""
    decision = negotiate(path, configured, Actor("root", "fairq negotiate", SOON), dry_run=True).decision
    return {(match.cluster, match.proc) for match in decision.matches}
