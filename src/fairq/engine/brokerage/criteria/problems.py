"""Temporary problems of queues for users' tasks: overload, failures, too many jobs (docs/panda.md, Analysis)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.criteria.candidates import rows_called, spared_row
from fairq.engine.brokerage.criteria.jobs import (
    UserQueues,
    counted_running,
    counting_of,
    queued_of_share,
    start_rate,
    user_queues,
)
from fairq.engine.brokerage.criteria.locality import has_second_pass, ignores_locality, locality, virtual_rows
from fairq.engine.brokerage.flow.ask import Ask, once_per_task
from fairq.engine.brokerage.flow.plan import FINAL_STAGE
from fairq.engine.brokerage.flow.plugin import Details, Left, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.supply import queued_to_running
from fairq.engine.brokerage.pool.world import Failures

MIN_RUNNING = 20
QUEUED_FACTOR = 2
"""Under the rules documented: minimum of running jobs that is assumed, and queued jobs allowed per running job."""

STALLED, USER, FAILED, LONG = "stalled", "user", "failures", "long"
"""Problems: many waiting but no running jobs; too many jobs of the user; failed jobs of the task; too many jobs."""

CLOSED = Reason("closed", passing=True)
OVERLOADED, OVERLOADED_VP = Reason("overloaded", passing=True), Reason("overloaded_vp")
USER_PROBLEM = Reason("tmp_user_problem", passing=True)
BAD, TOO_LONG = Reason("badsite", passing=True), Reason("cap", passing=True)


class EndedJobs(NamedTuple):
    """A task's jobs that ended in the last hours, per row."""

    failed: Floats
    closed: Floats
    finished: Floats


def ended_jobs(ask: Ask) -> EndedJobs:
    """Return the task's jobs that ended at each row."""
    pool, counts = ask.pool, np.zeros((3, len(ask.pool.unit_names)))
    for name, numbers in pool.world.failures.get(ask.task.task_id, {}).items():
        if name in pool.unit_numbers:
            counts[:, pool.unit_numbers[name]] = Failures(*numbers)
    return EndedJobs(*counts[:, pool.unit_of])


def _reads_closed(ask: Ask) -> Values | None:
    # The page counts failed and closed jobs together.
    if ask.rules.failures_everywhere or ask.preassigned == "single" or ask.chunk.is_merging:
        return None
    return (ended_jobs(ask).closed,)


@refuses("closed", "too many closed check", CLOSED, reads=_reads_closed, kept=False)
def closed_jobs(pool: Pool, closed: Floats) -> Refusals:
    """Refuse queues where jobs of the task were closed recently (rules panda); merges are exempt."""
    yield Refusal(CLOSED, closed > 0, lambda row: {"closed": int(closed[row])})


class Load(NamedTuple):
    """Jobs of a share at each row, and whether too many wait.

    Args:
        waiting, running: the jobs.
        min_waiting, ratio: more than the former wait, and more than the latter per running job.
        over: whether both hold (overloaded).
    """

    waiting: Floats
    running: Floats
    min_waiting: float
    ratio: float
    over: Booleans


def load_of(pool: Pool, share: str | None) -> Load:
    """Return the load of the queues.

    A queue is overloaded if it has far more waiting jobs per running job than all queues of the share together.
    """

    def make() -> Load:
        waiting, running = queued_of_share(pool, share), pool.job_counts(share, "running")
        min_waiting = pool.config.amount("anal_jobbroker.OVERLOAD_MIN_QUEUE")
        # If no job of the share runs anywhere, the ratio has no effect.
        total_ratio = queued_to_running(pool.world.job_stats, share) or 0.0
        ratio = total_ratio * pool.config.amount("anal_jobbroker.OVERLOAD_RATIO_OFFSET")
        over = (waiting > min_waiting) & ((running == 0) | (waiting > running * ratio))
        return Load(waiting, running, min_waiting, ratio, over)

    return pool.under(("load", share), make)


def _reads_overload(ask: Ask) -> Values | None:
    if ask.chunk.is_merging:
        return None
    has_input = ask.local and ask.chunk.datasets and not ask.rules.analysis_queue_ratio
    return ask.task.gshare, locality(ask).real if has_input else None


@refuses("overload", "overload check", OVERLOADED, OVERLOADED_VP, reads=_reads_overload, looks_back=True)
def overload(pool: Pool, remaining: Left, share: str | None, real: Booleans | None) -> Refusals:
    """Refuse overloaded queues; if all are overloaded, keep those with real input. Merges are exempt.

    Under the rules documented, this applies to VP queues only; for the others see `problems_of`.
    """
    load = load_of(pool, share)

    def figures(row: int) -> Details:
        numbers = {"nQueue": int(load.waiting[row]), "nRunning": int(load.running[row])}
        return numbers | {"OVERLOAD_MIN_QUEUE": load.min_waiting, "ratio": load.ratio}

    if pool.rules.analysis_queue_ratio:
        yield Refusal(OVERLOADED_VP, load.over & virtual_rows(pool), figures)
        return
    is_real = np.ones(len(pool), dtype=np.bool_) if real is None else real
    if not load.over[remaining.rows].all():
        yield Refusal(OVERLOADED, load.over & is_real, figures)
    yield Refusal(OVERLOADED_VP, load.over & ~is_real, figures)


class Problems(NamedTuple):
    """Temporary problems of the queues for a task: by problem, the rows that have it; and the numbers compared.

    Args:
        rows: the rows with each problem.
        waiting, running: jobs of the share; *longest* is how many may wait.
        user: the jobs of the user.
        ended: the task's jobs that ended; *tolerated* is how many may have failed or been closed.
    """

    rows: dict[str, Booleans]
    waiting: Floats
    running: Floats
    longest: Floats
    user: UserQueues
    ended: EndedJobs
    tolerated: Floats

    @property
    def any(self) -> Booleans:
        """The rows with any problem."""
        rows_with_problem: Booleans = np.any(list(self.rows.values()), axis=0)
        return rows_with_problem

    @property
    def only_long(self) -> Booleans:
        """The rows whose only problem is that too many jobs wait."""
        others: Booleans = np.any([rows for name, rows in self.rows.items() if name != LONG], axis=0)
        return self.rows[LONG] & ~others

    def figures(self, row: int, *, below: bool) -> Details:
        """Return the problems of a row; *below*: fewer jobs than the limit may have failed or been closed."""
        details: Details = {"problems": [name for name, rows in self.rows.items() if rows[row]]}
        details |= {"nQueue": int(self.waiting[row]), "nRunning": int(self.running[row])}
        if self.rows[LONG][row]:
            details["nQueue_max"] = int(self.longest[row])
        if self.rows[USER][row]:
            details |= {"userQ": int(self.user.queued[row]), "userQ_max": float(self.user.limit[row])}
        if self.rows[FAILED][row]:
            failed, closed, finished = self.ended
            details |= {"nFailed": int(failed[row]), "nClosed": int(closed[row]), "nFinished": int(finished[row])}
            details["nBad_below" if below else "nBad_max"] = float(self.tolerated[row])
        return details


@once_per_task
def problems_of(ask: Ask) -> Problems | None:
    """Return the temporary problems of all queues; None for merges, which have none."""
    if ask.chunk.is_merging:
        return None
    pool, rules, config, share = ask.pool, ask.rules, ask.config, ask.task.gshare
    counting = counting_of(ask)
    waiting, running, user, ended = (
        queued_of_share(pool, share),
        counted_running(pool, counting),
        user_queues(ask),
        ended_jobs(ask),
    )
    crowded = (
        user.is_known
        & (waiting >= config.amount("anal_jobbroker.BASE_QUEUE_LENGTH_PER_PQ"))
        & (waiting >= config.amount("anal_jobbroker.BASE_EXPECTED_WAIT_HOUR_ON_PQ") * start_rate(pool, share))
    )
    bad = ended.failed + ended.closed
    tolerated = np.maximum(2 * ended.finished, config.amount("anal_jobbroker.MIN_BAD_JOBS_TO_SKIP_PQ"))
    # Documented: bad jobs must be fewer, at every queue; panda: at crowded queues, they must not be more.
    failing = bad >= tolerated if rules.failures_everywhere else crowded & (bad > tolerated)
    longest = QUEUED_FACTOR * np.maximum(running, MIN_RUNNING)
    load = load_of(pool, share)
    rows = {
        STALLED: load.over & (load.running == 0) & (not rules.analysis_queue_ratio),
        USER: crowded & (user.queued > user.limit),
        FAILED: failing & (bad > 0),
        LONG: (waiting > longest) & rules.analysis_queue_ratio,
    }
    return Problems(rows, waiting, running, longest, user, ended, tolerated)


def _reads_user_problem(ask: Ask) -> Values | None:
    if ask.chunk.is_merging or not ask.rules.problems_open_second_pass:
        return None
    return (problems_of(ask),) if ask.local and has_second_pass(ask) and ignores_locality(ask) else None


@refuses("user problem", "temp user problem check", USER_PROBLEM, reads=_reads_user_problem, looks_back=True)
def user_problem(pool: Pool, remaining: Left, problems_found: Problems) -> Refusals | None:
    """Refuse all queues of the first pass if each has a temporary problem (rules panda): the task leaves its input."""
    if not problems_found.any[remaining.rows].all():
        return None
    below = pool.rules.failures_everywhere
    return [Refusal(USER_PROBLEM, problems_found.any, lambda row: problems_found.figures(row, below=below))]


def _reads_problems(ask: Ask) -> Values:
    return problems_of(ask), spared_row(ask)


@refuses("problems", FINAL_STAGE, BAD, TOO_LONG, reads=_reads_problems, phase="after")
def problems(pool: Pool, problems_found: Problems | None, spared: tuple[str, ...]) -> Refusals:
    """Refuse queues with a temporary problem; under the rules panda, the single given queue is kept."""
    if problems_found is None:
        return
    rows, below = problems_found.any & ~rows_called(pool, spared), pool.rules.failures_everywhere
    yield Refusal(TOO_LONG, rows & problems_found.only_long, lambda row: problems_found.figures(row, below=below))
    yield Refusal(BAD, rows & ~problems_found.only_long, lambda row: problems_found.figures(row, below=below))
