"""Disk traffic and I/O intensity of a task compared with the limits of a queue.

Source: docs/panda.md, Production filters and Analysis.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.columns import Floats
from fairq.engine.brokerage.pool.queue_kinds import flag_numbers


class _Traffic(NamedTuple):
    """Disk traffic per core and row, in kB/s: what the queue has, what it bears, and what the task adds."""

    usage: Floats
    limit: Floats
    own: Floats


class DiskIOCheck(KeyedFilter):
    """A queue with too much disk traffic accepts no tasks with much disk traffic."""

    stage = "diskIO check"

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the disk traffic of the task, and whether it is divided among cores."""
        return request.task.disk_io, request.asks_for_cores

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse if the traffic of the queue and of the task both exceed the limit; the limit is never 0."""
        if not request.task.disk_io:
            return None
        usage, limit, own = self._traffic(request)
        codes: Codes = (usage > limit) & (own > limit)
        return codes

    def _traffic(self, request: BrokerageRequest) -> _Traffic:
        columns = request.columns
        default = request.config.amount("jobbroker.MAX_DISKIO_DEFAULT")
        usage = columns.unit_numbers_of("disk traffic", lambda unit: columns.world.disk_io.get(unit.name, 0))
        limit = columns.unit_numbers_of(
            ("disk traffic limit", default), lambda unit: unit.maxdiskio if unit.maxdiskio > 0 else default
        )
        return _Traffic(usage, limit, self.own_traffic(request))

    def own_traffic(self, request: BrokerageRequest) -> Floats:
        """Return the kB/s per core that a job of the task makes at each row."""
        columns = request.columns
        own = np.full(len(columns), float(request.task.disk_io or 0))
        if request.asks_for_cores:
            own = own / np.maximum(columns.unit_numbers_of("unit cores", lambda unit: unit.corecount), 1)
        return own

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the traffic of queue and task, and the limit, in kB/s per core."""
        usage, limit, own = self._traffic(request)
        return {"usage": float(usage[row]), "limit": float(limit[row]), "diskIO": float(own[row])}


class MaxIoIntensityCheck(KeyedFilter):
    """A queue may limit the I/O intensity of tasks."""

    stage = "max IO intensity check"
    reasons = (Reason("max_io_intensity"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to tasks that state it, except merges."""
        stated = bool(request.task.io_intensity) and not request.chunk.is_merging
        return stated and request.rules.max_io_intensity

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the I/O intensity of the task."""
        return request.task.io_intensity

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse above the limit."""
        return (request.task.io_intensity or 0) > flag_numbers(request.columns, "max_io_intensity")

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return intensity and limit, kB/s."""
        limit = float(flag_numbers(request.columns, "max_io_intensity")[row])
        return {"ioIntensity": request.task.io_intensity, "max_io_intensity": limit}
