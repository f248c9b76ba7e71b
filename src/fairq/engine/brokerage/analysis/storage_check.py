"""The filter of analysis by storage: space, endpoints out of service, the user's local quota.

Source: docs/panda.md, Analysis.
"""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.analysis.locality import locality
from fairq.engine.brokerage.analysis.sources import sources_of
from fairq.engine.brokerage.flow.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import Question
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.model import Storage as Endpoint
from fairq.engine.brokerage.pool.world import Quota
from fairq.engine.brokerage.storage.blacklist import blacklist_reason
from fairq.engine.brokerage.storage.endpoints import USER, Endpoints, endpoints_of, lacks_space, space_details

SPACE, BLACKLIST, QUOTA = 1, 2, 3


class Storage(PlainFilter):
    """There must be space for output, and for input where it must be moved; the endpoints must work."""

    name = "analysis storage"
    stage = "storage space check"
    activities = frozenset({ANALYSIS})
    reasons = (
        Reason("disk"),
        Reason("blacklist"),
        Reason("local_quota"),
    )

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Look at the endpoints of each queue."""
        units, near = question.columns.unit_of, _with_data(question)
        least = _least(question)
        over = _quota(question).endpoints_over
        remote = sources_of(question).remote
        key = ("analysis storage", question.local, least, remote, over)
        far = question.columns.kept(key, lambda: self._codes(question, False))
        codes = far[units]
        if near.any():
            at_data = question.columns.kept((*key, "with data"), lambda: self._codes(question, True))
            codes = np.where(near, at_data[units], codes)
        result: Codes = codes[rows]
        return result

    def _codes(self, question: Question, with_data: bool) -> Codes:
        count = len(question.columns.unit_names)
        return np.array([self._problem(question, unit, with_data)[0] for unit in range(count)], dtype=np.uint8)

    def _problem(self, question: Question, unit: int, with_data: bool) -> tuple[int, Details]:
        places = endpoints_of(question.columns, USER)[unit]
        output, space = places.default_write, _lacking_space(question, places)
        if space is not None:
            return SPACE, space
        reason = blacklist_reason(
            places.read, places.write, in_nucleus=with_data, source_available=sources_of(question).remote
        )
        if reason is not None:
            return BLACKLIST, {"blacklist": reason, "endpoint": output.rse if output else None}
        over = question.rules.local_quota and output is not None and output.rse in _quota(question).endpoints_over
        if output is not None and over:
            return QUOTA, {"endpoint": output.rse, "user": question.task.user}
        return 0, {}

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the endpoint, with space and limit in GB where that is it."""
        return self._problem(question, int(question.columns.unit_of[row]), bool(_with_data(question)[row]))[1]


def _lacking_space(question: Question, places: Endpoints) -> Details | None:
    output, source, (least_out, least_in) = places.default_write, places.default_read, _least(question)
    rules = question.rules
    if not places.write or (output is not None and lacks_space(output, least_out, rules)):
        return _space("output_space", output, least_out, rules)
    if question.local:
        return None
    # Input is moved in: there must be room for it as well, if that is elsewhere than output.
    if not places.read or (source is not None and source is not output and lacks_space(source, least_in, rules)):
        return _space("input_space", source, least_in, rules)
    return None


def _space(kind: str, endpoint: Endpoint | None, limit: float, rules: Rules) -> Details:
    if endpoint is None:
        return {"kind": kind, "endpoint": None}
    return {"kind": kind, "endpoint": endpoint.rse, **space_details(endpoint, rules), "limit": limit}


def _least(question: Question) -> tuple[float, float]:
    config = question.config
    least_out = config.amount("anal_jobbroker.STORAGE_MIN_FREE_SIZE_OUTPUT")
    return least_out, config.amount("jobbroker.STORAGE_MIN_FREE_SIZE")


def _quota(question: Question) -> Quota:
    task = question.task
    return question.world.quotas.get(task.working_group or task.user or "", Quota())


def _with_data(question: Question) -> Booleans:
    # Queues that have the input need nothing moved over WAN.
    if question.local and question.chunk.datasets:
        return locality(question).chosen
    return np.zeros(len(question.columns), dtype=np.bool_)
