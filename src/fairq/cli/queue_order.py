"""``queue --order``: the order in which the next cycle offers the idle jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairq.cli.figures import known, moment
from fairq.cli.invocation import Invocation
from fairq.cli.output import Column, Table, View

if TYPE_CHECKING:
    from fairq.steps.jobs.view import Queue


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
