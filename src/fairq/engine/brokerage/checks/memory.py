"""Memory of a slot compared with the need of a job (docs/panda.md, Estimates)."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.jobs.memory_needed import job_memory, stated_memory
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Columns, Floats


class MemoryCheck(KeyedFilter):
    """The memory of a job must be between the minimum and the maximum of the queue's slots, both included."""

    stage = "memory check"
    reasons = (
        Reason("lowmemory"),
        Reason("highmemory"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply where the memory is stated or known."""
        return bool(stated_memory(request.task, request.chunk))

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the arguments of `job_memory` that are the task's."""
        task, chunk = request.task, request.chunk
        return stated_memory(task, chunk), task.ram_unit, task.base_ram_count, chunk.is_merging, request.activity

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Compare the estimate for the cores of each queue with its limits."""
        columns = request.columns
        most = columns.numbers("maxrss", lambda queue: queue.maxrss or 0)
        least = columns.numbers("minrss", lambda queue: queue.minrss or 0)
        # The estimate differs by cores alone, of which there are few.
        kinds, kind_of = columns.kept("kinds of cores", lambda: _kinds_of_cores(columns))
        need = np.array([memory_on(request, int(cores)) for cores in kinds])[kind_of]
        codes: Codes = ((least > 0) & (need < least) & (need != 0)) * np.uint8(2)
        codes[(most > 0) & (need > most)] = 1
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the estimate and the limits, MiB."""
        queue = request.columns.queues[row]
        limit = {"maxrss": queue.maxrss} if reason.tag == "lowmemory" else {"minrss": queue.minrss}
        return {"memory_need_mb": memory_on(request, queue.corecount), **limit, "corecount": queue.corecount}


def memory_on(request: BrokerageRequest, cores: int) -> float:
    """Return the MiB that a job needs in a slot of *cores*."""
    task = request.task
    return job_memory(
        stated_memory(task, request.chunk) or 0,
        cores,
        task.ram_unit,
        task.base_ram_count,
        merging=request.chunk.is_merging,
        base_always=request.rules.base_memory_always,
        production=request.activity == PRODUCTION,
    )


def _kinds_of_cores(columns: Columns) -> tuple[Floats, NDArray[np.intp]]:
    cores = columns.numbers("corecount", lambda queue: queue.corecount)
    kinds = np.array(sorted(set(cores.tolist())), dtype=np.float64)
    return kinds, kinds.searchsorted(cores)
