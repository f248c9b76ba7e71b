"""The steady shares under endless demand, found by running cycles: a check of the closed form."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from fairq.common.records import AccountingRecord, Ad, JobRange, JobStatus
from fairq.engine.accounting.accountant import Accountant
from fairq.engine.accounting.factors import AccountingPolicy
from fairq.engine.classad import AdColumns
from fairq.engine.negotiation.decision import CycleDecision, Match
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.engine.simulation.pool import SimulatedPool, Tenant
from fairq.engine.simulation.queues import JobKey, Queues
from fairq.engine.simulation.simulation import Simulation

_CYCLES_PER_HALF_LIFE = 12
_HALF_LIVES = 9
_MEASURED = 2
"""Number of half-lives at the end over which the shares are averaged."""

_START = 1_000_000_000
_ENDLESS = 1 << 40


class _Counter:
    """Counts the matches of each submitter from the time *after* on."""

    def __init__(self, names: Mapping[str, float], after: int) -> None:
        self.matches = dict.fromkeys(names, 0.0)
        self._after = after

    def started(self, _job: JobKey, match: Match, now: int) -> None:
        if now >= self._after:
            self.matches[match.submitter] += 1

    def ended(self, job: JobKey, tenant: Tenant, end: int, now: int) -> None:
        """Ends are not counted."""

    def preempted(self, job: JobKey, tenant: Tenant, now: int) -> None:
        """Never happens: every job ends before the next cycle."""

    def held(self, decision: CycleDecision) -> None:
        """Cycles are not counted; their matches arrive as starts."""

    def moment(self, simulation: Simulation, now: int) -> None:
        """Moments are not counted."""


def steady_shares(
    factors: Mapping[str, float],
    priorities: Mapping[str, float],
    slots: int,
    accounting: AccountingPolicy,
    policy: NegotiationPolicy,
) -> dict[str, float]:
    """Return the share of the pool that each submitter reaches in steady state, if all have endless jobs.

    *factors* and real *priorities* are the values at the start, by name. The pool has *slots* equal slots and no
    groups, so there is one pie. Cycles run over nine half-lives, and the last two count: a disturbance halves in half
    a half-life.
    """
    length = max(1, int(accounting.priority_halflife / _CYCLES_PER_HALF_LIFE))
    end = _START + _HALF_LIVES * _CYCLES_PER_HALF_LIFE * length
    records = [
        AccountingRecord(name, priority=priorities.get(name, 0.5), priority_factor=factor)
        for name, factor in factors.items()
    ]
    accountant = Accountant(records, replace(accounting, group_names=(), remove_idle_records=False), _START - 1)
    ad: Ad = {"State": "Unclaimed", "Activity": "Idle", "Cpus": 1, "Requirements": True}
    pool = SimulatedPool([f"slot{number}" for number in range(1, slots + 1)], AdColumns([ad] * slots, _START))
    jobs = (
        JobRange(number, 0, _ENDLESS, 1, name, name, JobStatus.IDLE, 0, 0) for number, name in enumerate(factors, 1)
    )
    counter = _Counter(factors, end - _MEASURED * _CYCLES_PER_HALF_LIFE * length)
    simulation = Simulation(
        pool,
        Queues(jobs),
        {1: {"Requirements": True}},
        accountant,
        replace(policy, quotas=None),
        lambda _job, _jobs: length - 1,
        (),
        _START,
        length,
        counter,
    )
    simulation.advance(end - 1)
    total = sum(counter.matches.values()) or 1.0
    return {name: count / total for name, count in counter.matches.items()}
