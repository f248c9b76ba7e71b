"""The nearest slots to a job, and the changes of job or slot with which they match."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.common.records import JOB_COLUMNS
from fairq.engine.explain.changes import Change, ChangeKind
from fairq.engine.explain.checks import JobCheck, PoolChecks, SlotCheck

_OTHER_TEXT, _NO_CLAUSE, _OTHER_SLOT = 1.5, 3.0, 10.0
"""Costs of another text, of removing a clause of the job, and of removing a clause of a slot.

Another number costs between 1 and 2, more with larger distance.
"""

_BUSY = 0.5


def nearest_slots(checks: PoolChecks, free: NDArray[np.bool_], count: int) -> list[int]:
    """Return the *count* slots that need the smallest change for a match; among equals, *free* slots first."""
    cost = np.where(free, 0.0, _BUSY)
    for check in checks.of_job:
        cost += np.where(check.passes, 0.0, _job_cost(check, checks))
    for slot_check in checks.of_slots:
        refusing = slot_check.refusing
        if len(refusing):
            cost[refusing] += _slot_cost(slot_check, checks)
    return [int(row) for row in np.argsort(cost, kind="stable")[:count]]


def changes_for(row: int, checks: PoolChecks, job: str, slot: str) -> list[Change]:
    """Return the changes with which the job named *job* matches the slot in *row*, named *slot*."""
    changes: dict[tuple[ChangeKind, str], tuple[Change, bool]] = {}
    if "requirements" not in checks.job:
        _add_change(changes, Change(ChangeKind.JOB_ATTRIBUTE, job, True, "Requirements"), False)
    for check in checks.of_job:
        if not check.passes[row]:
            _add_change(changes, *_job_change(check, checks, row, job))
    for slot_check in checks.of_slots:
        if row in slot_check.refusing:
            _add_change(changes, *_slot_change(slot_check, checks, row, job, slot))
    return [change for change, _ in changes.values()]


def _add_change(changes: dict[tuple[ChangeKind, str], tuple[Change, bool]], change: Change, prefers_less: bool) -> None:
    """Add a change; of two numbers for one attribute, keep the more distant one."""
    key = (change.kind, (change.clause or change.attribute or "").lower())
    earlier = changes.get(key)
    if earlier is not None and isinstance(change.to, int | float) and isinstance(earlier[0].to, int | float):
        is_further = change.to < earlier[0].to if prefers_less else change.to > earlier[0].to
        change = change if is_further else earlier[0]
    changes[key] = (change, prefers_less)


def _job_change(check: JobCheck, checks: PoolChecks, row: int, job: str) -> tuple[Change, bool]:
    compared, clause = check.comparison, check.clause
    is_compared = compared is not None and not isinstance(check.compared_with, bool)
    value = checks.values(check, [row]).python(0) if is_compared else None
    if compared is None or not isinstance(value, int | float | str):
        return Change(ChangeKind.REQUIREMENTS_CLAUSE, job, None, clause.attribute, clause.text), False
    to = compared.value_for(value)
    if compared.own is not None and compared.own.lower() not in JOB_COLUMNS:
        return Change(ChangeKind.JOB_ATTRIBUTE, job, to, compared.own, now=check.compared_with), compared.prefers_more
    text = compared.with_value(to)
    return Change(ChangeKind.REQUIREMENTS_CLAUSE, job, text, clause.attribute, clause.text), False


def _slot_change(check: SlotCheck, checks: PoolChecks, row: int, job: str, slot: str) -> tuple[Change, bool]:
    compared, clause = check.comparison, check.clause
    if compared is not None and compared.attribute.lower() not in JOB_COLUMNS:
        bound = checks.bounds(check, [row]).python(0)
        if isinstance(bound, int | float | str):
            now = checks.job.get(compared.attribute.lower())
            to = compared.attribute_for(bound)
            return Change(ChangeKind.JOB_ATTRIBUTE, job, to, compared.attribute, now=now), not compared.prefers_more
    return Change(ChangeKind.SLOT_CLAUSE, slot, None, clause.attribute, clause.text), False


def _job_cost(check: JobCheck, checks: PoolChecks) -> NDArray[np.float64] | float:
    if check.comparison is None or isinstance(check.compared_with, bool):
        return _NO_CLAUSE
    if isinstance(check.compared_with, str):
        return _OTHER_TEXT
    return _distance(checks.values(check).numbers, float(check.compared_with), _NO_CLAUSE)


def _slot_cost(check: SlotCheck, checks: PoolChecks) -> NDArray[np.float64] | float:
    compared = check.comparison
    if compared is None or compared.attribute.lower() in JOB_COLUMNS:
        return _OTHER_SLOT
    bounds = checks.bounds(check, check.refusing).numbers
    now = checks.job.get(compared.attribute.lower())
    if not isinstance(now, int | float):
        return np.where(np.isfinite(bounds), _OTHER_TEXT, _NO_CLAUSE)
    return _distance(bounds, float(now), _NO_CLAUSE)


def _distance(values: NDArray[np.float64], target: float, otherwise: float) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", over="ignore"):
        relative = np.abs(values - target) / max(1.0, abs(target))
        cost = 1 + relative / (1 + relative)
    return np.where(np.isfinite(cost), cost, otherwise)
