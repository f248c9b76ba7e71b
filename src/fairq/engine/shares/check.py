"""Priorities stored by a live DIRAC, compared with the expected ones (DIRAC issue 8650; docs/dirac.md 7)."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Literal, NamedTuple

from fairq.engine.shares.division import Recalculation

TOLERANCE = 6e-6
"""Tolerance between equal numbers after storage: a table keeps six digits."""

Verdict = Literal["same", "differs", "missing", "emptied"]


class Checked(NamedTuple):
    """One queue: its number, the expected priority as DIRAC would store it, the stored priority, and the verdict.

    *missing*: no priority is stored; *emptied*: the queue has no job, so that none is expected.
    """

    queue: int
    expected: float | None
    stored: float | None
    verdict: Verdict


def check(result: Recalculation, stored: Mapping[int, float]) -> list[Checked]:
    """Compare every queue's priority with the *stored* one, by number of the queue."""
    found = []
    for queue, priority in zip(result.queues.tolist(), result.priorities.tolist(), strict=True):
        kept = stored.get(queue.id)
        if math.isnan(priority):
            found.append(Checked(queue.id, None, kept, "emptied"))
            continue
        expected = as_selected(as_written(priority))
        verdict: Verdict = "missing" if kept is None else "same" if _same(expected, kept) else "differs"
        found.append(Checked(queue.id, expected, kept, verdict))
    return found


def all_alike(stored: Mapping[int, float]) -> float | None:
    """Return the priority if several queues all have the same: then they are not recalculated."""
    values = set(stored.values())
    return values.pop() if len(stored) > 1 and len(values) == 1 else None


def _same(expected: float, stored: float) -> bool:
    return math.isclose(expected, stored, rel_tol=TOLERANCE, abs_tol=5e-5)


def as_written(priority: float) -> str:
    """Return the text with which DIRAC sets a queue's priority: four decimals (docs/dirac.md 3.4)."""
    return f"{priority:.4f}"


def as_selected(text: str) -> float:
    """Return what a query shows of a priority that was set with *text*: six digits of a 4-byte number."""
    (stored,) = struct.unpack("f", struct.pack("f", float(text)))
    return float(f"{stored:.6g}")
