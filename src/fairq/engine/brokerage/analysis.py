"""The analysis flow: queues with the input nearby, then without, and the ten best (docs/panda.md, Analysis)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from fairq.engine.brokerage.criteria import (
    candidates,
    caps,
    choice,
    cores,
    disk_traffic,
    locality,
    memory,
    problems,
    scratch,
    shares,
    software,
    status,
    storage,
    walltime,
    weights,
)
from fairq.engine.brokerage.criteria.candidates import preassignment, rows_called, selection_of
from fairq.engine.brokerage.criteria.jobs import counted_running, counting_of, queued_of_share
from fairq.engine.brokerage.criteria.throttle import STOPS, stop_of
from fairq.engine.brokerage.criteria.walltime import job_seconds
from fairq.engine.brokerage.flow.ask import Ask, atom_of
from fairq.engine.brokerage.flow.course import UNDECIDED, refused_at
from fairq.engine.brokerage.flow.flow import flow_of
from fairq.engine.brokerage.flow.outcome import Candidate, Outcome, retry_after
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Filter, Weight
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Task
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.world import ANALYSIS

FILTERS: tuple[Filter, ...] = (
    candidates.analysis_pseudo_queues,
    candidates.analysis_queue_type,
    locality.data_nearby,
    status.analysis_status,
    shares.analysis_zero_share,
    disk_traffic.analysis_disk_io,
    disk_traffic.analysis_max_io_intensity,
    locality.avoid_vp,
    cores.analysis_cores,
    software.gpu,
    problems.closed_jobs,
    software.analysis_software,
    memory.analysis_memory,
    scratch.analysis_scratch_disk,
    storage.analysis_storage,
    walltime.analysis_walltime,
    walltime.analysis_minimum_walltime,
    status.analysis_pilots,
    candidates.included,
    candidates.preassigned,
    candidates.hospital,
    caps.analysis_type_cap,
    problems.overload,
    problems.user_problem,
    problems.problems,
    choice.analysis_ten_best,
    choice.analysis_minimum_weight,
    locality.analysis_local_data_only,
)
"""fairq's own filters of analysis, in PanDA's order."""

WEIGHTS: tuple[Weight, ...] = (weights.balance, weights.classes, locality.analysis_data)
"""fairq's own weights of analysis, in order."""

FIRST_PASS = "LOOP with data locality"
SECOND_PASS = "LOOP without data locality"
"""Lines of the stage table that mark the beginning of a pass."""


def analysis_plan(filters: Iterable[Filter] = FILTERS, weights: Iterable[Weight] = WEIGHTS) -> Plan:
    """Return the analysis flow of *filters* and *weights*; those for production are left out."""
    return Plan.of(ANALYSIS, filters, weights, STOPS, (FIRST_PASS, SECOND_PASS))


def broker_analysis(cases: Iterable[Case], pool: Pool, plan: Plan) -> list[Outcome]:
    """Return for each of *cases* the queues for its jobs, and why the other queues are refused.

    A queue has the reason of the last pass. Datasets without files are ignored.
    """
    return [_broker(task, chunk, pool, plan) for task, chunk in cases]


def _broker(task: Task, chunk: Chunk, pool: Pool, plan: Plan) -> Outcome:
    ask = Ask(task, _with_files(chunk), pool, ANALYSIS, local=True)
    ask.preassigned = preassignment(ask)
    outcome = Outcome(flow_of(plan, pool), ask)
    stop = stop_of(ask)
    if stop is not None:
        outcome.stop(*stop)
    else:
        is_left, passed = _pass(outcome)
        needs_second_pass = not passed or (pool.rules.problems_open_second_pass and not is_left)
        if needs_second_pass and locality.has_second_pass(ask):
            outcome.ask = ask.second_pass()
            is_left, _ = _pass(outcome)
        if is_left:
            _choose(outcome)
        elif _is_fatal(outcome):
            outcome.status = "fatal"
    if outcome.status != "assigned":
        outcome.retry_after = retry_after(ask)
    return outcome


def _with_files(chunk: Chunk) -> Chunk:
    if all(dataset.files for dataset in chunk.datasets):
        return chunk
    return replace(chunk, datasets=tuple(dataset for dataset in chunk.datasets if dataset.files))


def _pass(outcome: Outcome) -> tuple[bool, bool]:
    """Apply the filters before the weights.

    Return whether a queue is left, and whether one is left if temporary problems are ignored.
    """
    (course,) = outcome.flow.courses([outcome.ask])
    is_left = outcome.take(course, FIRST_PASS if outcome.ask.local else SECOND_PASS)
    return is_left, bool((refused_at(course.answers, len(course.decided)) == UNDECIDED).any())


def _is_fatal(outcome: Outcome) -> bool:
    """Return whether, under the rules panda, the task fails: its given queues are refused and others are not."""
    given_names, rules = selection_of(outcome.ask).given, outcome.ask.rules
    step = next(
        (step for step in outcome.plan.steps["before"] if step.filter.name == candidates.preassigned.name),
        None,
    )
    if not given_names or not rules.lost_site_is_fatal or step is None:
        return False
    assert outcome.course is not None
    refused = refused_at(outcome.course.answers, len(outcome.decided))
    passing = refused >= step.first
    return bool(passing.any()) and not (passing & rows_called(outcome.ask.pool, given_names)).any()


def _choose(outcome: Outcome) -> None:
    outcome.weigh()
    ask, rows_left = outcome.ask, outcome.choose()
    assert outcome.weighing is not None
    if rows_left.any():
        weights = outcome.weighing.weights
        rows = choice.in_analysis_order(ask.pool, np.flatnonzero(rows_left), weights, choice.used_queues(ask))
        outcome.status, outcome.chosen, outcome.weights = "assigned", rows, weights[rows]
        outcome.describe = _candidates


def _candidates(outcome: Outcome) -> list[Candidate]:
    ask, pool = outcome.ask, outcome.ask.pool
    inputs, scratch_sizes = locality.local_data(ask), scratch.scratch_for_jobs(pool, scratch.uses_whole_scratch(ask))
    running, waiting = counted_running(pool, counting_of(ask)), queued_of_share(pool, ask.task.gshare)
    return [
        Candidate(
            queue=pool.names[row],
            unit=pool.queues[row].unit,
            weight=weight,
            queued=int(waiting[row]),
            running=int(running[row]),
            maxwdir=float(scratch_sizes[row]) or None,
            max_walltime=job_seconds(ask.task, atom_of(ask).events, pool.queues[row]),
            platform=software.platform_at(ask, row),
            local_files=int(inputs.disk_files[row]),
            tape_files=int(inputs.tape_files[row]),
        )
        for row, weight in zip(outcome.chosen.tolist(), outcome.weights.tolist(), strict=True)
    ]
