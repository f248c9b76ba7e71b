"""The machines promised to large jobs: each cycle ends old promises and makes new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairq.common.quantities import shown_time
from fairq.common.records import Actor, Change
from fairq.common.reservation import JOB_ATTRIBUTE
from fairq.engine.negotiation.decision import CycleDecision
from fairq.state import history, job_changes, jobs, reservations
from fairq.state.connection import State

if TYPE_CHECKING:
    from fairq.engine.simulation.promises import Promise
    from fairq.settings import Settings


def renew_promises(state: State, settings: Settings, decision: CycleDecision, actor: Actor) -> list[str]:
    """End the promises to jobs that no longer wait, and make new ones; return sentences about the new ones.

    Ends of running jobs are estimated as in forecasts.
    """
    patience = settings["negotiator.large_job_patience"]
    stored = reservations.stored(state)
    former = {reservation.number: reservation for reservation in stored if reservation.job is not None}
    promises: list[Promise] = []
    if patience is not None and (former or jobs.has_idle_since(state, actor.time - patience)):
        from fairq.engine.simulation.promises import limited_submitters  # most pools do without
        from fairq.steps.simulate.forecast import LIKELY, Forecaster

        simulation = Forecaster.of_state(state, settings, actor.time).simulation(LIKELY)
        simulation.limited = limited_submitters(decision)
        simulation.renew_promises(actor.time)
        promises = simulation.pool.promises
    new = []
    for promise in promises:
        if promise.reservation.number not in former:
            number = reservations.next_number(state)
            new.append(replace(promise.reservation, number=number, by=actor.user, time=actor.time))
            _mark_job(state, promise, number)
    kept = {promise.reservation.number for promise in promises}
    ended = [reservation for number, reservation in former.items() if number not in kept]
    if new or ended:
        reservations.store(state, [*(reservation for reservation in stored if reservation not in ended), *new])
        changes = [
            Change(f"reservation {reservation.number}", _shown(reservation.slots, reservation.job), None)
            for reservation in ended
        ]
        changes += [
            Change(f"reservation {reservation.number}", None, _shown(reservation.slots, reservation.job))
            for reservation in new
        ]
        history.record(state, actor, changes)
    return [
        f"{made.slots[0]} is promised to job {made.job}; it may be free at {shown_time(made.begin)}" for made in new
    ]


def _mark_job(state: State, promise: Promise, number: int) -> None:
    job = jobs.find(state, *promise.job)
    assert job is not None
    own = {**(job.own or {}), JOB_ATTRIBUTE: number}
    job_changes.change(state, job.schedd, job.cluster, job.first_proc, job.last_proc, own=own)


def _shown(slots: list[str], job: str | None) -> dict[str, object]:
    return {"Slots": slots, "Job": job}
