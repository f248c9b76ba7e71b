"""``queue --order`` and ``--start``: the order in which the next cycle offers the idle jobs, and when they start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairq.cli.figures import known, moment
from fairq.cli.invocation import Invocation
from fairq.cli.output import Column, Output, Table, View

if TYPE_CHECKING:
    from fairq.common.records import Ad, JobRange
    from fairq.steps.jobs.view import Queue
    from fairq.steps.simulate.forecast import Forecast

_FIELDS = ["Jobs", "Submitter", "PlaceInLine", "EarliestStart", "EstimatedStart", "LatestStart", "MachinesOff"]


def starts_view(invocation: Invocation, jobs: Queue, output: Output, limit: int | None, *, procs: bool) -> View:
    """Return the idle ones of *jobs* with their start times; with *procs*, one line per job."""
    from fairq.steps.simulate.starts import starts
    from fairq.steps.why.answer import jobs_for_machines_off

    forecast = starts(invocation.existing_state, invocation.settings, jobs.now)
    off = jobs_for_machines_off(invocation.existing_state, invocation.settings, jobs.now)
    each = procs or output.format != "table"
    records = list(islice(_records(jobs, forecast, off, each=each), limit))
    has_off = any("MachinesOff" in record for record in records)
    columns = [
        Column("ID", "Jobs"),
        Column("SUBMITTER", "Submitter"),
        *([Column("WAITS_FOR", "WaitsFor")] if any("WaitsFor" in record for record in records) else []),
        Column("PLACE", "PlaceInLine", level=1),
        Column("EARLIEST", "EarliestStart", moment, "right", level=4),
        Column("START" if each else "FROM", "EstimatedStart", moment, "right"),
        *([] if each else [Column("TO", "LastStart", moment, "right", level=2)]),
        Column("LATEST", "LatestStart", moment, "right", level=3),
        *([Column("OFF", "MachinesOff", level=1)] * has_off),
    ]
    if records:
        invocation.note(f"estimates, if {'; '.join(forecast.assumptions())}")
    if has_off:
        invocation.note("OFF: on so many machines that are off a job would start now; see 'fairq slots --wanted'")
    return View(tables=[Table(columns, records, constrained=True, empty="no jobs are idle")], fields=_FIELDS)


def _records(
    jobs: Queue, forecast: Forecast, off: Sequence[tuple[JobRange, int]], *, each: bool
) -> Iterator[dict[str, Any]]:
    by_cluster: dict[tuple[str, int], list[tuple[JobRange, int]]] = {}
    for job, machines in off:
        by_cluster.setdefault((job.schedd, job.cluster), []).append((job, machines))
    for job, ad in jobs.waiting():
        of_job = (
            {"MachinesOff": machines}
            for other, machines in by_cluster.get((job.schedd, job.cluster), ())
            if other.first_proc <= job.last_proc and job.first_proc <= other.last_proc
        )
        if_on = next(of_job, {})
        if not each:
            first, last = (_start(forecast, job, proc) for proc in (job.first_proc, job.last_proc))
            ends = {"LastStart": last.get("EstimatedStart"), "LatestStart": last.get("LatestStart")}
            yield {**ad, **first, **ends, **if_on}
            continue
        for proc in range(job.first_proc, job.last_proc + 1):
            ad_of_proc: Ad = replace(job, first_proc=proc, last_proc=proc).ad_of(jobs.shared[job.ad_id], proc)
            name = f"{job.cluster}.{proc}"
            yield {**ad_of_proc, "Submitter": job.submitter, "Jobs": name, **_start(forecast, job, proc), **if_on}


def _start(forecast: Forecast, job: JobRange, proc: int) -> dict[str, Any]:
    start = forecast.start_of(job.schedd, job.cluster, proc)
    if start is None:
        return {}
    attributes = {
        "PlaceInLine": start.place,
        "EstimatedStart": start.likely,
        "EarliestStart": start.earliest,
        "LatestStart": start.latest,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def order_view(invocation: Invocation, jobs: Queue, limit: int | None) -> View:
    """Return the idle ones of *jobs* in the order of offers, with the data that decides it."""
    from fairq.steps.cycle.order import offer_order

    selected: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for job in jobs.ranges:
        selected.setdefault((job.schedd, job.cluster), []).append((job.first_proc, job.last_proc))
    actor = invocation.actor(jobs.now)
    records = [
        record
        for job, record in offer_order(invocation.existing_state, invocation.settings, actor)
        if any(
            first <= job.last_proc and job.first_proc <= last
            for first, last in selected.get((job.schedd, job.cluster), ())
        )
    ]
    has_groups = any(record["group_turn"] is not None for record in records)
    columns = [
        Column("PLACE", "place"),
        Column("ID", "jobs"),
        Column("SUBMITTER", "submitter", narrow="cut"),
        *([Column("GROUP_TURN", "group_turn"), Column("GROUP_ORDER", "group_order", known, level=3)] * has_groups),
        Column("PRIORITY", "effective_priority", known),
        Column("JOB_PRIO", "priority", level=1),
        Column("SUBMITTED", "submit_time", moment, "right", level=2),
        Column("IDLE", "idle"),
        Column("MATCH", "matched"),
    ]
    fields = ("place", "jobs", "submitter", "group", "group_turn", "group_order", "effective_priority", "priority",
              "submit_time", "idle", "matched")  # fmt: skip
    return View(tables=[Table(columns, records[:limit], constrained=True, empty="no jobs are idle")], fields=fields)
