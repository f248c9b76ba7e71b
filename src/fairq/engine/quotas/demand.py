"""The demand of a group's submitters in slot weight (docs/htcondor.md 4.2; schedd.cpp, count_a_job).

The weight of an idle job is that of a slot with exactly the resources that the job requests.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.common.records import Ad, JobRange, job_count
from fairq.engine.classad import (
    AdColumns,
    EvaluationBudget,
    Expression,
    evaluate_in_columns,
    evaluate_scalar,
    expression_of,
)
from fairq.engine.quotas.policy import DemandPolicy

_REQUESTS = {"requestcpus": ("Cpus", 1), "requestmemory": ("Memory", 0), "requestdisk": ("Disk", 0)}
"""For each request of a job: the slot's attribute, and its default."""

_Slot = tuple[tuple[type, float], ...]
"""A slot with exactly the resources that a job requests: the type and the value of each."""


class IdleDemand:
    """Computes the weight of idle jobs; *ads* are their shared ads by id, *budget* limits their expressions."""

    def __init__(self, policy: DemandPolicy, ads: Mapping[int, Ad], budget: EvaluationBudget | None = None) -> None:
        self._policy, self._ads, self._budget = policy, ads, budget
        self._requests = _REQUESTS
        if policy.dominant is not None:
            requests = {f"request{name.lower()}": (name, 0) for name in policy.dominant.resources}
            self._requests = _REQUESTS | {
                name: slot_attribute for name, slot_attribute in requests.items() if name not in _REQUESTS
            }
        self._slots_by_ad: dict[int, _Slot] = {}
        self._weights: dict[_Slot, float] = {}

    def of(self, idle: Sequence[JobRange]) -> float:
        """Return the summed weight of all *idle* jobs."""
        job_weight = self._policy.job_weight
        if not self._policy.weighted:
            return float(job_count(idle))
        if job_weight is not None:
            return sum((self._weight_by_expression(job_weight, jobs) for jobs in idle), start=0.0)
        slots_by_range = [list(self._counted_slots(jobs)) for jobs in idle]
        self._compute_weights(slot for counted_slots in slots_by_range for slot, _ in counted_slots)
        return sum(
            (sum(self._weights[slot] * count for slot, count in counted_slots) for counted_slots in slots_by_range),
            start=0.0,
        )

    def of_resources(self, idle: Sequence[JobRange]) -> NDArray[np.float64]:
        """Return the summed weight of each resource that *idle* jobs request; the policy must be dominant."""
        assert self._policy.dominant is not None
        counts: Counter[_Slot] = Counter()
        for jobs in idle:
            for slot, count in self._counted_slots(jobs):
                counts[slot] += count
        weights = np.zeros(len(self._policy.dominant.resources))
        for slot, count in counts.items():
            weights += count * self._policy.dominant.of_request(self._ad(slot))
        return weights

    def _ad(self, slot: _Slot) -> dict[str, float]:
        names = (name for name, _ in self._requests.values())
        return {name: value for name, (_, value) in zip(names, slot, strict=True)}

    def _weight_by_expression(self, job_weight: Expression, jobs: JobRange) -> float:
        """Return the summed weight of a range by *job_weight*, which is evaluated in each job."""
        total = 0.0
        for job, count in self._counted_ads(jobs):
            weight = self._evaluate(job_weight, job)
            total += self._valid_weight(float(weight) if _is_number(weight) else math.nan, self._slot(job)) * count
        return total

    def _counted_slots(self, jobs: JobRange) -> Iterator[tuple[_Slot, int]]:
        """Yield the slots that the jobs of a range request, each with the number of its jobs."""
        if self._changes_requests(jobs.own) or self._changes_requests(jobs.template):
            yield from ((self._slot(job), count) for job, count in self._counted_ads(jobs))
            return
        if jobs.ad_id not in self._slots_by_ad:
            self._slots_by_ad[jobs.ad_id] = self._slot(self._ads[jobs.ad_id])
        yield self._slots_by_ad[jobs.ad_id], len(jobs)

    def _counted_ads(self, jobs: JobRange) -> Iterator[tuple[Ad, int]]:
        """Yield the ads of a range, each with the number of jobs that have it."""
        shared = self._ads[jobs.ad_id]
        if not jobs.template:
            yield jobs.ad_of(shared, jobs.first_proc), len(jobs)
            return
        yield from ((jobs.ad_of(shared, proc), 1) for proc in range(jobs.first_proc, jobs.last_proc + 1))

    def _slot(self, job: Ad) -> _Slot:
        slot: dict[str, float] = dict(self._requests.values())
        for name, value in job.items():
            if name.lower() in self._requests:
                number = value if _is_number(value) else self._evaluate(expression_of(value), job)
                if _is_number(number):
                    slot[self._requests[name.lower()][0]] = number
        return tuple((type(value), value) for value in slot.values())

    def _compute_weights(self, slots: Iterable[_Slot]) -> None:
        """Store the weights of *slots*: SLOT_WEIGHT, evaluated for all at once, or the largest share of a resource."""
        new_slots = [slot for slot in dict.fromkeys(slots) if slot not in self._weights]
        if not new_slots:
            return
        ads = [self._ad(slot) for slot in new_slots]
        if self._policy.dominant is None:
            columns = AdColumns(ads, budget=self._budget)
            weights = evaluate_in_columns(self._policy.slot_weight, columns, {}).as_rank(math.nan).tolist()
        else:
            weights = [float(self._policy.dominant.of_request(ad).max()) for ad in ads]
        self._weights |= {
            slot: self._valid_weight(weight, slot) for slot, weight in zip(new_slots, weights, strict=True)
        }

    def _valid_weight(self, weight: float, slot: _Slot) -> float:
        """Return *weight*, truncated if the policy says so; if it is negative or not a number, the cores of *slot*."""
        (_, cores), *_ = slot
        valid = weight if weight >= 0 else cores
        return float(int(valid) if self._policy.truncated else valid)

    def _evaluate(self, expression: Expression, job: Ad) -> Any:
        return evaluate_scalar(expression, job, budget=self._budget)

    def _changes_requests(self, overlay: Ad | None) -> bool:
        return bool(overlay) and any(name.lower() in self._requests for name in overlay or ())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
