"""Which machines that are off should be woken: the slots on which idle jobs would start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fairq.common.records import JobRange
from fairq.engine.explain.diagnosis import Diagnosis, Outcome, Reason
from fairq.engine.explain.losses import LostTo
from fairq.steps.why.overview import KINDS, kinds_left

_LACKS_SLOTS = frozenset(
    {
        Reason.PIECES,
        Reason.TAKEN,
        Reason.PREEMPTION_POLICY,
        Reason.PRIORITY,
        Reason.OUTRANKED,
        Reason.IN_USE,
        Reason.OWN_JOBS,
        Reason.DRAINING,
        Reason.UNUSABLE,
    }
)
"""Reasons of jobs that would start if there were more slots."""


def wakeable(diagnosis: Diagnosis) -> list[int]:
    """Return the slots of machines that are off, by row, on which the job would start if they were on."""
    if diagnosis.reason not in _LACKS_SLOTS or diagnosis.concurrency_limit is not None:
        return []
    return [row for row in diagnosis.losses.rows(LostTo.UNUSABLE).tolist() if _is_off(diagnosis.outcome, row)]


def machines_off(diagnosis: Diagnosis) -> int:
    """Return the number of machines that are off on which the job would start."""
    return len({_machine(diagnosis.outcome, row) for row in wakeable(diagnosis)})


def starts_if_on(outcome: Outcome) -> Iterator[tuple[JobRange, int]]:
    """Yield the ranges of idle jobs that would start on machines that are off, with the number of such machines."""
    for ranges, _ in kinds_left(outcome)[:KINDS]:
        machine_count = machines_off(Diagnosis(outcome, ranges[0]))
        yield from ((jobs, machine_count) for jobs in ranges if machine_count)


def wanted_slots(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the offline slots on which jobs left idle by the cycle would start, and the number of these jobs.

    A match of the cycle on an offline slot (count_unusable_slots) counts, too.
    """
    jobs = Counter(match.slot for match in outcome.decision.matches if _is_off(outcome, match.slot))
    for ranges, count in kinds_left(outcome)[:KINDS]:
        jobs.update(dict.fromkeys(wakeable(Diagnosis(outcome, ranges[0])), count))
    return [{"slot": outcome.labels[row], "machine": _machine(outcome, row), "jobs": jobs[row]} for row in sorted(jobs)]


def _is_off(outcome: Outcome, row: int) -> bool:
    return outcome.input.ads[row].get("Offline") is True


def _machine(outcome: Outcome, row: int) -> str:
    return str(outcome.input.ads[row].get("Machine", outcome.labels[row]))
