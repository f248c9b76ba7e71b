"""The analysis flow: queues with the input nearby, then without, and the ten best (docs/panda.md, Analysis)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

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
from fairq.engine.brokerage.checks.scratch import atom_of, scratch_for_jobs
from fairq.engine.brokerage.checks.software import AnalysisSoftware, platform_at
from fairq.engine.brokerage.flow.outcome import Candidate, Outcome
from fairq.engine.brokerage.flow.pending import retry_after
from fairq.engine.brokerage.flow.pipeline import UNDECIDED, Sieve, StageCount
from fairq.engine.brokerage.flow.plan import Plan
from fairq.engine.brokerage.flow.plugin import Filter, Rows, Weight
from fairq.engine.brokerage.flow.request import Question
from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.flow.weighing import weigh, weighing_of
from fairq.engine.brokerage.jobs.tasks import Chunk, Task
from fairq.engine.brokerage.jobs.walltime import job_seconds
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
"""Lines of the stage table that say which pass begins."""


def analysis_plan(filters: Iterable[Filter] = FILTERS, weights: Iterable[Weight] = WEIGHTS) -> Plan:
    """Return the analysis flow of *filters* and *weights*; those of production are left out."""
    return Plan.of(ANALYSIS, filters, weights, STOPS)


def broker_analysis(task: Task, chunk: Chunk, columns: Columns, plan: Plan, rules: Rules) -> Outcome:
    """Return where jobs of *task* for *chunk* may go, and why not to the other queues.

    What is said of a queue is what the last pass found. Datasets without files are no input.
    """
    question = Question(task, _with_files(chunk), columns, rules, ANALYSIS, local=True)
    select(question)
    sieve = Sieve(question, plan)
    outcome = Outcome(question, plan, "failed", sieve.decided, [])
    stop = stop_of(question)
    if stop is not None:
        outcome.stopped_by, outcome.status, outcome.stop_details = stop.tag, stop.status, stop.details
        sieve.decided[:] = plan.stop_number(stop.tag)
    else:
        passed = _pass(sieve, outcome)
        again = not passed or (rules.problems_open_second_pass and not len(sieve.left))
        if again and has_second_pass(question):
            sieve = Sieve(_second(question), plan)
            outcome.question, outcome.decided = sieve.question, sieve.decided
            _pass(sieve, outcome)
        if len(sieve.left):
            _choose(sieve, outcome)
        elif sieve.question.is_fatal:
            outcome.status = "fatal"
    if outcome.status != "assigned":
        outcome.retry_after = retry_after(task, ANALYSIS, rules)
    return outcome


def _with_files(chunk: Chunk) -> Chunk:
    if all(dataset.files for dataset in chunk.datasets):
        return chunk
    return replace(chunk, datasets=tuple(dataset for dataset in chunk.datasets if dataset.files))


def _second(first: Question) -> Question:
    question = first.second_pass()
    select(question)
    return question


def _pass(sieve: Sieve, outcome: Outcome) -> bool:
    """Return whether a queue passes the checks of persistent issues."""
    found = sieve.run(outcome.plan.before)
    if found and (sieve.temporary != UNDECIDED).any():
        sieve.settle_temporary()
    count = sieve.stages[0]
    name = FIRST_PASS if sieve.question.local else SECOND_PASS
    outcome.stages.append(StageCount(name, count.rows_before, count.rows_after, count.units_before, count.units_after))
    outcome.stages.extend(sieve.stages[1:])
    return found


def _choose(sieve: Sieve, outcome: Outcome) -> None:
    question, before = sieve.question, len(sieve.stages)
    question.weighing = weigh(question, outcome.plan, sieve.left)
    found = sieve.run(outcome.plan.after)
    outcome.stages.extend(sieve.stages[before:])
    if found:
        outcome.status = "assigned"
        outcome.candidates = _candidates(question, sieve.left)


def _candidates(question: Question, rows: Rows) -> list[Candidate]:
    columns, data, weight = question.columns, local_data(question), weighing_of(question).weight
    events = atom_of(question).events
    scratch, run, waiting = scratch_for_jobs(question), counted_running(question), queued(question)
    return [
        Candidate(
            queue=columns.names[row],
            unit=columns.queues[row].unit,
            weight=float(weight[row]),
            queued=int(waiting[row]),
            running=int(run[row]),
            maxwdir=float(scratch[row]) or None,
            max_walltime=job_seconds(question.task, events, columns.queues[row]),
            platform=platform_at(question, row),
            local_files=int(data.disk_files[row]),
            tape_files=int(data.tape_files[row]),
        )
        for row in rows[ranking(question, rows)].tolist()
    ]
