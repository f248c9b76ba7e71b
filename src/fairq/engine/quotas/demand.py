"""The demand of a group's submitters in slot weight (docs/htcondor.md 4.2; schedd.cpp, count_a_job).

The weight of an idle job is that of a slot with exactly the resources that the job requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairq.common.records import Ad, JobRange, job_count
from fairq.engine.classad import EvaluationBudget, Expression, evaluate_scalar, expression_of
from fairq.engine.quotas.policy import DemandPolicy

_REQUESTS = {"requestcpus": ("Cpus", 1), "requestmemory": ("Memory", 0), "requestdisk": ("Disk", 0)}
"""The resources of a slot made for the job, and their defaults."""


class IdleDemand:
    """Computes the weight of idle jobs; *ads* are their shared ads by id, *budget* limits their expressions."""

    def __init__(self, policy: DemandPolicy, ads: Mapping[int, Ad], budget: EvaluationBudget | None = None) -> None:
        self._budget = budget
        self._policy = policy
        self._ads = ads
        self._known: dict[int, float] = {}
        self._of_slots: dict[tuple[object, ...], float] = {}

    def of(self, idle: Sequence[JobRange]) -> float:
        """The summed weight of all *idle* jobs."""
        if not self._policy.weighted:
            return float(job_count(idle))
        return sum((self._weight(jobs) for jobs in idle), start=0.0)

    def _weight(self, jobs: JobRange) -> float:
        if not (_matters(jobs.own) or _matters(jobs.template)) and self._policy.job_weight is None:
            weight = self._known.get(jobs.ad_id)
            if weight is None:
                weight = self._known[jobs.ad_id] = self._of_job(self._ads[jobs.ad_id])
            return weight * len(jobs)
        shared = self._ads[jobs.ad_id]
        if not jobs.template:
            return self._of_job(jobs.ad_of(shared, jobs.first_proc)) * len(jobs)
        procs = range(jobs.first_proc, jobs.last_proc + 1)
        return sum(self._of_job(jobs.ad_of(shared, proc)) for proc in procs)

    def _of_job(self, job: Ad) -> float:
        slot = dict(_REQUESTS.values())
        for name, value in job.items():
            if name.lower() in _REQUESTS:
                number = value if _is_number(value) else self._evaluated(expression_of(value), job)
                if _is_number(number):
                    slot[_REQUESTS[name.lower()][0]] = number
        policy = self._policy
        of_job = policy.job_weight
        weight = self._of_slot(slot) if of_job is None else self._evaluated(of_job, job)
        if not _is_number(weight) or not weight >= 0:
            weight = slot["Cpus"]
        return float(int(weight) if policy.whole else weight)

    def _of_slot(self, slot: Ad) -> Any:
        """The weight of a slot by SLOT_WEIGHT; jobs with equal requests share it."""
        key = tuple((type(value), value) for value in slot.values())
        known = self._of_slots.get(key)
        if known is not None:
            return known
        weight = self._evaluated(self._policy.slot_weight, slot)
        if _is_number(weight):
            self._of_slots[key] = weight
        return weight

    def _evaluated(self, expression: Expression, ad: Ad) -> Any:
        return evaluate_scalar(expression, ad, budget=self._budget)


def _matters(overlay: Ad | None) -> bool:
    return bool(overlay) and any(name.lower() in _REQUESTS for name in overlay or ())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)
