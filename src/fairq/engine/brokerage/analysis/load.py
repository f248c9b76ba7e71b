"""Overloaded queues (docs/panda.md, Analysis)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.analysis.locality import locality, virtual_rows
from fairq.engine.brokerage.analysis.problems import STALLED, mark
from fairq.engine.brokerage.analysis.share_jobs import queued, running
from fairq.engine.brokerage.flow.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.job_counts import queued_to_running

_ANALYSIS = frozenset({ANALYSIS})


class TypeCap(PlainFilter):
    """PanDA's code checks the cap by resource type here, shows it in the stage table, and refuses no queue."""

    name = "analysis cap_rt"
    stage = "cap with gshare+resource_type check"
    activities = _ANALYSIS
    reasons = ()

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply under the rules panda, for the line in the stage table."""
        return request.preassigned != "single" and not request.rules.analysis_queue_ratio

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse nobody."""
        return None


class Overload(PlainFilter):
    """Queues with far more waiting jobs per running job than all queues of the share together.

    Under the rules documented, this applies to VP queues only; for the others see `problems`.
    """

    name = "overload"
    stage = "overload check"
    activities = _ANALYSIS
    reasons = (
        Reason("overloaded", passing=True),
        Reason("overloaded_vp"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Leave merges alone."""
        return not request.chunk.is_merging

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse overloaded queues; if no other is left, keep those with real input."""
        least, ratio = self._limits(request)
        waiting, run = queued(request), running(request)
        over = ((waiting > least) & ((run == 0) | (waiting > run * ratio)))[rows]
        if not over.any():
            return None
        if request.rules.analysis_queue_ratio:
            return np.where(over & virtual_rows(request.columns)[rows], np.uint8(2), np.uint8(0))
        real = _has_real_input(request)[rows]
        codes = np.where(over, np.where(real, 1, 2), 0).astype(np.uint8)
        mark(request, STALLED, rows[over & (run[rows] == 0)])
        if over.all():
            codes[real] = 0
        return codes

    def _limits(self, request: BrokerageRequest) -> tuple[float, float]:
        columns, share, config = request.columns, request.task.gshare, request.config
        grand = columns.kept(("grand ratio", share), lambda: queued_to_running(request.world.job_stats, share))
        least = config.amount("anal_jobbroker.OVERLOAD_MIN_QUEUE")
        # Where nothing runs at all the ratio does not matter.
        return least, (grand or 0.0) * config.amount("anal_jobbroker.OVERLOAD_RATIO_OFFSET")

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the jobs there, and the limits."""
        least, ratio = self._limits(request)
        numbers = {"nQueue": int(queued(request)[row]), "nRunning": int(running(request)[row])}
        return numbers | {"OVERLOAD_MIN_QUEUE": least, "ratio": ratio}


def _has_real_input(request: BrokerageRequest) -> Booleans:
    if request.local and request.chunk.datasets:
        return locality(request).real
    return np.ones(len(request.columns), dtype=np.bool_)
