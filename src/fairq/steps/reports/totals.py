"""Counters for metrics since the pool began."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fairq.state import meta, report_figures
from fairq.state.connection import reading
from fairq.steps.cycle.sampling import CYCLE_SECONDS


@dataclass(frozen=True, slots=True)
class Totals:
    """Ended runs by outcome, the number of cycles, and the last cycle's duration in seconds (None if not measured)."""

    runs: dict[str, int]
    cycles: int
    cycle_seconds: float | None


def totals(path: Path) -> Totals:
    """Return the counters since the pool began."""
    with reading(path) as state:
        seconds = meta.get(state, CYCLE_SECONDS)
        return Totals(
            report_figures.run_outcomes(state),
            report_figures.cycle_count(state),
            None if seconds is None else float(seconds),
        )
