"""Cores of a slot compared with those of a task's jobs (docs/panda.md, Production filters and Analysis)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import numpy as np

from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest

CoreMode = Literal["multi", "any", "single"]
"""Slots that are suitable for a task: multi-core only, any, or single-core only."""


class CoresCheck(KeyedFilter):
    """The queue's slots must have as many cores as the task's jobs use."""

    reasons = (
        Reason("cpucore"),
        Reason("max_cpucore"),
    )

    def cores(self, request: BrokerageRequest) -> int | None:
        """Return the cores that jobs request: 0 is any number, None is one."""
        return request.task.core_count

    def mode(self, request: BrokerageRequest) -> CoreMode:
        """Return which slots suit."""
        cores = self.cores(request)
        if cores == 0:
            return "any"
        return "multi" if cores is not None and cores > 1 else "single"

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return which slots are suitable, and the maximum of cores."""
        return self.mode(request), request.task.most_cores

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Compare the cores of slots with those of the task."""
        columns, mode, most = request.columns, self.mode(request), request.task.most_cores
        cores = columns.numbers("corecount", lambda queue: queue.corecount)
        codes = np.zeros(len(columns), dtype=np.uint8)
        if most:
            codes[cores > most] = 2
        if mode != "any":
            codes[cores <= 1 if mode == "multi" else cores > 1] = 1
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the cores of both."""
        told: Details = {"corecount": request.columns.queues[row].corecount}
        if reason.tag == "max_cpucore":
            return told | {"maxCoreCount": request.task.most_cores}
        return told | {"coreCount": self.cores(request), "wants": self.mode(request)}
