"""The filter for tasks with much I/O: they go to their input (docs/panda.md, Production filters)."""

from __future__ import annotations

import math

from fairq.engine.brokerage.flow.plugin import Details, Reason, SetFilter
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.jobs.units import MIB
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.bits import Parts, joined
from fairq.engine.brokerage.production.input_data import Part, input_data, is_io_intensive


class InputNearby(SetFilter):
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

    def parts(self, request: BrokerageRequest, left: int) -> Parts | None:
        """Refuse queues that lack too much input."""
        data, rules = input_data(request), request.rules
        refused = left & ~_has_enough(request, data.anywhere)
        if refused == left and rules.io_check_lapses:
            return None
        tape_only = left & ~refused & ~_has_enough(request, data.on_disk) if rules.tape_second else 0
        if refused | tape_only == left:
            return ((1, refused),)
        return ((1, refused), (2, tape_only))

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


def _has_enough(request: BrokerageRequest, parts: list[Part]) -> int:
    """Return the queues that lack at most as much input as may be moved, given the *parts* of it that queues have."""
    limits = _limits(request)
    enough = joined([part.rows for part in parts if not _is_too_much(request, limits, part.size, part.files)])
    if _is_too_much(request, limits, 0, 0):
        return enough
    every = (1 << len(request.columns)) - 1
    return enough | every & ~joined([part.rows for part in parts])


def _is_too_much(request: BrokerageRequest, limits: tuple[float, float], size: float, files: int) -> bool:
    """Return whether too much must be moved to a queue that has *size* bytes in *files*."""
    data = input_data(request)
    mib, missing = (data.size - size) / MIB, data.files - files
    size_limit, file_limit = limits
    if request.rules.move_limits == "below":
        # A queue that misses nothing need not move anything, whatever the cut-offs.
        return missing > 0 and (mib >= size_limit or missing >= file_limit)
    return math.trunc(mib) > size_limit or missing > file_limit


def _limits(request: BrokerageRequest) -> tuple[float, float]:
    config = request.config
    return (
        config.amount("jobbroker.SIZE_CUTOFF_TO_MOVE_INPUT") * 1024,
        config.amount("jobbroker.NUM_CUTOFF_TO_MOVE_INPUT"),
    )
