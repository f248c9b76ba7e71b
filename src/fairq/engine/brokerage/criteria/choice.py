"""The choice among weighed queues (docs/panda.md, Production weight and Analysis)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.criteria.candidates import rows_called, spared_row
from fairq.engine.brokerage.criteria.jobs import counted_running, counting_of, jobs_in
from fairq.engine.brokerage.criteria.sources import analysis_sources_of
from fairq.engine.brokerage.flow.ask import Ask, once_per_task
from fairq.engine.brokerage.flow.plan import FINAL_STAGE
from fairq.engine.brokerage.flow.plugin import Details, Left, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.flags import other_than_jumbo, takes_jumbo_jobs

MOST_CANDIDATES = 10
"""Maximum number of queues of a task."""

LOCKED, TOO_LIGHT, NOT_BUSIEST = Reason("lock"), Reason("below_min_weight"), Reason("t1_weight")
LOW_WEIGHT, OTHERS_TRIED, JUMBO_ALONE = Reason("low_weight"), Reason("others_bootstrap"), Reason("jumbo_alone")

Rows = NDArray[np.intp]
"""Numbers of rows."""


@refuses("lock", FINAL_STAGE, LOCKED, reads=lambda ask: (ask.takes_jumbo_jobs,), phase="after")
def lock(pool: Pool, jumbo: bool) -> Refusals:
    """Refuse queues locked by another brokerage (rules panda); a unified name locks its pseudo queues."""
    locked = pool.world.locked
    if locked and pool.rules.locks:
        rows = pool.flags("locked", lambda queue: queue.name in locked or queue.unit in locked)
        yield Refusal(LOCKED, other_than_jumbo(pool, rows, jumbo))


@once_per_task
def tried_out(ask: Ask) -> Booleans | None:
    """Return the idle rows, which get one job as a trial (rules panda): no job of the share runs or waits there.

    None: no row is tried out. Only low priorities try queues out, and not merges, express tasks or jumbo jobs.
    """
    pool = ask.pool
    if not ask.rules.bootstrap or ask.chunk.is_merging or ask.is_express:
        return None
    if ask.task.current_priority > ask.config.amount("jobbroker.MAX_PRIO_TO_BOOTSTRAP"):
        return None
    counting = counting_of(ask)

    def make() -> Booleans:
        waiting = jobs_in(pool, counting.share, "activated", "assigned", "starting", "defined")
        idle: Booleans = counted_running(pool, counting) + waiting == 0
        return idle

    return other_than_jumbo(pool, pool.kept(("idle", counting), make), ask.takes_jumbo_jobs)


def _minimum_of(ask: Ask) -> float:
    """Return the minimum weight of candidates.

    Under the rules panda, it is ``MIN_WEIGHT`` of the label and share, otherwise of the label. Under the rules
    documented, there is none.
    """
    task = ask.task
    if not ask.rules.minimum_weight:
        return 0.0
    return ask.config.amount("jobbroker.MIN_WEIGHT", f"{task.label}_{task.gshare}", task.label)


def _reads_minimum_weight(ask: Ask) -> Values | None:
    minimum = _minimum_of(ask)
    return (minimum, tried_out(ask), ask.takes_jumbo_jobs) if minimum > 0 else None


@refuses("minimum weight", FINAL_STAGE, TOO_LIGHT, reads=_reads_minimum_weight, phase="after", looks_back=True)
def minimum_weight(pool: Pool, remaining: Left, minimum: float, tried: Booleans | None, jumbo: bool) -> Refusals:
    """Candidates need a minimum weight where one is configured.

    Queues to be tried out and those for the task's jumbo jobs are exempt.
    """
    light = other_than_jumbo(pool, remaining.weights < minimum, jumbo)
    if tried is not None:
        light = light & ~tried
    yield Refusal(TOO_LIGHT, light, lambda row: {"weight": float(remaining.weights[row]), "MIN_WEIGHT": minimum})


def _reads_analysis_minimum_weight(ask: Ask) -> Values | None:
    minimum = _minimum_of(ask)
    return (minimum, None, False) if minimum > 0 else None


analysis_minimum_weight = minimum_weight._replace(name="analysis minimum weight", reads=_reads_analysis_minimum_weight)


def _reads_one_at_nucleus(ask: Ask) -> Values | None:
    return (tried_out(ask), ask.takes_jumbo_jobs) if ask.rules.one_queue_at_nucleus and ask.stays_near else None


@refuses("t1_weight", FINAL_STAGE, NOT_BUSIEST, reads=_reads_one_at_nucleus, phase="after", looks_back=True)
def one_at_nucleus(pool: Pool, remaining: Left, tried: Booleans | None, jumbo: bool) -> Refusals:
    """Under the rules panda, keep only the queue with the most running jobs for a task with a negative ``t1Weight``.

    Jobs of all shares count; ties are broken by name.
    """
    counted = other_than_jumbo(pool, remaining.rows, jumbo)
    if tried is not None:
        counted = counted & ~tried
    if counted.any():
        running = pool.job_counts(None, "running")
        others = counted.copy()
        others[np.argmax(np.where(counted, running, -1))] = False
        yield Refusal(NOT_BUSIEST, others, lambda row: {"nRunningAll": int(running[row])})


def in_order(rows: Rows, weights: Floats, tried: Booleans | None) -> Rows:
    """Return *rows* in order: rows to be tried out first, then by weight, then by name."""
    falling = -weights[rows]
    if tried is not None:
        falling[tried[rows]] = -np.inf
    # Rows are in order of name already.
    return rows[falling.argsort(kind="stable")]


@refuses(
    "ten best",
    FINAL_STAGE,
    LOW_WEIGHT,
    OTHERS_TRIED,
    reads=lambda ask: (tried_out(ask), ask.takes_jumbo_jobs),
    phase="after",
    looks_back=True,
)
def ten_best(pool: Pool, remaining: Left, tried: Booleans | None, jumbo: bool) -> Refusals:
    """Keep the ten best queues: queues to be tried out first, then by weight, then by name.

    Queues for jumbo jobs do not count.
    """
    rows, weights = np.flatnonzero(other_than_jumbo(pool, remaining.rows, jumbo)), remaining.weights
    if len(rows) <= MOST_CANDIDATES:
        return
    ordered = in_order(rows, weights, tried)
    beyond_ten = np.zeros(len(pool), np.bool_)
    beyond_ten[ordered[MOST_CANDIDATES:]] = True
    tenth = float(weights[ordered[MOST_CANDIDATES - 1]])

    def figures(row: int) -> Details:
        return {"weight": float(weights[row]), "tenth": tenth}

    tried_rows = np.zeros(len(pool), np.bool_) if tried is None else tried
    yield Refusal(OTHERS_TRIED, beyond_ten & tried_rows, figures)
    yield Refusal(LOW_WEIGHT, beyond_ten & ~tried_rows, figures)


@refuses(
    "other than jumbo",
    FINAL_STAGE,
    JUMBO_ALONE,
    reads=lambda ask: () if ask.takes_jumbo_jobs else None,
    phase="after",
    looks_back=True,
)
def jumbo_alone(pool: Pool, remaining: Left) -> Refusals:
    """A task with jumbo jobs needs a queue for its other jobs as well."""
    if not (remaining.rows & ~takes_jumbo_jobs(pool)).any():
        yield Refusal(JUMBO_ALONE, remaining.rows)


def used_queues(ask: Ask) -> frozenset[str]:
    """Return the queues that come first in analysis: under the rules panda, those that the task already uses."""
    return ask.pool.world.used_queues.get(ask.task.task_id, frozenset()) if ask.rules.used_queues_first else frozenset()


def in_analysis_order(pool: Pool, rows: Rows, weights: Floats, used: frozenset[str]) -> Rows:
    """Return *rows* in order: rows of the *used* queues first, then by weight, then by name."""
    fresh = np.array([not {pool.queues[row].name, pool.queues[row].unit} & used for row in rows], dtype=np.bool_)
    # Rows are in order of name already, and the last key sorts first.
    return rows[np.lexsort((-weights[rows], fresh))]


def _reads_analysis_ten(ask: Ask) -> Values | None:
    unlimited = ask.rules.distributed_unlimited and ask.local
    return None if unlimited and analysis_sources_of(ask).distributed else (used_queues(ask), spared_row(ask))


@refuses("analysis ten best", FINAL_STAGE, LOW_WEIGHT, reads=_reads_analysis_ten, phase="after", looks_back=True)
def analysis_ten_best(pool: Pool, remaining: Left, used: frozenset[str], spared: tuple[str, ...]) -> Refusals:
    """Keep the ten best queues by weight; ties are broken by name.

    Under the rules panda, queues that the task already uses come first, distributed input allows any number of queues
    in the first pass, and the single given queue is kept.
    """
    rows = np.flatnonzero(remaining.rows)
    if len(rows) > MOST_CANDIDATES:
        beyond_ten = np.zeros(len(pool), np.bool_)
        beyond_ten[in_analysis_order(pool, rows, remaining.weights, used)[MOST_CANDIDATES:]] = True
        beyond_ten &= ~rows_called(pool, spared)
        yield Refusal(LOW_WEIGHT, beyond_ten, lambda row: {"weight": float(remaining.weights[row])})
