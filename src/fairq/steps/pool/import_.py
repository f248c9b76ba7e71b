"""Import a pool: HTCondor's dumps of slots, jobs and accounting, or a whole state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from fairq.columns.slots import SlotTable
from fairq.common.past import EndedJob
from fairq.common.records import SLOT_ELSEWHERE, Actor, Ad, Change, JobStatus, Run
from fairq.common.versions import words
from fairq.formats.accounting import AccountingDump, read_accounting
from fairq.formats.jobs import JobDump, read_jobs
from fairq.formats.kinds import read_schedds
from fairq.formats.slots import SlotDump, read_slots
from fairq.formats.source import Advance, Held, opened
from fairq.state import (
    claims,
    dynamic_slots,
    ended_jobs,
    history,
    job_ads,
    jobs,
    meta,
    pilot_slots,
    runs,
    slots,
    undo,
)
from fairq.state.connection import State, opened_for, reading
from fairq.steps.cycle.accounting_policy import accounting_policy, submitters_domain
from fairq.steps.cycle.accounts import CONDOR_VERSION
from fairq.steps.jobs.end import end_runs
from fairq.steps.pool.assumptions import assumptions, note_accounting
from fairq.steps.pool.import_accounting import charge_imported
from fairq.steps.pool.import_claims import ClaimPlan, plan_claims, running_elsewhere

if TYPE_CHECKING:
    from fairq.settings import Settings


class Dumps(Struct, frozen=True):
    """The dumps to import: paths, ``-`` for standard input, or data in memory; None for data that stays unchanged.

    *ended* are jobs of the past with their ads; those that are known already stay as they are.
    """

    slots: str | Held | None = None
    jobs: str | Held | None = None
    accounting: str | Held | None = None
    schedds: str | Held | None = None
    ended: Sequence[tuple[EndedJob, Ad]] = ()


class Imported(Struct):
    """Numbers of imported records; None for a dump that was not given.

    Args:
        clusters: number of clusters of the *jobs*.
        claims: slots found in use by a running job of the queue.
        lost_claims: claims that ended because their slot or job is gone.
        ended: jobs of the past that were unknown.
        left_out: number of ads left out, by reason.
        notes: assumptions made.
    """

    slots: int | None = None
    jobs: int | None = None
    clusters: int | None = None
    accounting: int | None = None
    claims: int = 0
    lost_claims: int = 0
    ended: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


class _Pool(Struct, frozen=True):
    slots: SlotDump | None
    jobs: JobDump | None
    accounting: AccountingDump | None
    schedds: dict[str, int]


def import_dumps(
    path: Path,
    dumps: Dumps,
    settings: Settings,
    actor: Actor,
    *,
    host: str,
    dry_run: bool = False,
    advance: Advance | None = None,
) -> Imported:
    """Import *dumps* into the state at *path*, in one transaction; with any error, nothing is changed.

    The slots replace the pool, the jobs the queue, the accounting ads the records that they name. Submitters are of the
    configured domain, else of that in a job's ``User``, else of *host*. A claim continues if its slot and its running
    job still exist. A slot whose ad names a running job of the queue is claimed for it. With *dry_run*, everything is
    read and checked, and nothing is stored. *advance* gets the number of further bytes read.

    Raises UnreadableDumpError, InvalidDumpError, InvalidAdError, DuplicateAdError, EmptyInputError for an empty dump
    that would delete slots or jobs, or the state's errors.
    """
    with reading(path) as state:
        # What a command that failed leaves is no order to delete them.
        has_slots, has_jobs = slots.count(state) > 0, bool(jobs.counts(state))
    submitter_of = _submitter_of(settings, host)
    pool = _read(dumps, submitter_of, actor.time, advance, has_slots=has_slots, has_jobs=has_jobs)
    with opened_for(path, dry_run=dry_run) as state:
        plan = plan_claims(
            state,
            None if pool.slots is None else pool.slots.slots,
            None if pool.jobs is None else pool.jobs.ranges,
            actor.time,
            () if pool.jobs is None else pool.jobs.ads,
        )
        notes = assumptions(state, settings, pool.slots, pool.accounting)
        known = set(ended_jobs.procs_after(state, "", -1)) if dumps.ended else set()
        new = [pair for pair in dumps.ended if (pair[0].cluster, pair[0].first_proc, pair[0].last_proc) not in known]
        if not dry_run:
            note_accounting(state, pool.accounting)
            _weigh(plan, settings)
            _store(state, pool, plan, settings, actor)
            _keep_past(state, new)
        if pool.schedds:
            many = ", ".join(f"{name} {most}" for name, most in sorted(pool.schedds.items())[:5])
            notes = [*notes, f"schedds run at most so many jobs (MaxJobsRunning): {many}"]
        result = Imported(claims=len(plan.linked), lost_claims=len(plan.ended), ended=len(new), notes=notes)
    if pool.slots is not None:
        result.slots = len(pool.slots.slots)
        result.left_out += pool.slots.left_out
    if pool.jobs is not None:
        result.jobs, result.clusters = pool.jobs.count, pool.jobs.clusters
        result.left_out += pool.jobs.left_out
    if pool.accounting is not None:
        result.accounting = len(pool.accounting.records)
        result.left_out += pool.accounting.left_out
    return result


def _read(
    dumps: Dumps,
    submitter_of: Callable[[Ad], str],
    now: int,
    advance: Advance | None,
    *,
    has_slots: bool,
    has_jobs: bool,
) -> _Pool:
    """Read the dumps; those of a pool that has slots, or jobs, may not be empty."""
    slot_dump = job_dump = accounting_dump = None
    if dumps.slots is not None:
        with opened(dumps.slots, advance, must_hold=has_slots) as source:
            slot_dump = read_slots(source)
    if dumps.jobs is not None:
        with opened(dumps.jobs, advance, must_hold=has_jobs) as source:
            job_dump = read_jobs(source, submitter_of, now)
    if dumps.accounting is not None:
        with opened(dumps.accounting, advance) as source:
            accounting_dump = read_accounting(source)
    maxima = {} if slot_dump is None else slot_dump.schedds
    if dumps.schedds is not None:
        with opened(dumps.schedds, advance) as source:
            maxima = maxima | read_schedds(source)
    return _Pool(slot_dump, job_dump, accounting_dump, maxima)


def _maxima(pool: _Pool) -> dict[str, int]:
    """Return the most running jobs of schedds by the names that their jobs have in the queue: one alone has none."""
    names = [""] if pool.jobs is None else pool.jobs.schedds
    alone = pool.schedds.get(names[0]) if len(names) == 1 else None
    if alone is None and list(names) == [""] and len(pool.schedds) == 1:
        (alone,) = pool.schedds.values()
    return pool.schedds if alone is None else {**pool.schedds, "": alone}


def _submitter_of(settings: Settings, host: str) -> Callable[[Ad], str]:
    from fairq.engine.accounting.identity import submitter_name

    domain = submitters_domain(settings, host)
    return lambda ad: submitter_name(ad, domain)


def _weigh(plan: ClaimPlan, settings: Settings) -> None:
    if not plan.linked or plan.pool is None:
        return
    import numpy as np

    from fairq.engine.classad import AdColumns
    from fairq.engine.negotiation.pool import slot_weights
    from fairq.steps.cycle.negotiation_policy import negotiation_policy
    from fairq.steps.evaluation.budget import evaluation_budget

    if isinstance(plan.pool, SlotTable):
        ads: Sequence[Ad] = plan.pool.all_ads()
        rows = [claim.slot_id - 1 for claim in plan.linked]
    else:
        ads = [slot.ad for slot in plan.pool]
        places = {slot.id: place for place, slot in enumerate(plan.pool)}
        rows = [places[claim.slot_id] for claim in plan.linked]
    columns = AdColumns(ads, budget=evaluation_budget(settings))
    weights = slot_weights(columns, negotiation_policy(settings), np.array(rows)).tolist()
    for claim, weight in zip(plan.linked, weights, strict=True):
        claim.slot_weight = weight


def _store(state: State, pool: _Pool, plan: ClaimPlan, settings: Settings, actor: Actor) -> None:
    changes: list[Change] = []
    if pool.schedds:
        meta.store(state, meta.MAX_JOBS_RUNNING, _maxima(pool))
    gone = [*plan.ended, *(claim for claim, _ in plan.moved)]
    end_runs(state, settings, gone, actor.time, "lost", moved={claim.slot_id: time for claim, time in plan.moved})
    if pool.slots is not None:
        changes.append(Change("slots", slots.count(state), len(pool.slots.slots)))
        pool_now = SlotTable.of(plan.pool or [])
        slots.replace_all(state, pool_now)
        meta.set(state, CONDOR_VERSION, "" if pool.slots.version is None else words(pool.slots.version))
        dynamic_slots.add(state, plan.dynamic)
        pilot_slots.add(state, plan.pilots)
    elif plan.pool is not None:
        # A claim that just ended may have been on a dynamic slot, which is merged back into another one.
        ids = set(plan.freed).intersection(slots.load_ids(state))
        slots.add(state, (slot for slot in plan.pool if slot.id in ids))
    slots.gather(state)
    claims.delete_all(state)
    if pool.jobs is not None:
        changes.append(Change("jobs", _queue_length(state), pool.jobs.count))
        jobs.replace_all(state, pool.jobs.ranges, pool.jobs.ads)
    else:
        procs = [claim.procs for claim in plan.ended if claim.cluster is not None]
        jobs.set_status(state, procs, JobStatus.IDLE, actor.time)
        jobs.change_many(state, plan.found, reason=None)
    claims.store(state, [*plan.kept, *plan.linked])
    if pool.jobs is not None:
        jobs.change_many(state, running_elsewhere(state), reason=SLOT_ELSEWHERE)
    changes += charge_imported(state, pool.accounting, plan, accounting_policy(settings), actor.time)
    entries = history.record(state, actor, changes)
    undo.record_final(state, actor, entries, "what an import replaces is not kept", settings["pool.undo_kept"])


def _keep_past(state: State, ended: Sequence[tuple[EndedJob, Ad]]) -> None:
    """Store jobs of the past, which ran once, with their ads and runs."""
    numbers = job_ads.ad_ids(state, [ad for _, ad in ended]) if ended else []
    ended_jobs.add(state, (replace(job, ad_id=number) for (job, _), number in zip(ended, numbers, strict=True)))
    runs.add(state, (_run_of(job) for job, _ in ended))


def _run_of(job: EndedJob) -> Run:
    weight = job.slot_seconds / job.wall_seconds if job.wall_seconds else 1.0
    how = "finished" if job.status == JobStatus.COMPLETED else "removed"
    start = job.end_time if job.start_time is None else job.start_time
    return Run(
        job.cluster, job.first_proc, job.submitter, job.slot or "", weight, start, job.end_time, how, job.exit_code
    )  # fmt: skip


def _queue_length(state: State) -> int:
    return sum(map(sum, jobs.counts_by_submitter(state).values()))
