"""Priorities stored by a live DIRAC, compared with the expected ones (DIRAC issue 8650; docs/dirac.md 7)."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Literal, NamedTuple

from fairq.engine.shares.division import Recalculation

TOLERANCE = 6e-6
"""Relative tolerance for numbers after storage: a table stores six digits."""

Verdict = Literal["same", "differs", "missing", "emptied"]


class Checked(NamedTuple):
    """One queue: its number, the expected priority as DIRAC would store it, the stored priority, and the verdict.

    *missing*: no priority is stored; *emptied*: the queue has no jobs, so no priority is expected.
    """

    queue: int
    expected: float | None
    stored: float | None
    verdict: Verdict


def check(result: Recalculation, stored: Mapping[int, float]) -> list[Checked]:
    """Compare every queue's priority with the *stored* one, by number of the queue."""
    checked = []
    for queue, priority in zip(result.queues.tolist(), result.priorities.tolist(), strict=True):
        stored_priority = stored.get(queue.id)
        if math.isnan(priority):
            checked.append(Checked(queue.id, None, stored_priority, "emptied"))
            continue
        expected = as_queried(as_written(priority))
        verdict: Verdict = (
            "missing"
            if stored_priority is None
            else "same"
            if _equal_as_stored(expected, stored_priority)
            else "differs"
        )
        checked.append(Checked(queue.id, expected, stored_priority, verdict))
    return checked


def common_priority(stored: Mapping[int, float]) -> float | None:
    """Return the priority that all queues share, None if they differ. Equal priorities are not being recalculated."""
    values = set(stored.values())
    return values.pop() if len(stored) > 1 and len(values) == 1 else None


def _equal_as_stored(expected: float, stored: float) -> bool:
    return math.isclose(expected, stored, rel_tol=TOLERANCE, abs_tol=5e-5)


def as_written(priority: float) -> str:
    """Return the text with which DIRAC sets a queue's priority: four decimals (docs/dirac.md 3.4)."""
    return f"{priority:.4f}"


def as_queried(text: str) -> float:
    """Return the priority that a query shows after it was set with *text*: six digits of a 4-byte number."""
    (stored,) = struct.unpack("f", struct.pack("f", float(text)))
    return float(f"{stored:.6g}")
