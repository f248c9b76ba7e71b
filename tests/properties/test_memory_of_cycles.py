"""Cycles that share a memory decide as cycles without one: those that try changes, and those of a forecast."""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from msgspec.structs import asdict, replace
from tests.engine.negotiation.pools import NOW
from tests.properties.test_why import fill, pools, rules

from fairq.engine.explain.diagnosis import Diagnosis, Outcome
from fairq.engine.explain.remedies import remedies
from fairq.engine.negotiation import cycle
from fairq.engine.simulation import simulation
from fairq.records import Actor
from fairq.settings import Settings
from fairq.state.connection import reading
from fairq.steps.cycle.load import load_pool, load_round_robin_times
from fairq.steps.cycle.negotiate import negotiate
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.simulate import forecast
from fairq.steps.why.world import ImaginedPool

TRIED = 5
"""Number of remedies tried for each job."""

few_examples = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def in_use(path: Path, pool: dict[str, Any]) -> Settings:
    """Make a state of *pool* after its first cycle; return its settings."""
    fill(path, pool)
    configured = rules(path, pool, {})
    negotiate(path, configured, Actor("root", "fairq negotiate", NOW))
    return configured


def decided(held: Outcome) -> tuple[Any, ...]:
    """All that a cycle decided."""
    decision = held.decision
    submitters = [asdict(of) for of in decision.submitters]
    refused = [decision.rejections.of(of["submitter"], of["schedd"]) for of in submitters]
    return list(map(asdict, decision.matches)), list(map(list, refused)), submitters, decision.pie, decision.spins


@pytest.fixture(params=["of small pools", "of large pools"])
def memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a memory keeps: in larger pools, the queues alone."""
    if request.param == "of large pools":
        monkeypatch.setattr(cycle, "MOST_SLOTS", -1)


@pytest.mark.usefixtures("memory")
@given(pools)
@few_examples
def test_a_change_brings_the_same_with_a_memory(pool: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        configured = in_use(path, pool)
        with reading(path) as state:
            loaded = load_pool(state, configured, NOW + 60)
            times = load_round_robin_times(state)
        world = ImaginedPool.of(loaded, negotiation_policy(configured), NOW + 60, times)
        held = world.hold()
        assert decided(held) == decided(replace(world, memory=None).hold())
        for job in [queue.idle[0] for queue in world.jobs.queues if len(queue.idle)]:
            one = world.about(job)
            if held.match_of(one.job()) is not None:
                continue
            for remedy in islice(remedies(Diagnosis(held, one.job())), TRIED):
                after = one.changed(remedy)
                plain = replace(after, memory=None, tried=None)
                assert decided(after.hold()) == decided(plain.hold()), remedy
                matched = plain.hold_until_matched().match_of(plain.job())
                assert after.is_matched() == (matched is not None), remedy
                assert after.hold_until_matched().match_of(after.job()) == matched, remedy
                # Tried again after others, the same is found.
                assert after.changed(remedy).hold_until_matched().match_of(after.job()) == matched, remedy


def without_memory(*given: Any, memory: object, **more: Any) -> cycle.NegotiationCycle:
    return cycle.NegotiationCycle(*given, **more)


@given(pools)
@few_examples
def test_a_forecast_is_the_same_without_a_memory(pool: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.db"
        configured = in_use(path, pool)
        with reading(path) as state, pytest.MonkeyPatch.context() as patch:
            # The first few dozen cycles are enough.
            patch.setattr(forecast, "_WORK", 400)
            known = forecast.Forecaster.of_state(state, configured, NOW + 60).forecast()
            patch.setattr(cycle, "MOST_SLOTS", -1)
            assert known == forecast.Forecaster.of_state(state, configured, NOW + 60).forecast()
            patch.setattr(simulation, "NegotiationCycle", without_memory)
            assert known == forecast.Forecaster.of_state(state, configured, NOW + 60).forecast()
