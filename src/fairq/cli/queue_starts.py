"""``queue --start``: the start times of idle jobs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairq.cli.figures import moment
from fairq.cli.invocation import Invocation
from fairq.cli.output import Column, Output, Table, View

if TYPE_CHECKING:
    from fairq.common.records import Ad, JobRange
    from fairq.steps.jobs.view import Queue
    from fairq.steps.simulate.forecast import Forecast

_FIELDS = ["Jobs", "Submitter", "PlaceInLine", "EarliestStart", "EstimatedStart", "LatestStart"]


def starts_view(invocation: Invocation, jobs: Queue, output: Output, limit: int | None, *, procs: bool) -> View:
    """Return the idle ones of *jobs* with their start times; with *procs*, one line per job."""
    from fairq.steps.simulate.starts import starts

    forecast = starts(invocation.existing_state, invocation.settings, jobs.now)
    each = procs or output.format != "table"
    records = list(islice(_records(jobs, forecast, each=each), limit))
    columns = [
        Column("ID", "Jobs"),
        Column("SUBMITTER", "Submitter"),
        *([Column("WAITS_FOR", "WaitsFor")] if any("WaitsFor" in record for record in records) else []),
        Column("PLACE", "PlaceInLine", level=1),
        Column("EARLIEST", "EarliestStart", moment, "right", level=4),
        Column("START" if each else "FROM", "EstimatedStart", moment, "right"),
        *([] if each else [Column("TO", "LastStart", moment, "right", level=2)]),
        Column("LATEST", "LatestStart", moment, "right", level=3),
    ]
    if records:
        invocation.note(f"estimates, if {'; '.join(forecast.assumptions())}")
    return View(tables=[Table(columns, records, constrained=True, empty="no jobs are idle")], fields=_FIELDS)


def _records(jobs: Queue, forecast: Forecast, *, each: bool) -> Iterator[dict[str, Any]]:
    for job, ad in jobs.waiting():
        if not each:
            first, last = (_start(forecast, job, proc) for proc in (job.first_proc, job.last_proc))
            yield {**ad, **first, "LastStart": last.get("EstimatedStart"), "LatestStart": last.get("LatestStart")}
            continue
        for proc in range(job.first_proc, job.last_proc + 1):
            ad_of_proc: Ad = replace(job, first_proc=proc, last_proc=proc).ad_of(jobs.shared[job.ad_id], proc)
            name = f"{job.cluster}.{proc}"
            yield {**ad_of_proc, "Submitter": job.submitter, "Jobs": name, **_start(forecast, job, proc)}


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
