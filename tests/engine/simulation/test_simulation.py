"""Simulations against known answers: steady states, waves of jobs, laws of conservation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fairq.common.records import AccountingRecord, JobRange, JobStatus
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import AdColumns
from fairq.engine.simulation.fairness import jain_index
from fairq.engine.simulation.longrun import factors_for, long_run_use
from fairq.engine.simulation.pool import SimulatedPool
from fairq.engine.simulation.queues import Queues
from fairq.engine.simulation.simulation import Simulation
from fairq.formats.trace import Trace, TraceJob
from fairq.settings import load
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.simulate.replay import Policy, replay
from fairq.steps.simulate.shapes import read_machines, slot_ads

START = 1_000_000_000
HOUR = 3600


def trace(*jobs, cpus=1):
    """Jobs as (submit time after the start, run time, user)."""
    return Trace([TraceJob(START + at, run, user, cpus=cpus) for at, run, user in sorted(jobs)], START)


def simulated(jobs, slots, every=300, factors=None, one_identity=False, **settings):
    rules = load(None, None, {f"FAIRQ_{name.upper()}": value for name, value in settings.items()})
    policy = Policy("test", rules, one_identity, factors or {})
    return replay(jobs, policy, slot_ads(read_machines(slots), jobs.start), every, HOUR)


def endless(user, hours, run, width):
    """More jobs of *run* seconds than *width* slots can do in so many hours."""
    return [(0, run, user)] * (hours * HOUR // run * width)


def test_two_users_with_endless_jobs_at_factors_1_to_4_settle_at_2_to_1():
    jobs = trace(*endless("alice", 20, 1200, 30), *endless("bob", 20, 1200, 30))
    result = simulated(jobs, "30", every=1200, factors={"alice": 1.0, "bob": 4.0}, accounting_priority_halflife="3600")
    late = list(result.meter.windows())[8:18]
    alice, bob = np.sum([window.delivered for window in late], axis=0)
    assert alice / bob == pytest.approx(2.0, rel=0.03)
    first = result.journal.first_start == START
    assert (first[: len(first) // 2].sum(), first.sum()) == (24, 30)  # the first cycle alone shows 4:1


class Watcher:
    """Sums the slots in use and the real priorities of each submitter from the time *after* on."""

    def __init__(self, after):
        self.use: Counter[str] = Counter()
        self.priority: Counter[str] = Counter()
        self.moments = 0
        self._after = after

    def started(self, *_): ...

    def ended(self, *_): ...

    def preempted(self, *_): ...

    def held(self, *_): ...

    def moment(self, simulation, now):
        if now < self._after:
            return
        self.moments += 1
        for name, _idle, used in simulation.queues.counts():
            self.use[name] += used
            self.priority[name] += simulation.accountant.record(name).priority


def test_in_steady_state_each_real_priority_is_the_use():
    """Factors 1, 4 and 9 on 110 slots, endless jobs: 60, 30 and 20 slots, and the same real priorities."""
    half_life, every = 3600, 300
    rules = load(None, None, {"FAIRQ_ACCOUNTING_PRIORITY_HALFLIFE": str(half_life)})
    factors = {"a@d": 1.0, "b@d": 4.0, "c@d": 9.0}
    records = [AccountingRecord(name, priority_factor=factor) for name, factor in factors.items()]
    ads = slot_ads(read_machines("110"), START)
    watcher = Watcher(START + 7 * half_life)
    simulation = Simulation(
        SimulatedPool([str(ad["Name"]) for ad in ads], AdColumns(ads, START)),
        Queues(JobRange(n, 0, 1 << 40, 1, name, name, JobStatus.IDLE, 0, 0) for n, name in enumerate(factors, 1)),
        {1: {"Requirements": True}},
        Accountant(records, accounting_policy(rules), START - 1),
        negotiation_policy(rules),
        lambda _job, _jobs: every,
        (),
        START,
        every,
        watcher,
    )
    simulation.advance(START + 9 * half_life)
    for name, slots in zip(factors, (60, 30, 20), strict=True):
        use, priority = watcher.use[name] / watcher.moments, watcher.priority[name] / watcher.moments
        assert use == pytest.approx(slots, rel=0.01)
        assert priority == pytest.approx(use, rel=0.01)


def test_equal_users_get_equal_parts_and_jains_index_is_one():
    jobs = trace(*endless("alice", 6, 600, 10), *endless("bob", 6, 600, 10))
    result = simulated(jobs, "10", every=600)
    index, parties = jain_index(*result.meter.totals())
    assert (index, parties) == (pytest.approx(1.0, abs=1e-3), 2)


@pytest.mark.parametrize(("every", "wait"), [(100, 150.0), (0, 150.0), (80, 240.0)])
def test_equal_jobs_run_in_waves(every, wait):
    """Four waves of 100 s: mean wait (4 - 1) · 100 / 2; with a cycle each 80 s, waves are 160 s apart."""
    result = simulated(trace(*[(0, 100, "u")] * 20), "5", every=every)
    assert result.journal.waits().mean() == wait
    assert result.end - START == (400 if every != 80 else 580)


def test_a_job_waits_for_the_next_cycle():
    result = simulated(trace((1, 10, "u"), (299, 10, "u"), (300, 10, "u"), (301, 10, "u")), "9", every=300)
    assert (result.journal.first_start - START).tolist() == [300, 300, 300, 600]


@pytest.mark.parametrize("one_identity", [True, False])
def test_no_job_and_no_second_of_work_is_lost(one_identity):
    rng = np.random.default_rng(7)
    jobs = [(int(at), int(run), f"u{user}") for at, run, user in zip(
        rng.integers(0, 20_000, 200), rng.integers(0, 4000, 200), rng.integers(0, 9, 200), strict=True)]  # fmt: skip
    result = simulated(trace(*jobs), "7", every=300, one_identity=one_identity)
    journal = result.journal
    assert (journal.end >= 0).all() and (journal.end - journal.first_start == journal.run).all()
    assert journal.busy(START, result.end) == sum(run for _, run, _ in jobs)
    overlap = [((journal.first_start <= at) & (journal.end > at)).sum() for at in range(START, result.end, 500)]
    assert max(overlap) <= 7


def test_one_identity_is_first_come_first_served():
    jobs = trace(*[(10 * n, 1000, f"u{n % 3}") for n in range(30)])
    starts = simulated(jobs, "4", one_identity=True).journal.first_start
    assert (np.diff(starts) >= 0).all()


def test_a_machine_is_divided_and_merged_again():
    """Eight cores: 4 + 4 run at once, the job of 8 cores after them."""
    jobs = Trace([TraceJob(START, 500, "a", cpus=n, memory=1024 * n) for n in (4, 4, 8, 1)], START)
    result = simulated(jobs, "1x8c16g", every=100)
    assert sorted((result.journal.first_start - START).tolist()) in ([0, 0, 500, 1000], [0, 0, 500, 500])
    assert result.journal.weight.tolist() == [4.0, 4.0, 8.0, 1.0]


def test_a_part_of_a_machine_that_prefers_another_job_goes_to_it_as_it_is():
    """The job of b takes over a part of two cores, which counts as two until the job ends."""
    jobs = Trace(
        [TraceJob(START, 5000, "a", cpus=2), TraceJob(START, 5000, "a", cpus=2), TraceJob(START + 50, 500, "b"),
         TraceJob(START + 60, 100, "a", cpus=2)], START)  # fmt: skip
    ads = [{**ad, "Rank": '/Expr(TARGET.Owner == "b")/'} for ad in slot_ads(read_machines("1x4c8g"), START)]
    result = replay(jobs, Policy("test", load(None, None, {}), False, {}), ads, 100, HOUR)
    assert (result.journal.first_start - START).tolist() == [0, 0, 100, 5000]
    assert result.journal.weight[2] == 2.0
    assert result.journal.preemptions.sum() == 1
    assert (result.journal.end >= 0).all()


def test_preempted_work_is_done_again_and_counted_as_lost():
    jobs = trace(*[(0, 100_000, "hog")] * 4, *[(50_000, 1000, "late")] * 4)
    result = simulated(
        jobs, "4", every=1000, negotiator_preemption_requirements="RemoteUserPrio > SubmitterUserPrio * 1.2"
    )
    assert result.journal.preemptions.sum() > 0
    assert result.journal.lost.sum() == result.journal.preemptions.sum() * 50_000
    assert (result.journal.end >= 0).all()


@pytest.mark.parametrize(
    ("constraint", "starts"),
    [
        ("RequestCpus == 2", [0, 500, None, None]),
        (f"RequestCpus == 2 || time() >= {START + 400}", [0, 500, 1000, 1000]),
        (f"RequestCpus == 2 || time() < {START + 400}", [0, 500, None, None]),
        (f"RequestCpus == 1 || time() >= {START + 400}", [500, 1000, 0, 0]),
    ],
)
def test_a_constraint_on_jobs_is_evaluated_again_where_the_time_matters(constraint, starts):
    jobs = Trace([TraceJob(START, 500, "a", cpus=n) for n in (2, 2, 1, 1)], START)
    result = simulated(jobs, "1x2c4g", every=100, negotiator_negotiator_job_constraint=constraint)
    expected = [-1 if start is None else START + start for start in starts]
    assert result.journal.first_start.tolist() == expected


def test_the_same_trace_gives_the_same_starts_again():
    jobs = trace(*[(37 * n % 5000, 61 * n % 900, f"u{n % 5}") for n in range(100)])
    one, other = (simulated(jobs, "3").journal for _ in range(2))
    assert (one.first_start == other.first_start).all()


@pytest.mark.parametrize(
    ("total", "factors", "demands", "expected"),
    [
        (300, [1, 4], [np.inf, np.inf], [200, 100]),
        (110, [1, 4, 9], [np.inf] * 3, [60, 30, 20]),
        (3, [1, 16], [np.inf] * 2, [2.4, 0.6]),
        (2, [1, 100], [np.inf] * 2, [1.926, 0.074]),  # below half a slot
        (300, [1, 4], [50, np.inf], [50, 250]),
        (100, [1, 1, 1], [10, np.inf, np.inf], [10, 45, 45]),
        (100, [1, 4], [30, 40], [30, 40]),  # not contended
        (100, [], [], []),
    ],
)
def test_long_run_in_closed_form(total, factors, demands, expected):
    assert long_run_use(total, factors, demands).tolist() == pytest.approx(expected, abs=1e-3)


def test_factors_for_shares():
    assert factors_for([0.5, 0.25], [1000, 1000]) == pytest.approx([62.5, 250])
    assert factors_for([0.5, 0.25], []) == pytest.approx([1, 4])
