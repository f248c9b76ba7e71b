"""The production flow: from all queues to the ten best (docs/panda.md, Production filters and Production weight)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fairq.engine.brokerage.criteria import (
    candidates,
    caps,
    choice,
    cores,
    disk_traffic,
    event_service,
    input_data,
    memory,
    network,
    nucleus,
    scratch,
    shares,
    software,
    status,
    storage,
    walltime,
    weights,
)
from fairq.engine.brokerage.criteria.candidates import given_queues, stop_for_site
from fairq.engine.brokerage.criteria.jobs import counted_running, counting_of, type_numbers, types_of
from fairq.engine.brokerage.criteria.sources import sources_of
from fairq.engine.brokerage.criteria.walltime import job_seconds
from fairq.engine.brokerage.flow.ask import Ask, atom_of
from fairq.engine.brokerage.flow.flow import flow_of
from fairq.engine.brokerage.flow.outcome import Candidate, Outcome, retry_after
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Filter, Reason, Weight
from fairq.engine.brokerage.jobs.tasks import Case
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.flags import takes_jumbo_jobs
from fairq.engine.brokerage.pool.world import PRODUCTION

FILTERS: tuple[Filter, ...] = (
    candidates.pseudo_queues,
    candidates.given,
    candidates.queue_type,
    status.status,
    network.link,
    status.opportunistic,
    status.inactive,
    shares.zero_share,
    event_service.jumbo,
    event_service.jumbo_events,
    disk_traffic.disk_io,
    cores.cores,
    software.software,
    memory.memory,
    scratch.scratch,
    storage.storage,
    walltime.walltime,
    network.connectivity,
    event_service.event_service,
    network.transferring,
    status.pledge,
    nucleus.t1weight,
    disk_traffic.max_io_intensity,
    nucleus.full_chain,
    status.pilots,
    input_data.io,
    choice.lock,
    input_data.local_data_only,
    caps.queued_cap,
    network.network_threshold,
    caps.type_cap,
    choice.minimum_weight,
    choice.one_at_nucleus,
    choice.ten_best,
    choice.jumbo_alone,
)
"""fairq's own filters of production, in PanDA's order."""

WEIGHTS: tuple[Weight, ...] = (weights.jobs, input_data.data, nucleus.near_nucleus, network.network, software.cpu_level)
"""fairq's own weights of production, in order."""

STOPS = (
    Reason("unknown_site", permanent=False),
    Reason("unknown_nucleus", permanent=False),
    Reason("incomplete_input", permanent=False),
    Reason("source_unreadable", permanent=False),
)


def production_plan(filters: Iterable[Filter] = FILTERS, weights: Iterable[Weight] = WEIGHTS) -> Plan:
    """Return the production flow of *filters* and *weights*; those for analysis are left out."""
    return Plan.of(PRODUCTION, filters, weights, STOPS)


def broker_production(cases: Iterable[Case], pool: Pool, plan: Plan) -> list[Outcome]:
    """Return for each of *cases* the queues for its jobs, and why the other queues are refused."""
    flow, outcomes, started = flow_of(plan, pool), [], []
    for task, chunk in cases:
        ask = Ask(task, chunk, pool, PRODUCTION)
        ask.given_rows, ask.preassigned = given_queues(ask)
        outcome = Outcome(flow, ask)
        outcomes.append(outcome)
        stop = stop_for_site(ask) or nucleus.stop_for_nucleus(ask) or sources_of(ask).stop
        if stop is not None:
            outcome.stop(*stop)
        else:
            started.append(outcome)
    courses = flow.courses([outcome.ask for outcome in started])
    passed = [outcome for outcome, course in zip(started, courses, strict=True) if outcome.take(course)]
    for outcome in passed:
        outcome.weigh()
    for outcome in passed:
        rows = outcome.choose()
        if rows.any():
            _assign(outcome, np.flatnonzero(rows))
    for outcome in outcomes:
        if outcome.status != "assigned":
            outcome.retry_after = retry_after(outcome.ask)
    return outcomes


def _assign(outcome: Outcome, rows: choice.Rows) -> None:
    assert outcome.weighing is not None
    tried = choice.tried_out(outcome.ask)
    rows = choice.in_order(rows, outcome.weighing.weights, tried)
    weights = outcome.weighing.weights[rows]
    outcome.status, outcome.chosen = "assigned", rows
    outcome.weights = weights if tried is None else np.where(tried[rows], 0.0, weights)
    outcome.describe = _candidates


def _candidates(outcome: Outcome) -> list[Candidate]:
    ask, rows = outcome.ask, outcome.chosen.tolist()
    pool, rules, counting = ask.pool, ask.rules, counting_of(ask)
    tried, jumbo = choice.tried_out(ask), takes_jumbo_jobs(pool) & ask.takes_jumbo_jobs
    share, local = counting.share or "", input_data.input_at(ask).is_local
    running, of_types = counted_running(pool, counting), type_numbers(pool, counting, types_of(ask), local)
    queued, cap = caps.queued_jobs(pool, share, local), caps.cap_of(pool, share, running)
    type_cap = caps.cap_of(pool, share, of_types.running)
    scratch_sizes, files = (
        scratch.scratch_for_jobs(pool, scratch.uses_whole_scratch(ask)),
        input_data.file_counts(ask, rows),
    )
    # Under the rules panda, unified queues are capped by resource type, and express tasks not at all.
    uncapped = ask.is_express and rules.queue_caps == "limit"
    chosen = []
    for row, weight in zip(rows, outcome.weights.tolist(), strict=True):
        queue = pool.queues[row]
        by_type = rules.type_cap and queue.capability == "ucore"
        chosen.append(
            Candidate(
                queue=queue.name,
                unit=queue.unit,
                weight=weight,
                bootstrap=tried is not None and bool(tried[row]),
                jumbo=bool(jumbo[row]),
                queued=int(of_types.queued[row] if by_type else queued[row]),
                cap=None if uncapped else int((type_cap if by_type else cap)[row]),
                running=int(running[row]),
                maxwdir=float(scratch_sizes[row]) or None,
                max_walltime=job_seconds(ask.task, atom_of(ask).events, queue),
                platform=software.platform_at(ask, row),
                local_files=files[row][0],
                tape_files=files[row][1],
            )
        )
    return chosen
