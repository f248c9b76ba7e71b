"""The filter of analysis by storage: space, endpoints out of service, the user's local quota.

Source: docs/panda.md, Analysis.
"""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.analysis.locality import locality
from fairq.engine.brokerage.analysis.sources import sources_of
from fairq.engine.brokerage.flow.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.model import Storage as Endpoint
from fairq.engine.brokerage.pool.world import Quota
from fairq.engine.brokerage.storage.blacklist import blacklist_reason
from fairq.engine.brokerage.storage.endpoints import USER, Endpoints, endpoints_of, lacks_space, space_details

SPACE, BLACKLIST, QUOTA = 1, 2, 3


class Storage(PlainFilter):
    """There must be space for output, and for input that must be moved; the endpoints must be in service."""

    name = "analysis storage"
    stage = "storage space check"
    activities = frozenset({ANALYSIS})
    reasons = (
        Reason("disk"),
        Reason("blacklist"),
        Reason("local_quota"),
    )

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Look at the endpoints of each queue."""
        units, near = request.columns.unit_of, _with_data(request)
        least = _least(request)
        over = _quota(request).endpoints_over
        remote = sources_of(request).remote
        key = ("analysis storage", request.local, least, remote, over)
        far = request.columns.kept(key, lambda: self._codes(request, False))
        codes = far[units]
        if near.any():
            at_data = request.columns.kept((*key, "with data"), lambda: self._codes(request, True))
            codes = np.where(near, at_data[units], codes)
        result: Codes = codes[rows]
        return result

    def _codes(self, request: BrokerageRequest, with_data: bool) -> Codes:
        count = len(request.columns.unit_names)
        return np.array([self._problem(request, unit, with_data)[0] for unit in range(count)], dtype=np.uint8)

    def _problem(self, request: BrokerageRequest, unit: int, with_data: bool) -> tuple[int, Details]:
        places = endpoints_of(request.columns, USER)[unit]
        output, space = places.default_write, _lacking_space(request, places)
        if space is not None:
            return SPACE, space
        reason = blacklist_reason(
            places.read, places.write, in_nucleus=with_data, source_available=sources_of(request).remote
        )
        if reason is not None:
            return BLACKLIST, {"blacklist": reason, "endpoint": output.rse if output else None}
        over = request.rules.local_quota and output is not None and output.rse in _quota(request).endpoints_over
        if output is not None and over:
            return QUOTA, {"endpoint": output.rse, "user": request.task.user}
        return 0, {}

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the endpoint, and space and limit in GB if space is the reason."""
        return self._problem(request, int(request.columns.unit_of[row]), bool(_with_data(request)[row]))[1]


def _lacking_space(request: BrokerageRequest, places: Endpoints) -> Details | None:
    output, source, (least_out, least_in) = places.default_write, places.default_read, _least(request)
    rules = request.rules
    if not places.write or (output is not None and lacks_space(output, least_out, rules)):
        return _space("output_space", output, least_out, rules)
    if request.local:
        return None
    # Input is moved in: there must be room for it as well, if that is elsewhere than output.
    if not places.read or (source is not None and source is not output and lacks_space(source, least_in, rules)):
        return _space("input_space", source, least_in, rules)
    return None


def _space(kind: str, endpoint: Endpoint | None, limit: float, rules: Rules) -> Details:
    if endpoint is None:
        return {"kind": kind, "endpoint": None}
    return {"kind": kind, "endpoint": endpoint.rse, **space_details(endpoint, rules), "limit": limit}


def _least(request: BrokerageRequest) -> tuple[float, float]:
    config = request.config
    least_out = config.amount("anal_jobbroker.STORAGE_MIN_FREE_SIZE_OUTPUT")
    return least_out, config.amount("jobbroker.STORAGE_MIN_FREE_SIZE")


def _quota(request: BrokerageRequest) -> Quota:
    task = request.task
    return request.world.quotas.get(task.working_group or task.user or "", Quota())


def _with_data(request: BrokerageRequest) -> Booleans:
    # Queues that have the input need nothing moved over WAN.
    if request.local and request.chunk.datasets:
        return locality(request).chosen
    return np.zeros(len(request.columns), dtype=np.bool_)
