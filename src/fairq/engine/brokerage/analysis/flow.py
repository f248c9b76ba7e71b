"""The analysis flow: queues with the input nearby, then without, and the ten best (docs/panda.md, Analysis)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from msgspec.structs import replace

from fairq.engine.brokerage.analysis.final import LeastWeight, LocalDataOnly, Problems, TenBest, ranking
from fairq.engine.brokerage.analysis.input_data import local_data
from fairq.engine.brokerage.analysis.load import Overload, TypeCap
from fairq.engine.brokerage.analysis.locality import AvoidVp, DataNearby
from fairq.engine.brokerage.analysis.problems import UserProblem
from fairq.engine.brokerage.analysis.queue_checks import (
    Closed,
    Cores,
    DiskIO,
    GpuArchitecture,
    MaxIoIntensity,
    NoPilot,
    Status,
    ZeroShare,
)
from fairq.engine.brokerage.analysis.selection import AnalysisQueues, Hospital, Included, Preassigned, select
from fairq.engine.brokerage.analysis.share_jobs import counted_running, queued
from fairq.engine.brokerage.analysis.slots_needed import (
    Memory,
    MinimumWalltime,
    ScratchDisk,
    Walltime,
)
from fairq.engine.brokerage.analysis.sources import has_second_pass
from fairq.engine.brokerage.analysis.stops import STOPS, stop_of
from fairq.engine.brokerage.analysis.storage_check import Storage
from fairq.engine.brokerage.analysis.weights import Balance, Classes, Data
from fairq.engine.brokerage.checks.candidates import NoPseudoQueue
from fairq.engine.brokerage.checks.scratch_disk import atom_of, scratch_for_jobs
from fairq.engine.brokerage.checks.software import AnalysisSoftware, platform_at
from fairq.engine.brokerage.flow.course import StageCount
from fairq.engine.brokerage.flow.outcome import Candidate, Outcome
from fairq.engine.brokerage.flow.pending import retry_after
from fairq.engine.brokerage.flow.pipeline import FilterPipeline, flow_of, run_all
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Filter, Rows, Weight
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.flow.weighing import weigh_all, weighing_of
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Task
from fairq.engine.brokerage.jobs.walltime_needed import job_seconds
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Columns

FILTERS: tuple[Filter, ...] = (
    NoPseudoQueue(ANALYSIS),
    AnalysisQueues(),
    DataNearby(),
    Status(),
    ZeroShare(),
    DiskIO(),
    MaxIoIntensity(),
    AvoidVp(),
    Cores(),
    GpuArchitecture(),
    Closed(),
    AnalysisSoftware(),
    Memory(),
    ScratchDisk(),
    Storage(),
    Walltime(),
    MinimumWalltime(),
    NoPilot(),
    Included(),
    Preassigned(),
    Hospital(),
    TypeCap(),
    Overload(),
    UserProblem(),
    Problems(),
    TenBest(),
    LeastWeight(),
    LocalDataOnly(),
)
"""fairq's own filters of analysis, in PanDA's order."""

WEIGHTS: tuple[Weight, ...] = (Balance(), Classes(), Data())
"""fairq's own weights of analysis, in order."""

FIRST_PASS = "LOOP with data locality"
SECOND_PASS = "LOOP without data locality"
"""Lines of the stage table that mark the beginning of a pass."""


def analysis_plan(filters: Iterable[Filter] = FILTERS, weights: Iterable[Weight] = WEIGHTS) -> Plan:
    """Return the analysis flow of *filters* and *weights*; those of production are left out."""
    return Plan.of(ANALYSIS, filters, weights, STOPS)


def broker_all_analysis(cases: Sequence[Case], columns: Columns, plan: Plan, rules: Rules) -> list[Outcome]:
    """Return `broker_analysis` of each of *cases*."""
    return [broker_analysis(task, chunk, columns, plan, rules) for task, chunk in cases]


def broker_analysis(task: Task, chunk: Chunk, columns: Columns, plan: Plan, rules: Rules) -> Outcome:
    """Return the queues for the jobs of *task* and *chunk*, and why the other queues are refused.

    The reason of a queue is that of the last pass. Datasets without files are ignored.
    """
    request = BrokerageRequest(task, _with_files(chunk), columns, rules, ANALYSIS, local=True)
    select(request)
    flow = flow_of(columns, plan, rules)
    pipeline = FilterPipeline(request, flow, flow.start())
    outcome = Outcome(request, plan, "failed")
    stop = stop_of(request)
    if stop is not None:
        outcome.stopped_by, outcome.status, outcome.stop_details = stop.tag, stop.status, stop.details
        pipeline.refuse_all(plan.stop_number(stop.tag))
    else:
        passed = _pass(pipeline, outcome)
        again = not passed or (rules.problems_open_second_pass and not len(pipeline.left))
        if again and has_second_pass(request):
            pipeline = FilterPipeline(_second(request), flow, flow.start())
            outcome.request = pipeline.request
            _pass(pipeline, outcome)
        if len(pipeline.left):
            _choose(pipeline, outcome)
        elif pipeline.request.is_fatal:
            outcome.status = "fatal"
    outcome.refusals = pipeline.refusals
    if outcome.status != "assigned":
        outcome.retry_after = retry_after(task, ANALYSIS, rules)
    return outcome


def _with_files(chunk: Chunk) -> Chunk:
    if all(dataset.files for dataset in chunk.datasets):
        return chunk
    return replace(chunk, datasets=tuple(dataset for dataset in chunk.datasets if dataset.files))


def _second(first: BrokerageRequest) -> BrokerageRequest:
    request = first.second_pass()
    select(request)
    return request


def _pass(pipeline: FilterPipeline, outcome: Outcome) -> bool:
    """Return whether a queue passes the checks of persistent issues."""
    found = bool(run_all([pipeline], "before"))
    if found and pipeline.marks:
        pipeline.settle_temporary()
    count = pipeline.stages[0]
    name = FIRST_PASS if pipeline.request.local else SECOND_PASS
    first = StageCount(name, count.rows_before, count.rows_after, count.units_before, count.units_after)
    outcome.stages = (*outcome.stages, first, *pipeline.stages[1:])
    return found


def _choose(pipeline: FilterPipeline, outcome: Outcome) -> None:
    request, before = pipeline.request, len(pipeline.stages)
    weigh_all([(request, pipeline.members)], outcome.plan)
    found = bool(run_all([pipeline], "after"))
    outcome.stages = (*outcome.stages, *pipeline.stages[before:])
    if found:
        outcome.status = "assigned"
        rows = pipeline.left
        rows = rows[ranking(request, rows)]
        outcome.chosen, outcome.weights = rows, weighing_of(request).weights_of(rows)
        outcome.describe = partial(_candidates, request, rows)


def _candidates(request: BrokerageRequest, rows: Rows) -> list[Candidate]:
    columns, data, weighing = request.columns, local_data(request), weighing_of(request)
    events = atom_of(request).events
    scratch, run, waiting = scratch_for_jobs(request), counted_running(request), queued(request)
    return [
        Candidate(
            queue=columns.names[row],
            unit=columns.queues[row].unit,
            weight=weighing.weight_of(row),
            queued=int(waiting[row]),
            running=int(run[row]),
            maxwdir=float(scratch[row]) or None,
            max_walltime=job_seconds(request.task, events, columns.queues[row]),
            platform=platform_at(request, row),
            local_files=int(data.disk_files[row]),
            tape_files=int(data.tape_files[row]),
        )
        for row in rows.tolist()
    ]
