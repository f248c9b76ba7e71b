"""Laws of the machines that are promised to large jobs, on simulated pools whose jobs run as long as their limits."""

import random

import pytest

from fairq.common.expression_form import as_expression
from fairq.common.records import JobRange, JobStatus
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.classad import AdColumns
from fairq.engine.simulation.pool import SimulatedPool
from fairq.engine.simulation.queues import Queues
from fairq.engine.simulation.simulation import Arrival, Simulation
from fairq.settings import load
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.simulate.shapes import read_machines, slot_ads

START = 1_000_000_000
MINUTE = 60
EVERY = 5 * MINUTE
FITS = as_expression("TARGET.Cpus >= RequestCpus && TARGET.Memory >= RequestMemory")
CORES = 4
LARGE = 1


class Watcher:
    """Notes starts, and every start on a machine that is promised to another job and not over in time."""

    def __init__(self, ends):
        self.starts, self.promised, self.given_away, self.late = {}, {}, [], []
        self.most_at_once = 0
        self._ends = ends

    def started(self, job, match, now):
        self.starts[job.cluster] = now
        for promise in self.simulation.pool.promises:
            if promise.job == job:
                if now > promise.reservation.begin:
                    self.late.append(job)
            elif promise.row == match.slot and now + self._ends[job.cluster] > promise.reservation.begin:
                self.given_away.append(job)

    def ended(self, *_): ...

    def preempted(self, *_): ...

    def held(self, *_): ...

    def moment(self, simulation, _now):
        self.most_at_once = max(self.most_at_once, len(simulation.pool.promises))
        for promise in simulation.pool.promises:
            self.promised.setdefault(promise.reservation.number, promise)
            # While it lasts, a promise stays as it is.
            assert self.promised[promise.reservation.number] == promise


def simulated(seed, patience=None, large=1, most=2):
    """Return what happens to *large* whole-machine jobs among many jobs of one or two cores."""
    draw = random.Random(seed)
    ads, arrivals, seconds = {}, [], {}

    def job(user, cpus, run, at):
        number, kind = len(seconds) + 1, 1000 * cpus + run // MINUTE
        ads[kind] = {"RequestCpus": cpus, "RequestMemory": 0, "Requirements": FITS, "AllowedExecuteDuration": run}
        seconds[number] = run
        idle = JobRange(number, 0, 0, kind, f"{user}@x", user, JobStatus.IDLE, at, at)
        arrivals.append(Arrival(at, idle))

    for _ in range(large):
        job("large", CORES, draw.choice([10, 30]) * MINUTE, START + draw.randint(0, 4) * EVERY)
    machines = draw.randint(1, 3)
    for _ in range(machines * draw.randint(10, 20)):
        at = START + draw.randint(0, 24) * EVERY
        job(draw.choice(["ann", "bob", "large"]), draw.randint(1, 2), draw.choice([10, 20, 40, 80]) * MINUTE, at)
    values = {}
    if patience is not None:
        values = {
            "FAIRQ_NEGOTIATOR_LARGE_JOB_PATIENCE": str(patience),
            "FAIRQ_NEGOTIATOR_LARGE_JOB_MACHINES": str(most),
        }
    settings = load(None, None, values)
    slots = slot_ads(read_machines(f"{machines}x{CORES}c4g"), START)
    pool = SimulatedPool([str(ad["Name"]) for ad in slots], AdColumns(slots, START))
    watcher = Watcher(seconds)
    watcher.simulation = Simulation(
        pool, Queues(), ads, Accountant([], accounting_policy(settings), START), negotiation_policy(settings),
        lambda key, _: seconds[key.cluster], sorted(arrivals, key=lambda one: one.time), START, EVERY, watcher,
    )  # fmt: skip
    watcher.simulation.advance(1 << 60)
    return watcher


def test_a_whole_machine_job_waits_no_longer_with_a_promise_than_without():
    waits = []
    for seed in range(5):
        without, with_promise = simulated(seed), simulated(seed, patience=10 * MINUTE)
        assert not without.promised
        assert with_promise.starts[LARGE] <= without.starts[LARGE]
        assert len(with_promise.starts) == len(without.starts)
        waits.append((without.starts[LARGE] - START, with_promise.starts[LARGE] - START))
    before, after = map(sum, zip(*waits, strict=True))
    assert after < before / 2, waits


@pytest.mark.parametrize("seed", range(5))
def test_with_several_large_jobs_no_machine_is_given_away_and_they_wait_less_together(seed):
    """One may wait longer than without promises, since another has its machine: together they wait less, or as long.

    More of them wait than machines may be promised.
    """
    draw = random.Random(seed)
    large, most, patience = draw.randint(2, 4), draw.randint(1, 3), draw.choice([0, 5, 10, 60]) * MINUTE
    without, seen = simulated(seed, large=large), simulated(seed, patience=patience, large=large, most=most)
    assert (seen.given_away, seen.late) == ([], [])
    assert seen.most_at_once <= most
    assert len(seen.starts) == len(without.starts)
    before, after = ([one.starts[job] - START for job in range(1, large + 1)] for one in (without, seen))
    assert sum(after) <= sum(before)
