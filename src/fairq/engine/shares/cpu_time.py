"""Buckets of CPU time: jobs with similar requests share a task queue (docs/dirac.md 1.2)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from fairq.engine.shares.rules import Rules
from fairq.errors.shares import DiracFailure, DiracStopsError

SEGMENTS = (
    360, 1800, 3600, 21600, 43200, 86400, 172800, 259200, 345600, 518400, 691200, 864000, 1080000,
)  # fmt: skip
"""DIRAC's own segments, in HS06 seconds."""


def read_segments(text: str | None, rules: Rules) -> tuple[int, ...]:
    """Return the segments that *text* (option taskQueueCPUTimeIntervals, a comma list) names, or DIRAC's own.

    As in DIRAC, one item that is no integer or not larger than the one before it (the first: than 0) voids the
    whole list.

    Raises DiracStopsError, only under the rules dirac, for a list without items: no job can be inserted.
    """
    if text is not None and not text.replace(",", "").strip() and not rules.checked_settings:
        raise DiracStopsError(DiracFailure.NO_INTERVALS)
    try:
        segments = tuple(int(item) for item in (text or "").split(",") if item.strip())
    except ValueError:
        return SEGMENTS
    rising = all(low < high for low, high in zip((0, *segments), segments, strict=False))
    return segments if segments and rising else SEGMENTS


def bucket(seconds: float, segments: Sequence[int] = SEGMENTS) -> int:
    """Return the smallest segment of at least *seconds*, or the last segment."""
    return segments[min(bisect_left(segments, seconds), len(segments) - 1)]
