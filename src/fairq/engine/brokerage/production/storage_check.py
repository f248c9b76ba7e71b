"""The filter by the queue's storage: space for output, and endpoints out of service.

Source: docs/panda.md, Production filters.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.plugin import Codes, Details, InputFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.production.input_check import sources_of
from fairq.engine.brokerage.production.nucleus import nucleus_of
from fairq.engine.brokerage.storage.blacklist import READ_LAN, READ_WAN, SOURCE, WRITE_LAN, WRITE_WAN, blacklist_reason
from fairq.engine.brokerage.storage.endpoints import endpoints_of, lacks_space, space_details

STORAGE_TYPE = "DATADISK"
"""The type of endpoint that production looks at."""


class StorageView(NamedTuple):
    """The nucleus of a task, and the endpoints that its queues read."""

    nucleus: str | None
    read: frozenset[str]


class StorageCheck(InputFilter[StorageView]):
    """Storage must have space for output, and its endpoints must allow the reads, writes and transfers of the task."""

    name = "storage"
    stage = "Storage check"
    activities = frozenset({PRODUCTION})
    reads = ("task.nucleus",)
    reasons = (
        Reason("disk", permanent=False),
        Reason(READ_LAN, permanent=False),
        Reason(WRITE_LAN, permanent=False),
        Reason(WRITE_WAN, permanent=False),
        Reason(READ_WAN, permanent=False),
        Reason(SOURCE, permanent=False),
    )

    def view(self, request: BrokerageRequest) -> StorageView:
        """Return the nucleus."""
        return StorageView(request.task.nucleus, self._read_at_nucleus(request))

    def key_of(self, view: StorageView, request: BrokerageRequest) -> Hashable:
        """Return the nucleus, whether input can be moved, and which endpoints of the nucleus have all of it.

        Whether any endpoint has all of it counts there as well.
        """
        sources = sources_of(request)
        return view.nucleus, sources.remote, sources.complete_at & view.read if sources.complete_at else None

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse for the first reason that applies; input need not be moved for queues of the nucleus."""
        columns, place, sources = request.columns, nucleus_of(request), sources_of(request)
        least = _least_space(request)
        codes = self._elsewhere(request, least, sources.remote).copy()
        for row in np.flatnonzero(place.members):
            codes[row] = self._code(request, int(columns.unit_of[row]), least, True, True, sources.complete_at)
        return codes

    def _elsewhere(self, request: BrokerageRequest, least: float, remote: bool) -> NDArray[np.uint8]:
        """Return the codes of queues that are not of the nucleus, the same for every nucleus."""
        columns = request.columns

        def make() -> NDArray[np.uint8]:
            of_units = [self._code(request, unit, least, False, remote, None) for unit in range(len(columns.units))]
            return np.array(of_units, dtype=np.uint8)[columns.unit_of]

        return columns.kept(("storage codes", request.rules.space, request.rules.space_must_exceed, remote), make)

    def _read_at_nucleus(self, request: BrokerageRequest) -> frozenset[str]:
        columns = request.columns
        members, storage = columns.unit_of[nucleus_of(request).members].tolist(), endpoints_of(columns)
        return frozenset(each.rse for unit in set(members) for each in storage[unit].read)

    def _code(
        self,
        request: BrokerageRequest,
        unit: int,
        least: float,
        inside: bool,
        remote: bool,
        complete: frozenset[str] | None,
    ) -> int:
        storage = endpoints_of(request.columns)[unit]
        if storage.default_write is not None and lacks_space(storage.default_write, least, request.rules):
            return 1
        reason = blacklist_reason(
            storage.read,
            storage.write,
            in_nucleus=inside,
            source_available=remote,
            storage_type=STORAGE_TYPE,
            complete_at=complete,
        )
        return 0 if reason is None else next(n for n, own in enumerate(self.reasons, 1) if own.tag == reason)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return space and limit in GB, or the states of the endpoints."""
        storage = endpoints_of(request.columns)[request.columns.unit_of[row]]
        output = storage.default_write
        if reason.tag == "disk" and output is not None:
            told: Details = {"kind": "output_space", "endpoint": output.rse, **space_details(output, request.rules)}
            return told | {"STORAGE_MIN_FREE_SIZE": _least_space(request)}
        if reason.tag == SOURCE:
            return {"remote_source_available": False}
        side = storage.read if reason.tag in {READ_LAN, WRITE_WAN} else storage.write
        activity = reason.tag.removesuffix("_blacklist")
        return {
            "activity": activity,
            "endpoints": {s.rse: s.activities.get(activity) for s in side if s.type == STORAGE_TYPE},
        }


def _least_space(request: BrokerageRequest) -> float:
    return request.config.amount("jobbroker.STORAGE_MIN_FREE_SIZE")
