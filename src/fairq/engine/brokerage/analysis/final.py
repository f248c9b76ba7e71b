"""The last filters of analysis, and the choice of the ten best (docs/panda.md, Analysis)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.analysis.input_data import local_data
from fairq.engine.brokerage.analysis.problems import LONG, has_problem, problem_details, problems
from fairq.engine.brokerage.analysis.selection import given_rows
from fairq.engine.brokerage.analysis.sources import sources_of
from fairq.engine.brokerage.checks.least_weight import LeastWeightCheck
from fairq.engine.brokerage.flow.plugin import Codes, Details, Phase, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.weighing import FINAL_STAGE, MOST_CANDIDATES, weighing_of
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Booleans
from fairq.engine.brokerage.pool.queue_kinds import has_flag

_ANALYSIS = frozenset({ANALYSIS})


class Problems(PlainFilter):
    """Refuse queues with a temporary problem last; under the rules panda, the queue given by the task stays."""

    name = "problems"
    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = _ANALYSIS
    reasons = (
        Reason("badsite", passing=True),
        Reason("cap", passing=True),
    )

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse the marked ones."""
        marked = has_problem(request) & ~_given(request)
        if not marked[rows].any():
            return None
        only_long = problems(request)[LONG] & ~_others(request)
        codes = np.where(marked, np.where(only_long, 2, 1), 0).astype(np.uint8)
        return codes[rows]

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the problem."""
        return problem_details(request, row)


def _others(request: BrokerageRequest) -> Booleans:
    # Problems of a row apart from its length.
    marks = [rows for name, rows in problems(request).items() if name != LONG]
    others: Booleans = np.any(marks, axis=0)
    return others


def _given(request: BrokerageRequest) -> Booleans:
    # The one queue that PanDA's code keeps whatever is wrong with it.
    if not request.is_spared_alone:
        return np.zeros(len(request.columns), dtype=np.bool_)
    return given_rows(request)


class TenBest(PlainFilter):
    """Take the ten best queues by weight; ties by name.

    Under the rules panda, queues that the task already uses come first, and distributed input allows any number of
    queues in the first pass.
    """

    name = "analysis ten best"
    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = _ANALYSIS
    reasons = (Reason("low_weight"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply; under the rules panda, not to distributed input."""
        unlimited = request.rules.distributed_unlimited and request.local
        return not (unlimited and sources_of(request).distributed)

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse all but the ten best; under the rules panda, never the queue that the task is given."""
        if len(rows) <= MOST_CANDIDATES:
            return None
        refused = np.zeros(len(rows), dtype=np.bool_)
        refused[ranking(request, rows)[MOST_CANDIDATES:]] = True
        result: Codes = refused & ~_given(request)[rows]
        return result

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the weight."""
        return {"weight": weighing_of(request).weight_of(row)}


def ranking(request: BrokerageRequest, rows: Rows) -> Rows:
    """Return the order of *rows*, as positions."""
    used = request.world.used_queues.get(request.task.task_id, frozenset())
    if not request.rules.used_queues_first:
        used = frozenset()
    queues = request.columns.queues
    fresh = np.array([not {queues[row].name, queues[row].unit} & used for row in rows], dtype=np.bool_)
    # Rows are in order of name already, and the last key sorts first.
    return np.lexsort((-weighing_of(request).weights_of(rows), fresh))


class LeastWeight(LeastWeightCheck):
    """Candidates need a minimum weight where one is configured."""

    name = "analysis minimum weight"
    activities = _ANALYSIS


class LocalDataOnly(PlainFilter):
    """Queues that accept only local input and lack some of it."""

    name = "local data only"
    stage = FINAL_STAGE
    phase: Phase = "after"
    activities = _ANALYSIS
    reasons = (Reason("fileunavailable"),)

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse them."""
        columns = request.columns
        picky = has_flag(columns, "use_only_local_data")
        if not request.chunk.datasets or not picky[rows].any():
            return None
        result: Codes = (picky & ~local_data(request).whole)[rows]
        return result

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the files there."""
        data = local_data(request)
        return {"nLocalDisk": int(data.disk_files[row]), "nLocalTape": int(data.tape_files[row])}
