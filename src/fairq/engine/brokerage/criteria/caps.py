"""Caps on the jobs that wait at a queue (docs/panda.md, Production weight and Analysis)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairq.engine.brokerage.criteria.input_data import InputAt, input_at
from fairq.engine.brokerage.criteria.jobs import (
    Counting,
    Types,
    counted_running,
    counting_of,
    jobs_in,
    type_numbers,
    types_of,
)
from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plan import FINAL_STAGE
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.pool.columns import Booleans, Floats, Pool
from fairq.engine.brokerage.pool.flags import other_than_jumbo

RUNNING_FACTOR = 2
"""Queued jobs that a queue may have per running job."""

CAP, TYPE_CAP = Reason("cap"), Reason("cap_rt")


def queued_jobs(pool: Pool, share: str, local: Any) -> Floats:
    """Return the jobs queued at each row (nQ): activated, starting, and assigned where input is not all *local*.

    Under the rules documented, defined jobs are queued as well.
    """
    other_states = ("defined",) if pool.rules.queue_caps == "running" else ()
    return jobs_in(pool, share, "activated", "starting", *other_states) + np.where(
        local, 0, pool.job_counts(share, "assigned")
    )


def cap_of(pool: Pool, share: str, running: Floats) -> Floats:
    """Return the maximum of queued jobs of rows with *running* jobs.

    Under the rules panda, ``NQUEUELIMITSITE`` of the share may always wait.
    """
    minimum = 0.0
    if pool.rules.queue_caps != "running":
        minimum = pool.config.amount("jobbroker.NQUEUELIMITSITE", share or None)
    return np.maximum(minimum, RUNNING_FACTOR * running)


def _reads_cap(ask: Ask) -> Values | None:
    if ask.is_express and ask.rules.queue_caps != "running":
        return None
    return input_at(ask), counting_of(ask), ask.takes_jumbo_jobs


@refuses("cap", FINAL_STAGE, CAP, reads=_reads_cap, phase="after")
def queued_cap(pool: Pool, inputs: InputAt, counting: Counting, jumbo: bool) -> Refusals:
    """Refuse queues where more than twice as many jobs of the share wait as run.

    Under the rules panda, up to a configured number of jobs may always wait, express tasks are exempt, and unified
    queues have caps by resource type.
    """
    share, running = counting.share or "", counted_running(pool, counting)

    def over(local: bool) -> Booleans:
        # Activated and starting jobs are queued jobs, so the page's second condition includes the first.
        over_cap: Booleans = queued_jobs(pool, share, local) > cap_of(pool, share, running)
        if pool.rules.queue_caps != "running":
            over_cap &= ~pool.flags("ucore", lambda queue: queue.capability == "ucore")
        return over_cap

    def figures(row: int) -> Details:
        local = inputs.is_local
        return {
            "nQueued": int(queued_jobs(pool, share, local)[row]),
            "cap": float(cap_of(pool, share, running)[row]),
            "nRun": int(running[row]),
            "assigned_ignored": bool(local[row]),
        }

    # Tasks of the same share differ only by where their input is.
    far, near = pool.under(("over cap", counting), lambda: (over(False), over(True)))
    yield Refusal(CAP, other_than_jumbo(pool, np.where(inputs.is_local, near, far), jumbo), figures)


def _reads_type_cap(ask: Ask) -> Values | None:
    if not ask.rules.type_cap or ask.is_express:
        return None
    return input_at(ask), counting_of(ask), types_of(ask), ask.takes_jumbo_jobs


@refuses("cap_rt", FINAL_STAGE, TYPE_CAP, reads=_reads_type_cap, phase="after")
def type_cap(pool: Pool, inputs: InputAt, counting: Counting, types: Types, jumbo: bool) -> Refusals:
    """Refuse queues where too many jobs of the share and the task's resource types wait; express tasks are exempt."""

    def over(local: bool) -> Booleans:
        is_known, running, waiting = type_numbers(pool, counting, types, local)
        over_cap: Booleans = is_known & (waiting > cap_of(pool, types.share, running))
        return over_cap

    def make() -> tuple[Booleans, Booleans]:
        return over(False), over(True)

    def figures(row: int) -> Details:
        _, running, waiting = type_numbers(pool, counting, types, inputs.is_local)
        cap = float(cap_of(pool, types.share, running)[row])
        return {"nQueued_rt": int(waiting[row]), "cap_rt": cap, "nRun_rt": int(running[row])}

    far, near = make() if types.own_types else pool.under(("over type cap", counting, types), make)
    yield Refusal(TYPE_CAP, other_than_jumbo(pool, np.where(inputs.is_local, near, far), jumbo), figures)


@refuses(
    "analysis cap_rt",
    "cap with gshare+resource_type check",
    reads=lambda ask: () if ask.preassigned != "single" and not ask.rules.analysis_queue_ratio else None,
)
def analysis_type_cap(pool: Pool) -> Refusals:
    """Refuse no queue: PanDA's code only shows this check in the stage table."""
    return []
