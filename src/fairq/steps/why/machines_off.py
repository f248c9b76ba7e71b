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
"""Reasons why a job waits that would start if there were more slots."""


def wakeable(of: Diagnosis) -> list[int]:
    """Return the slots of machines that are off, by row, on which the job would start if they were on."""
    if of.reason not in _LACKS_SLOTS or of.concurrency_limit is not None:
        return []
    return [row for row in of.losses.rows(LostTo.UNUSABLE).tolist() if _is_off(of.outcome, row)]


def machines_off(of: Diagnosis) -> int:
    """Return the number of machines of these slots."""
    return len({_machine(of.outcome, row) for row in wakeable(of)})


def starts_if_on(outcome: Outcome) -> Iterator[tuple[JobRange, int]]:
    """Yield idle jobs that would start on machines that are off, with the number of these; each from its first one."""
    for alike, _ in kinds_left(outcome)[:KINDS]:
        off = machines_off(Diagnosis(outcome, alike[0]))
        yield from ((jobs, off) for jobs in alike if off)


def wanted_slots(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the offline slots on which jobs would start that the cycle leaves idle, and the number of these jobs.

    A match of the cycle on an offline slot (count_unusable_slots) counts, too.
    """
    jobs = Counter(match.slot for match in outcome.decision.matches if _is_off(outcome, match.slot))
    for alike, count in kinds_left(outcome)[:KINDS]:
        jobs.update(dict.fromkeys(wakeable(Diagnosis(outcome, alike[0])), count))
    return [{"slot": outcome.labels[row], "machine": _machine(outcome, row), "jobs": jobs[row]} for row in sorted(jobs)]


def _is_off(outcome: Outcome, row: int) -> bool:
    return outcome.given.ads[row].get("Offline") is True


def _machine(outcome: Outcome, row: int) -> str:
    return str(outcome.given.ads[row].get("Machine", outcome.labels[row]))
