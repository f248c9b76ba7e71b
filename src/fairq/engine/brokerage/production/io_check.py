"""The filter for tasks with much I/O: they go to their input (docs/panda.md, Production filters)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.flow.plugin import SWITCHED_OFF, Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.jobs.units import MIB
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Booleans, Floats
from fairq.engine.brokerage.production.input_data import input_data, is_io_intensive


class InputNearby(PlainFilter):
    """For a task with much I/O, a queue may not lack too much of the input.

    Under the rules panda, queues with input on tape come second, and if no queue has enough input, all pass.
    """

    name = "io"
    stage = "IO check"
    activities = frozenset({PRODUCTION})
    reasons = (
        Reason("io"),
        Reason("io"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to tasks with input and much I/O; exempt merges, event service and a single given queue."""
        return (
            not request.is_spared_alone
            and is_io_intensive(request)
            and request.chunk.total_size > 0
            and not request.chunk.is_merging
            and not request.task.is_event_service
        )

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse queues that lack too much input."""
        data, rules = input_data(request), request.rules
        refused = _is_too_much(request, (data.size - data.all_size) / MIB, data.files - data.all_files)[rows]
        if refused.all() and rules.io_check_lapses:
            return SWITCHED_OFF
        if not rules.tape_second:
            return refused
        from_disk = _is_too_much(request, (data.size - data.disk_size) / MIB, data.missing_files)[rows]
        tape_only = from_disk & ~refused
        if (refused | tape_only).all():
            return refused
        return refused + tape_only * np.uint8(2)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return what is missing and the limits."""
        data = input_data(request)
        size_limit, file_limit = _limits(request)
        return {
            "fileSizeToMoveMB": float(data.missing_mib[row]),
            "nFilesToMove": int(data.missing_files[row]),
            "SIZE_CUTOFF_TO_MOVE_INPUT": size_limit,
            "NUM_CUTOFF_TO_MOVE_INPUT": file_limit,
            "ioIntensity": request.task.io_intensity,
            **({"below": size_limit} if request.rules.move_limits == "below" else {}),
        }


def _is_too_much(request: BrokerageRequest, mib: Floats, files: Floats) -> Booleans:
    # A queue that misses nothing need not move anything, whatever the cut-offs.
    size_limit, file_limit = _limits(request)
    if request.rules.move_limits == "below":
        result: Booleans = (files > 0) & ((mib >= size_limit) | (files >= file_limit))
    else:
        result = (np.trunc(mib) > size_limit) | (files > file_limit)
    return result


def _limits(request: BrokerageRequest) -> tuple[float, float]:
    config = request.config
    return (
        config.amount("jobbroker.SIZE_CUTOFF_TO_MOVE_INPUT") * 1024,
        config.amount("jobbroker.NUM_CUTOFF_TO_MOVE_INPUT"),
    )
