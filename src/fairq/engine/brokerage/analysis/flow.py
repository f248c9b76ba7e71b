"""The analysis flow: queues with the input nearby, then without, and the ten best (docs/panda.md, Analysis)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

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
from fairq.engine.brokerage.criteria.sources import analysis_sources_of
from fairq.engine.brokerage.criteria.walltime import job_seconds
from fairq.engine.brokerage.flow.ask import Ask, atom_of
from fairq.engine.brokerage.flow.course import UNDECIDED, refused_at
from fairq.engine.brokerage.flow.flow import flow_of
from fairq.engine.brokerage.flow.outcome import Candidate, Outcome, Status, retry_after
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Details, Filter, Reason, Weight
from fairq.engine.brokerage.flow.pool import pool_of
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Task
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.world import ANALYSIS, UserTotals

QUEUED_FACTOR = 2
"""Queued jobs or cores allowed for each one that may run."""

USER_SHARE = "User Analysis"
TOP_SHARE = "L1 User Analysis"
"""The share that is throttled by class, and the one above it whose use counts if it is less."""

CLASS_A, CLASS_B, CLASS_C = 1, 0, -1
CLASS_LIMITS = {CLASS_C: 90.0, CLASS_B: 95.0, CLASS_A: 100.0}
"""Per cent of the share's target above which tasks of a class wait."""

_CLASS_TAGS = {CLASS_C: "share_class_C", CLASS_B: "share_class_B", CLASS_A: "share_class_A"}

STOPS = (
    Reason("cap_running_jobs", permanent=False),
    Reason("cap_queued_jobs", permanent=False),
    Reason("cap_running_cores", permanent=False),
    Reason("cap_queued_cores", permanent=False),
    Reason("share_class_C", permanent=False),
    Reason("share_class_B", permanent=False),
    Reason("share_class_A", permanent=False),
    Reason("global_quota", permanent=False),
    Reason("global_quota_near", permanent=False),
    Reason("incomplete_input", permanent=False),
)


class Stop(NamedTuple):
    """The reason that stops a task, its next status, and the numbers compared."""

    tag: str
    status: Status
    details: Details


def stop_of(ask: Ask) -> Stop | None:
    """Return the first of `STOPS` that stops the task; None if none does."""
    return _over_cap(ask) or _over_share(ask) or _over_quota(ask) or _without_input(ask)


def _over_cap(ask: Ask) -> Stop | None:
    if ask.chunk.is_merging:
        return None
    task, config = ask.task, ask.config
    owner = task.working_group or task.user or ""
    total = ask.pool.world.user_totals.get(owner, UserTotals())
    kind = "GROUP" if task.working_group else "USER"
    for unit, run, wait in (
        ("jobs", total.running_jobs, total.queued_jobs),
        ("cores", total.running_cores, total.queued_cores),
    ):
        cap = config.amount(f"prio_mgr.CAP_RUNNING_{kind}_{unit.upper()}")
        told: Details = {"owner": owner, f"CAP_RUNNING_{kind}_{unit.upper()}": cap}
        if cap and run > cap:
            return Stop(f"cap_running_{unit}", "waiting", told | {"running": run})
        if cap and wait > QUEUED_FACTOR * cap:
            return Stop(f"cap_queued_{unit}", "waiting", told | {"limit": QUEUED_FACTOR * cap, "queued": wait})
    return None


def _over_share(ask: Ask) -> Stop | None:
    task, world = ask.task, ask.pool.world
    used, task_class = world.share_usage.get(USER_SHARE), world.task_classes.get(task.task_id)
    if not ask.rules.share_classes or task.gshare != USER_SHARE or used is None or task_class not in CLASS_LIMITS:
        return None
    percent = 100 * min(used, world.share_usage.get(TOP_SHARE, used))
    limit = CLASS_LIMITS[task_class]
    told: Details = {"share_usage": percent, "limit": limit}
    if task_class == CLASS_A:
        remaining = world.remaining_slots.get(task.user or "")
        threshold = ask.config.amount("analy_eval.USER_USAGE_THRESHOLD_A")
        part = 0.5 if remaining is None or not threshold else 1 - remaining / threshold
        percent *= part
        told |= {"user": task.user, "user_slots_used": part}
    return Stop(_CLASS_TAGS[task_class], "waiting", told) if percent > limit else None


def _over_quota(ask: Ask) -> Stop | None:
    owner = ask.task.working_group or ask.task.user or ""
    quota, rules = ask.pool.world.quotas.get(owner), ask.rules
    near = rules.quota_near and not ask.chunk.is_merging
    if quota is None or (quota.ok and not (quota.near and near)):
        return None
    status: Status = "waiting" if rules.quota_throttles else "failed"
    return Stop("global_quota_near" if quota.ok else "global_quota", status, {"owner": owner})


def _without_input(ask: Ask) -> Stop | None:
    missing = analysis_sources_of(ask).stop
    return None if missing is None else Stop("incomplete_input", "failed", missing)


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
    return Plan.of(ANALYSIS, filters, weights, STOPS)


def broker_all_analysis(cases: Sequence[Case], columns: Columns, plan: Plan, rules: Rules) -> list[Outcome]:
    """Return `broker_analysis` of each of *cases*."""
    return [broker_analysis(task, chunk, columns, plan, rules) for task, chunk in cases]


def broker_analysis(task: Task, chunk: Chunk, columns: Columns, plan: Plan, rules: Rules) -> Outcome:
    """Return the queues for the jobs of *task* and *chunk*, and why the other queues are refused.

    The reason of a queue is that of the last pass. Datasets without files are ignored.
    """
    pool = pool_of(columns, rules)
    ask = Ask(task, _with_files(chunk), pool, ANALYSIS, local=True)
    ask.preassigned = preassignment(ask)
    outcome = Outcome(flow_of(plan, pool), ask)
    stop = stop_of(ask)
    if stop is not None:
        outcome.stop(stop.tag, stop.details, stop.status)
    else:
        is_left, passed = _pass(outcome)
        again = not passed or (rules.problems_open_second_pass and not is_left)
        if again and locality.has_second_pass(ask):
            outcome.ask = ask.second_pass()
            is_left, _ = _pass(outcome)
        if is_left:
            _choose(outcome)
        elif _is_fatal(outcome):
            outcome.status = "fatal"
    if outcome.status != "assigned":
        outcome.retry_after = retry_after(task, ANALYSIS, rules)
    return outcome


def _with_files(chunk: Chunk) -> Chunk:
    if all(dataset.files for dataset in chunk.datasets):
        return chunk
    return replace(chunk, datasets=tuple(dataset for dataset in chunk.datasets if dataset.files))


def _pass(outcome: Outcome) -> tuple[bool, bool]:
    """Apply the filters before the weights; return whether a queue is left, and whether one passes but for temporary
    problems."""
    (course,) = outcome.flow.courses([outcome.ask])
    is_left = outcome.take(course, FIRST_PASS if outcome.ask.local else SECOND_PASS)
    return is_left, bool((refused_at(course.answers, len(course.decided)) == UNDECIDED).any())


def _is_fatal(outcome: Outcome) -> bool:
    """Return whether, under the rules panda, the task fails: its given queues are refused and others are not."""
    given, rules = selection_of(outcome.ask).given, outcome.ask.rules
    step = next((one for one in outcome.plan.steps["before"] if one.filter.name == candidates.preassigned.name), None)
    if not given or not rules.lost_site_is_fatal or step is None:
        return False
    assert outcome.course is not None
    refused = refused_at(outcome.course.answers, len(outcome.decided))
    left = refused >= step.first
    return bool(left.any()) and not (left & rows_called(outcome.ask.pool, given)).any()


def _choose(outcome: Outcome) -> None:
    outcome.weigh()
    ask, left = outcome.ask, outcome.choose()
    assert outcome.weighing is not None
    if left.any():
        weights = outcome.weighing.weights
        rows = choice.in_analysis_order(ask.pool, np.flatnonzero(left), weights, choice.used_queues(ask))
        outcome.status, outcome.chosen, outcome.weights = "assigned", rows, weights[rows]
        outcome.describe = _candidates


def _candidates(outcome: Outcome) -> list[Candidate]:
    ask, pool = outcome.ask, outcome.ask.pool
    held, room = locality.local_data(ask), scratch.scratch_for_jobs(pool, scratch.uses_whole_scratch(ask))
    running, waiting = counted_running(pool, counting_of(ask)), queued_of_share(pool, ask.task.gshare)
    return [
        Candidate(
            queue=pool.names[row],
            unit=pool.queues[row].unit,
            weight=weight,
            queued=int(waiting[row]),
            running=int(running[row]),
            maxwdir=float(room[row]) or None,
            max_walltime=job_seconds(ask.task, atom_of(ask).events, pool.queues[row]),
            platform=software.platform_at(ask, row),
            local_files=int(held.disk_files[row]),
            tape_files=int(held.tape_files[row]),
        )
        for row, weight in zip(outcome.chosen.tolist(), outcome.weights.tolist(), strict=True)
    ]
