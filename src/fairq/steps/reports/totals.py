"""Counters for metrics since the pool began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.engine.accounting.identity import assigned_group
from fairq.state import cycle_errors, meta, report_figures, tally
from fairq.state.connection import reading
from fairq.state.location import resolve
from fairq.state.tally import Histogram
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.samples import CYCLE_SECONDS
from fairq.steps.launch.holds import JOB_ERRORS

if TYPE_CHECKING:
    from fairq.settings import Settings

__all__ = ["CYCLE_LIMITS", "WAIT_LIMITS", "Histogram", "Totals", "totals"]

WAIT_LIMITS: Sequence[float] = tally.WAITS
CYCLE_LIMITS: Sequence[float] = tally.CYCLES


class Totals(Struct, frozen=True):
    """Ended runs by outcome, the number of cycles, and the last cycle's duration in seconds (None if not measured).

    *waits* are histograms by accounting group of the times from submission to the first start, with the upper limits
    `WAIT_LIMITS`. *durations* is that of all measured cycles, with `CYCLE_LIMITS`. *errors* counts failed cycles by
    kind, *job_errors* the jobs that were held for an unforeseen error.
    """

    runs: Mapping[str, int]
    cycles: int
    cycle_seconds: float | None
    waits: Mapping[str, Histogram]
    durations: Histogram
    errors: Mapping[str, int]
    job_errors: int


def totals(path: Path, settings: Settings) -> Totals:
    """Return the counters since the pool began."""
    groups = accounting_policy(settings).group_names
    with reading(path) as state:
        seconds = meta.get(state, CYCLE_SECONDS)
        counters = tally.current(state, lambda name: assigned_group(name, groups))
        return Totals(
            counters.outcomes,
            report_figures.cycle_count(state),
            None if seconds is None else float(seconds),
            counters.waits,
            counters.cycles,
            cycle_errors.load(resolve(path)).counts,
            meta.number(state, JOB_ERRORS),
        )
