"""The filter by the queue's storage: space for output, and endpoints out of service.

Source: docs/panda.md, Production filters.
"""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.flow.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.production.input_check import sources_of
from fairq.engine.brokerage.production.nucleus import nucleus_of
from fairq.engine.brokerage.storage.blacklist import READ_LAN, READ_WAN, SOURCE, WRITE_LAN, WRITE_WAN, blacklist_reason
from fairq.engine.brokerage.storage.endpoints import endpoints_of, lacks_space, space_details

STORAGE_TYPE = "DATADISK"
"""The type of endpoint that production looks at."""


class StorageCheck(PlainFilter):
    """Storage must have space for output, and its endpoints must allow the reads, writes and transfers of the task."""

    name = "storage"
    stage = "Storage check"
    activities = frozenset({PRODUCTION})
    reasons = (
        Reason("disk", permanent=False),
        Reason(READ_LAN, permanent=False),
        Reason(WRITE_LAN, permanent=False),
        Reason(WRITE_WAN, permanent=False),
        Reason(READ_WAN, permanent=False),
        Reason(SOURCE, permanent=False),
    )

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse for the first reason that applies; input need not be moved for queues of the nucleus."""
        columns, place, sources = request.columns, nucleus_of(request), sources_of(request)
        least = _least_space(request)
        codes: Codes = columns.kept(
            ("storage", least, sources.remote), lambda: self._codes(request, least, sources.remote)
        )[rows]
        inside = np.flatnonzero(place.members[rows])
        if len(inside):
            codes = codes.copy()
            for position in inside:
                unit = int(columns.unit_of[rows[position]])
                codes[position] = self._code(request, unit, least, True, True, sources.complete_at)
        return codes if codes.any() else None

    def _codes(self, request: BrokerageRequest, least: float, remote: bool) -> Codes:
        columns = request.columns
        of_units = [self._code(request, unit, least, False, remote, None) for unit in range(len(columns.units))]
        return np.array(of_units, dtype=np.uint8)[columns.unit_of]

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
