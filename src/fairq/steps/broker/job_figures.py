"""The numbers of jobs that follow from the imported jobs, beside those of the imported statistics."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairq.columns.broker.counts import STATISTICS
from fairq.columns.broker.work import JOBS
from fairq.engine.brokerage.pool.supply import SUMMED
from fairq.state import broker_data
from fairq.state.connection import State

Numbers = dict[str, dict[str, dict[str, int]]]
"""By queue, share and state; the states that the brokerage reads."""


class Disagreement(NamedTuple):
    """Queues whose statistics are not those of their imported jobs, and the first difference."""

    queues: int
    queue: str
    share: str
    state: str
    told: int
    counted: int


def jobs_of_queues(state: State) -> Numbers:
    """Return the numbers of the imported jobs."""
    found: Numbers = {}
    for queue, share, job_state, number in broker_data.counts(state, JOBS, ["computingSite", "gshare", "jobStatus"]):
        if queue and job_state in SUMMED:
            found.setdefault(queue, {}).setdefault(share, {})[job_state] = number
    return found


def disagreement(state: State) -> Disagreement | None:
    """Return where statistics and imported jobs of the same queues disagree; None if they agree."""
    counted = jobs_of_queues(state)
    if not counted:
        return None
    told: Numbers = {}
    for queue, share, _, job_state, number in broker_data.each(state, STATISTICS):
        if queue in counted and job_state in SUMMED:
            states = told.setdefault(queue, {}).setdefault(share, {})
            states[job_state] = states.get(job_state, 0) + number
    found: dict[str, Disagreement] = {}
    for queue in sorted(told):
        for share in sorted({*told[queue], *counted[queue]}):
            of_share = told[queue].get(share, {}), counted[queue].get(share, {})
            for job_state in SUMMED:
                numbers: tuple[Any, Any] = of_share[0].get(job_state, 0), of_share[1].get(job_state, 0)
                if numbers[0] != numbers[1]:
                    found.setdefault(queue, Disagreement(0, queue, share, job_state, *numbers))
    return next(iter(found.values()))._replace(queues=len(found)) if found else None
