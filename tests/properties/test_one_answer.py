"""`why`, `negotiate`, `queue --start` and the simulation answer alike about every job of a pool."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.engine.negotiation.pools import NOW
from tests.frozen.families import random_pool
from tests.golden.command_line import scratch
from tests.properties.test_why import apply, fill, pools, rules

from fairq.common.records import Actor
from fairq.engine.simulation.queues import JobKey
from fairq.settings import load
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


def simulated(path, configured, now):
    """When each job starts in an hour without new jobs, by the run times that the likely forecast has."""
    seen = Starts()
    with reading(path) as state:
        forecaster = Forecaster.of_state(state, configured, now)
    forecaster.simulation(PASSES[1], seen).advance(now + HOUR)
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
        matched = next_cycle(path, configured, SOON)
        starts = simulated(path, configured, SOON)
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
                assert (cluster, proc) in next_cycle(changed, after, SOON), (found["summary"], one)


NAMES = ("physics", "physics.hep")


def quoted(groups):
    return {f'"{name}"': members for name, members in groups.items()}


def next_cycle(path, configured, now):
    """The jobs that the next cycle matches."""
    decision = negotiate(path, configured, Actor("root", "fairq negotiate", now), dry_run=True).decision
    return {(match.cluster, match.proc) for match in decision.matches}


@pytest.mark.parametrize(("seed", "rules"), [(56, "htcondor"), (54, "htcondor"), (12, "documented")])
def test_a_simulation_begins_with_the_next_cycle(seed, rules):
    """In mixed pools: dynamic slots of imported machines, whose places decide ties, and whole machines with a job."""
    with scratch() as fairq, tempfile.TemporaryDirectory() as folder:
        now = random_pool(seed, fairq, Path(folder))
        fairq.run("config", "set", "negotiator.rules", rules)
        fairq.run("negotiate", "--now", now)
        configured = load(None, fairq.state, os.environ)
        starts = simulated(fairq.state, configured, now + 60)
        matched = next_cycle(fairq.state, configured, now + 60)
    assert {(job.cluster, job.proc) for job, time in starts.items() if time == now + 60} == matched
