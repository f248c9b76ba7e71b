"""The end of runs: slots become free, usage is charged, and the runs are recorded.

A run is charged up to its end; under the current negotiator's rules (``RemoveMatch``), up to the last update if that is
later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from fairq.common.records import Claim, JobRange, JobStatus, Run
from fairq.engine.accounting.identity import group_and_ancestors
from fairq.state import claims, dynamic_slots, jobs, pilot_slots, runs, slots, submitters
from fairq.state.connection import State
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.accounts import load_accountant, settle, store_times
from fairq.steps.pool.imported_parts import adopt_ended

if TYPE_CHECKING:
    from fairq.settings import Settings


def end_runs(
    state: State,
    settings: Settings,
    ended: Sequence[Claim],
    end: int,
    how: str,
    exit_codes: Mapping[tuple[int, int], int] | None = None,
    moved: Mapping[int, int] = MappingProxyType({}),
    ends: Mapping[int, tuple[int, str]] = MappingProxyType({}),
) -> list[Run]:
    """End the runs of the claims *ended* at *end* (seconds since 1970); return the runs.

    *exit_codes* are keyed by cluster and proc. *moved* is keyed by the number of a slot that a job has left for another
    one. Its value is the time of the move: usage of the old slot ends then. A stay of zero length is not recorded as a
    run. *ends* is keyed by slot number and overrides when and how a run ended. The resources of dynamic slots return to
    their parents, and slots of pilots are removed. The jobs stay unchanged in the queue. A claim of a job that is not
    in fairq's queue is charged, but is not recorded as a run.
    """
    if not ended:
        return []
    settle(state, settings)
    names = slots.names(state)
    accountant = load_accountant(state, accounting_policy(settings))
    changed: set[str] = set()
    former_update = accountant.last_update
    end_of_slot = {claim.slot_id: ends.get(claim.slot_id, (moved.get(claim.slot_id, end), how)) for claim in ended}
    for claim in sorted(ended, key=lambda ended_claim: end_of_slot[ended_claim.slot_id][0]):
        accountant.remove_match(claim.slot_id, end_of_slot[claim.slot_id][0])
        changed.update((claim.submitter, *group_and_ancestors(accountant.group_of(claim.submitter))))
    if accountant.last_update != former_update:
        store_times(state, accountant)
        changed.update(accountant.records)
    submitters.store(state, [accountant.record(name) for name in sorted(changed)], accountant.booked)
    claims.release(state, [claim.slot_id for claim in ended])
    adopt_ended(state, [claim.slot_id for claim in ended])
    dynamic_slots.dissolve(state, [claim.slot_id for claim in ended])
    pilot_slots.dissolve(state, [claim.slot_id for claim in ended])
    finished = [
        Run(
            cluster=claim.cluster,
            proc=claim.proc,
            submitter=claim.submitter,
            slot=names[claim.slot_id],
            slot_weight=claim.slot_weight,
            start_time=claim.start_time,
            end_time=end_of_slot[claim.slot_id][0],
            how=end_of_slot[claim.slot_id][1],
            exit_code=(exit_codes or {}).get((claim.cluster, claim.proc)),
            schedd=claim.schedd or "",
        )
        for claim in ended
        if claim.cluster is not None and claim.proc is not None
        if moved.get(claim.slot_id) != claim.start_time
    ]
    runs.add(state, finished)
    return finished


def end_running(state: State, settings: Settings, ranges: Iterable[JobRange], now: int, how: str) -> None:
    """End the runs of those jobs that have a slot at *now*."""
    end_runs(state, settings, claims.of_procs(state, (job.procs for job in ranges)), now, how)


def requeue(state: State, settings: Settings, ended: Sequence[Claim], now: int, how: str) -> None:
    """End the runs of the claims *ended* at *now*, and make their jobs idle."""
    end_runs(state, settings, ended, now, how)
    procs = [claim.procs for claim in ended if claim.cluster is not None]
    jobs.set_status(state, procs, JobStatus.IDLE, now)
