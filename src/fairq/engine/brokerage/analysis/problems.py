"""Temporary problems: these queues still count in the weights of others and are refused at the end.

Source: docs/panda.md, Analysis; the page's filters for temporary issues.
"""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.analysis.queue_checks import ended_jobs
from fairq.engine.brokerage.analysis.share_jobs import counted_running, queued, start_rate
from fairq.engine.brokerage.analysis.sources import has_second_pass, ignores_locality
from fairq.engine.brokerage.analysis.user_queues import user_queues
from fairq.engine.brokerage.flow.plugin import SWITCHED_OFF, Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest, once_per_task
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Booleans, Floats

LEAST_RUNNING = 20
QUEUED_FACTOR = 2
"""Under the rules documented, queued jobs allowed per running job, and the running jobs that count at least."""

STALLED, USER, FAILURES, LONG = "stalled", "user", "failures", "long"
"""Problems: no running but many waiting jobs; the user's own jobs; the task's failed jobs; too many jobs."""


@once_per_task
def problems(request: BrokerageRequest) -> dict[str, Booleans]:
    """Return the rows marked with each problem so far, the first pass included."""
    size = len(request.columns)
    return {name: np.zeros(size, dtype=np.bool_) for name in (STALLED, USER, FAILURES, LONG)}


def mark(request: BrokerageRequest, problem: str, rows: Rows) -> None:
    """Mark *rows* with a problem."""
    problems(request)[problem][rows] = True


def has_problem(request: BrokerageRequest) -> Booleans:
    """Return the rows with any problem."""
    marks = problems(request)
    return marks[STALLED] | marks[USER] | marks[FAILURES] | marks[LONG]


def mark_problems(request: BrokerageRequest, rows: Rows) -> None:
    """Look at *rows*, which passed all filters, for temporary problems."""
    config, numbers = request.config, user_queues(request)
    waiting = queued(request)
    long = (waiting >= config.amount("anal_jobbroker.BASE_QUEUE_LENGTH_PER_PQ")) & (
        waiting >= config.amount("anal_jobbroker.BASE_EXPECTED_WAIT_HOUR_ON_PQ") * start_rate(request)
    )
    crowded = long & numbers.known
    failed, closed, finished = ended_jobs(request)
    bad, tolerated = failed + closed, _tolerated(request, finished)
    # Documented: bad jobs must be fewer, at every queue; panda: at crowded queues, they must not be more.
    failing = bad >= tolerated if request.rules.failures_everywhere else crowded & (bad > tolerated)
    found = {USER: crowded & (numbers.queued > numbers.limit), FAILURES: failing & (bad > 0)}
    if request.rules.analysis_queue_ratio:
        found[LONG] = waiting > _longest(request)
    for name, where in found.items():
        mark(request, name, rows[where[rows]])


def _longest(request: BrokerageRequest) -> Floats:
    longest: Floats = QUEUED_FACTOR * np.maximum(counted_running(request), LEAST_RUNNING)
    return longest


def _tolerated(request: BrokerageRequest, finished: Floats) -> Floats:
    least = request.config.amount("anal_jobbroker.MIN_BAD_JOBS_TO_SKIP_PQ")
    tolerated: Floats = np.maximum(2 * finished, least)
    return tolerated


class UserProblem(PlainFilter):
    """Under the rules panda, tasks may leave their input if every queue with it has a temporary problem."""

    name = "user problem"
    stage = "temp user problem check"
    activities = frozenset({ANALYSIS})
    reasons = (Reason("tmp_user_problem", passing=True),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Leave merges alone."""
        return not request.chunk.is_merging

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Mark problems; refuse all if all have one and there is a second pass to try."""
        mark_problems(request, rows)
        if not request.rules.problems_open_second_pass:
            return SWITCHED_OFF
        if not (request.local and has_second_pass(request) and ignores_locality(request)):
            return SWITCHED_OFF
        marked = has_problem(request)[rows]
        return marked if marked.all() else SWITCHED_OFF

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the problem."""
        return problem_details(request, row)


def problem_details(request: BrokerageRequest, row: int) -> Details:
    """Return the problems of a row with the numbers compared."""
    marks = problems(request)
    told: Details = {"problems": [name for name, rows in marks.items() if rows[row]]}
    told |= {"nQueue": int(queued(request)[row]), "nRunning": int(counted_running(request)[row])}
    if marks[LONG][row]:
        told["nQueue_max"] = int(_longest(request)[row])
    if marks[USER][row]:
        numbers = user_queues(request)
        told |= {"userQ": int(numbers.queued[row]), "userQ_max": float(numbers.limit[row])}
    if marks[FAILURES][row]:
        failed, closed, finished = ended_jobs(request)
        told |= {"nFailed": int(failed[row]), "nClosed": int(closed[row]), "nFinished": int(finished[row])}
        limit = float(_tolerated(request, finished)[row])
        told["nBad_below" if request.rules.failures_everywhere else "nBad_max"] = limit
    return told
