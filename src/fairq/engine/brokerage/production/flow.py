"""The production flow: from all queues to the ten best (docs/panda.md, Production filters and Production weight)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from fairq.engine.brokerage.checks.candidates import NoPseudoQueue
from fairq.engine.brokerage.checks.scratch_disk import atom_of, scratch_for_jobs
from fairq.engine.brokerage.checks.software import ProductionSoftware, platform_at
from fairq.engine.brokerage.flow.alike import OncePerKind, Reading
from fairq.engine.brokerage.flow.outcome import Candidate, Outcome
from fairq.engine.brokerage.flow.pending import retry_after
from fairq.engine.brokerage.flow.pipeline import FilterPipeline, flow_of, run_all
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Filter, Reason, Rows, Weight
from fairq.engine.brokerage.flow.request import BrokerageRequest, Ranking
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.flow.weighing import weigh_all, weighing_of
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Task
from fairq.engine.brokerage.jobs.walltime_needed import job_seconds
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Columns, Floats
from fairq.engine.brokerage.pool.queue_kinds import takes_jumbo_jobs
from fairq.engine.brokerage.production.cpu_level import PreferredLevel
from fairq.engine.brokerage.production.final import (
    LeastWeight,
    LocalDataOnly,
    Locked,
    OneAtNucleus,
    OtherThanJumbo,
    QueuedCap,
    SlowNetwork,
    TenBest,
    TypeCap,
    bootstrapped,
    ranked,
)
from fairq.engine.brokerage.production.input_check import stop_for_input
from fairq.engine.brokerage.production.input_data import file_counts
from fairq.engine.brokerage.production.io_check import InputNearby
from fairq.engine.brokerage.production.links import FullChain, Link, T1Weight, Transferring, stop_for_nucleus
from fairq.engine.brokerage.production.listing import GivenQueues, ProductionQueues, assign_given_queues, stop_for_site
from fairq.engine.brokerage.production.queue_state import Inactive, NoPilot, Pledge, Status, Urgent
from fairq.engine.brokerage.production.running_and_queued import by_type, cap, queued, running, type_cap
from fairq.engine.brokerage.production.slots_needed import Connectivity, Cores, Memory, ScratchDisk
from fairq.engine.brokerage.production.storage_check import StorageCheck
from fairq.engine.brokerage.production.task_kind import (
    DiskIO,
    EventService,
    Jumbo,
    JumboEvents,
    MaxIoIntensity,
    ZeroShare,
)
from fairq.engine.brokerage.production.walltime import Walltime
from fairq.engine.brokerage.production.weights import Data, Jobs, Near, Network

FILTERS: tuple[Filter, ...] = (
    NoPseudoQueue(PRODUCTION),
    GivenQueues(),
    ProductionQueues(),
    Status(),
    Link(),
    Urgent(),
    Inactive(),
    ZeroShare(),
    Jumbo(),
    JumboEvents(),
    DiskIO(),
    Cores(),
    ProductionSoftware(),
    Memory(),
    ScratchDisk(),
    StorageCheck(),
    Walltime(),
    Connectivity(),
    EventService(),
    Transferring(),
    Pledge(),
    T1Weight(),
    MaxIoIntensity(),
    FullChain(),
    NoPilot(),
    InputNearby(),
    Locked(),
    LocalDataOnly(),
    QueuedCap(),
    SlowNetwork(),
    TypeCap(),
    LeastWeight(),
    OneAtNucleus(),
    TenBest(),
    OtherThanJumbo(),
)
"""fairq's own filters of production, in PanDA's order."""

WEIGHTS: tuple[Weight, ...] = (Jobs(), Data(), Near(), Network(), PreferredLevel())
"""fairq's own weights of production, in order."""

STOPS = (
    Reason("unknown_site", permanent=False),
    Reason("unknown_nucleus", permanent=False),
    Reason("incomplete_input", permanent=False),
    Reason("source_unreadable", permanent=False),
)


def production_plan(filters: Iterable[Filter] = FILTERS, weights: Iterable[Weight] = WEIGHTS) -> Plan:
    """Return the production flow of *filters* and *weights*; those of analysis are left out."""
    return Plan.of(PRODUCTION, filters, weights, STOPS)


def broker_production(task: Task, chunk: Chunk, columns: Columns, plan: Plan, rules: Rules) -> Outcome:
    """Return the queues for the jobs of *task* and *chunk*, and why the other queues are refused."""
    (outcome,) = broker_all_production([Case(task, chunk)], columns, plan, rules)
    return outcome


def broker_all_production(cases: Sequence[Case], columns: Columns, plan: Plan, rules: Rules) -> list[Outcome]:
    """Return `broker_production` of each of *cases*."""
    flow = flow_of(columns, plan, rules)
    outcomes: dict[FilterPipeline, Outcome] = {}
    started = []
    requests = [BrokerageRequest(task, chunk, columns, rules, PRODUCTION) for task, chunk in cases]
    without_nucleus = OncePerKind(("task.nucleus",), stop_for_nucleus).of(Reading(requests))
    for request, stopped in zip(requests, without_nucleus, strict=True):
        assign_given_queues(request)
        pipeline = FilterPipeline(request, flow, flow.start())
        outcome = outcomes[pipeline] = Outcome(request, plan, "failed")
        stop = stop_for_site(request) or stopped or stop_for_input(request)
        if stop is None:
            started.append(pipeline)
        else:
            outcome.stopped_by, outcome.stop_details = stop
            pipeline.refuse_all(plan.stop_number(outcome.stopped_by))
    passed = [one for one in run_all(started, "before") if one.settle_temporary()]
    weigh_all([(one.request, one.members) for one in passed], plan)
    for pipeline in run_all(passed, "after"):
        _choose(outcomes[pipeline], pipeline.members)
    for pipeline, outcome in outcomes.items():
        outcome.refusals, outcome.stages = pipeline.refusals, pipeline.stages
        outcome.shared = pipeline.course.shared
        if outcome.status != "assigned":
            outcome.retry_after = retry_after(outcome.request.task, PRODUCTION, rules)
    return list(outcomes.values())


def _choose(outcome: Outcome, members: int) -> None:
    request = outcome.request
    ranking = ranked(request, members)
    outcome.status = "assigned"
    outcome.chosen, outcome.weights = ranking.rows, _weights(request, ranking)
    outcome.describe = partial(_candidates, request, ranking.rows)


def _weights(request: BrokerageRequest, ranking: Ranking) -> Floats:
    tried = bootstrapped(request)
    return ranking.weights if tried is None else np.where(tried[ranking.rows], 0.0, ranking.weights)


def _candidates(request: BrokerageRequest, rows: Rows) -> list[Candidate]:
    columns, numbers, rules = request.columns, by_type(request), request.rules
    weighing, tried = weighing_of(request), bootstrapped(request)
    jumbo = takes_jumbo_jobs(columns) & request.task.has_rule("NJ")
    scratch, run = scratch_for_jobs(request), running(request)
    waiting, limit, type_limit = queued(request), cap(request), type_cap(request)
    events, found = atom_of(request).events, []
    for row in rows.tolist():
        queue = columns.queues[row]
        is_tried = tried is not None and bool(tried[row])
        # Under the rules panda, unified queues are capped by resource type, and express tasks not at all.
        by_kind, files = rules.type_cap and queue.capability == "ucore", file_counts(request, row)
        uncapped = request.is_express and rules.queue_caps == "limit"
        found.append(
            Candidate(
                queue=queue.name,
                unit=queue.unit,
                weight=0.0 if is_tried else weighing.weight_of(row),
                bootstrap=is_tried,
                jumbo=bool(jumbo[row]),
                queued=int(numbers.queued[row] if by_kind else waiting[row]),
                cap=None if uncapped else int((type_limit if by_kind else limit)[row]),
                running=int(run[row]),
                maxwdir=float(scratch[row]) or None,
                max_walltime=job_seconds(request.task, events, queue),
                platform=platform_at(request, row),
                local_files=files.disk,
                tape_files=files.tape,
            )
        )
    return found
