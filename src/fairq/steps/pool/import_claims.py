"""The effect of an import on claims: claims that continue, claims that end, and new claims in the slots' ads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from fairq.columns.slots import SlotTable
from fairq.common.records import SLOT_ELSEWHERE, Ad, Claim, DynamicSlot, JobRange, JobStatus, PilotSlot, SlotRecord
from fairq.formats.slots import IN_USE, Use, use_of
from fairq.state import claims, dynamic_slots, job_ads, jobs, pilot_slots, slots
from fairq.state.connection import State
from fairq.steps.jobs.overlay import start_date
from fairq.steps.pool.claimed_ads import CLAIM_STATE, claim_state_of, without_claim

Job = tuple[str, int, int]
"""A job's schedd, cluster and proc."""


class ClaimPlan(Struct):
    """The claims after an import.

    Args:
        kept: former claims that continue, with the slots' new ids.
        ended: former claims whose slot or running job is gone, with the slots' former ids.
        moved: former claims, with the slots' former ids, whose job now runs on another slot, each with the
            time of the move; the new claims are among *linked*.
        linked: new claims, of slots whose ads name a running job of the queue; weights unset.
        found: the jobs of *linked* that ran on slots unknown to this state.
        freed: the slots, by number, whose ads lose the claim of such a job.
        pool: the slots after the import, linked slots without their claim; None if no slot changes.
        dynamic: the slots of *pool* that fairq carved out of others, if the pool is replaced.
        pilots: the slots of *pool* that belong to pilots, if the pool is replaced.
    """

    kept: list[Claim] = field(default_factory=list)
    ended: list[Claim] = field(default_factory=list)
    moved: list[tuple[Claim, int]] = field(default_factory=list)
    linked: list[Claim] = field(default_factory=list)
    found: list[jobs.Procs] = field(default_factory=list)
    freed: Collection[int] = ()
    pool: Sequence[SlotRecord] | None = None
    dynamic: list[DynamicSlot] = field(default_factory=list)
    pilots: list[PilotSlot] = field(default_factory=list)


def plan_claims(
    state: State,
    new_slots: Sequence[SlotRecord] | None,
    new_jobs: list[JobRange] | None,
    now: int,
    new_ads: Sequence[Ad] = (),
) -> ClaimPlan:
    """Plan the claims of *state* for an import at *now* that replaces its slots and jobs (None: unchanged).

    *new_ads* are those of the new jobs, by their ``ad_id``.
    """

    def started(job: JobRange) -> int:
        shared = job_ads.ads(state, {job.ad_id}) if new_jobs is None else new_ads
        return min(now, start_date({**shared[job.ad_id], **(job.own or {})}) or job.status_date)

    plan = ClaimPlan(pool=new_slots)
    former = claims.load_all(state)
    running = _Running(jobs.select(state, statuses=[JobStatus.RUNNING]) if new_jobs is None else new_jobs)
    former_slots = slots.load_all(state) if former or (new_slots is None and running) else []
    places = {slot.id: (slot.name, slot.address) for slot in former_slots}
    pool: Sequence[SlotRecord] = former_slots
    going_on = [claim for claim in former if claim.cluster is None or running.has(claim)]
    if new_slots is not None:
        going_on = _staying(going_on, places, _advertised_jobs(new_slots, running) if going_on else {})
        of_jobs = [claim for claim in going_on if claim.cluster is not None]
        pool, plan.dynamic = carried_over(state, former_slots, new_slots, of_jobs)
        pool, plan.pilots = pilots_carried_over(state, former_slots, pool, of_jobs)
        plan.pool = pool
    numbers = {(slot.name, slot.address): slot.id for slot in _brief(pool)} if former else {}
    kept = {claim.slot_id for claim in going_on if places[claim.slot_id] in numbers}
    for claim in former:
        if claim.slot_id in kept:
            told = claim.advertised if new_slots is None else None
            plan.kept.append(replace(claim, slot_id=numbers[places[claim.slot_id]], advertised=told))
        else:
            plan.ended.append(claim)
    if running:
        _link(plan, pool, running, started)
        _follow(plan, running, now)
    return plan


def _advertised_jobs(pool: Sequence[SlotRecord], running: _Running) -> dict[Job, set[SlotIdentity]]:
    """The running jobs of the queue that slots' ads name, with these slots."""
    slots_of: dict[Job, set[SlotIdentity]] = {}
    if not running:
        return slots_of
    for slot in _brief(pool):
        use = use_of(slot.ad)
        if use is not None:
            job = (running.schedd_of(use), use.cluster, use.proc)
            slots_of.setdefault(job, set()).add((slot.name, slot.address))
    return slots_of


def _staying(
    claims: Iterable[Claim], places: Mapping[int, SlotIdentity], runs_at: Mapping[Job, Collection[SlotIdentity]]
) -> list[Claim]:
    """Return *claims* without moved jobs, i.e. jobs that only other slots name, one of which can take the job."""
    staying: list[Claim] = []
    moving: list[Claim] = []
    for claim in claims:
        known_slots = runs_at.get(claim.key)
        (staying if known_slots is None or places[claim.slot_id] in known_slots else moving).append(claim)
    taken = {places[claim.slot_id] for claim in staying if claim.cluster is not None} if moving else set()
    # A claim that cannot move may block the move of another claim.
    while stuck := [claim for claim in moving if taken.issuperset(runs_at[claim.key])]:
        staying += stuck
        taken.update(places[claim.slot_id] for claim in stuck)
        moving = [claim for claim in moving if claim not in stuck]
    return staying


def _link(plan: ClaimPlan, pool: Sequence[SlotRecord], running: _Running, started: Callable[[JobRange], int]) -> None:
    """Claim the slots whose ads name a running job; *started* tells when it did, where the ad of the slot does not."""
    own = {claim.slot_id: claim for claim in plan.kept if claim.cluster is not None}
    taken = own.keys()
    busy = {claim.key for claim in plan.kept}
    freed: dict[int, int] = {}
    for slot in _brief(pool):
        use = use_of(slot.ad)
        if use is None:
            continue
        schedd = running.schedd_of(use)
        job = (schedd, use.cluster, use.proc)
        queued = running.job(*job)
        if queued is None:
            continue
        if job in busy:
            if slot.id in taken:
                freed[slot.id] = use.start_time
            if slot.id in own and job == own[slot.id].key:
                own[slot.id].advertised = claim_state_of(slot.ad, replace(own[slot.id], advertised=None))
            continue
        if slot.id in taken:
            continue
        busy.add(job)
        start = use.start_time or started(queued)
        freed[slot.id] = start
        claim = Claim(
            slot_id=slot.id,
            submitter=queued.submitter,
            start_time=start,
            slot_weight=1.0,
            schedd=schedd,
            cluster=use.cluster,
            proc=use.proc,
            current_rank=use.current_rank,
            concurrency_limits=use.concurrency_limits,
            negotiating_group=use.negotiating_group,
            autoregroup=use.autoregroup,
        )
        claim.advertised = claim_state_of(slot.ad, claim)
        plan.linked.append(claim)
        if queued.reason == SLOT_ELSEWHERE:
            plan.found.append(jobs.Procs(schedd, use.cluster, use.proc, use.proc))
    linked = {claim.slot_id for claim in plan.linked}
    plan.kept = [claim for claim in plan.kept if claim.slot_id not in linked]
    if freed:
        plan.pool, plan.freed = _freed(pool, freed), freed


_READ = frozenset({*IN_USE, *CLAIM_STATE})


def _brief(pool: Sequence[SlotRecord]) -> Iterable[SlotRecord]:
    """Return the slots with what is read of their ads here, and maybe more."""
    return pool.brief(_READ) if isinstance(pool, SlotTable) else pool


def _freed(pool: Sequence[SlotRecord], ends: Mapping[int, int]) -> Sequence[SlotRecord]:
    """Return the slots without the claims of those numbered in *ends*, which end at these times."""
    slots_now = (replace(slot, ad=without_claim(slot.ad, ends[slot.id])) if slot.id in ends else slot for slot in pool)
    return SlotTable.of(slots_now) if isinstance(pool, SlotTable) else list(slots_now)


def _follow(plan: ClaimPlan, running: _Running, now: int) -> None:
    """Separate jobs that now run on another slot from lost ones; moved jobs run without a break."""
    linked = {claim.key: claim for claim in plan.linked}
    lost = []
    for former in plan.ended:
        claim = linked.get(former.key)
        if former.cluster is None or claim is None or not running.has(former):
            lost.append(former)
            continue
        # The ad of a renamed slot may contain the job's start: use the later start of the two claims.
        claim.start_time = max(claim.start_time, former.start_time)
        plan.moved.append((former, min(now, claim.start_time)))
    plan.ended = lost


def running_elsewhere(state: State) -> list[jobs.Procs]:
    """The running jobs whose slot is not in the pool, e.g. if only a part of a pool was imported."""
    held = {claim.key for claim in claims.load_all(state)}
    return [
        jobs.Procs(job.schedd, job.cluster, proc, proc)
        for job in jobs.select(state, statuses=[JobStatus.RUNNING])
        for proc in job.numbers
        if (job.schedd, job.cluster, proc) not in held
    ]


class _Running:
    """The running jobs of a queue."""

    def __init__(self, ranges: Iterable[JobRange]) -> None:
        self._ranges: dict[tuple[str, int], list[JobRange]] = {}
        self._one_schedd = True
        for job in ranges:
            self._one_schedd = self._one_schedd and not job.schedd
            if job.status == JobStatus.RUNNING:
                self._ranges.setdefault((job.schedd, job.cluster), []).append(job)
        for of_job in self._ranges.values():
            of_job.sort(key=lambda job: job.first_proc)

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def has(self, claim: Claim) -> bool:
        """Return whether the job of *claim* runs, for the same submitter."""
        job = self.job(*claim.key)
        return job is not None and job.submitter == claim.submitter

    def schedd_of(self, use: Use) -> str:
        """Return the queue's name for the schedd of *use*; empty if the queue has only one schedd."""
        return "" if self._one_schedd else use.schedd

    def job(self, schedd: str, cluster: int, proc: int) -> JobRange | None:
        """Return the range that this job is in if it is running, else None."""
        ranges = self._ranges.get((schedd, cluster), [])
        at = bisect_right(ranges, proc, key=lambda job: job.first_proc) - 1
        return ranges[at] if at >= 0 and proc <= ranges[at].last_proc else None


SlotIdentity = tuple[str, str]
"""A slot's name and address."""


def carried_over(
    state: State,
    former: Collection[SlotRecord],
    new: Sequence[SlotRecord],
    claims: Collection[Claim],
) -> tuple[Sequence[SlotRecord], list[DynamicSlot]]:
    """Return the pool *new* plus the dynamic slots of *former* that stay, with the next ids, and their carvings.

    A dynamic slot stays if its parent still exists and is partitionable and if its claim is among *claims*, whose jobs
    continue there. It does not stay if a slot of the new pool has its name: that is the same slot in its machine's ads.
    """
    carved = dynamic_slots.load_all(state)
    if not carved:
        return new, []
    slots = {slot.id: slot for slot in former}
    held = {claim.slot_id for claim in claims}
    places: dict[SlotIdentity, SlotRecord] = {(slot.name, slot.address): slot for slot in new}
    pool, dynamic = list(new), []
    for child in carved:
        if child.slot_id not in held:
            continue
        slot, parent = slots[child.slot_id], slots[child.parent_id]
        new_parent = places.get((parent.name, parent.address))
        if new_parent is None or not _is_partitionable(new_parent) or (slot.name, slot.address) in places:
            continue
        pool.append(SlotRecord(len(pool) + 1, slot.name, slot.ad, slot.address, slot.draining))
        dynamic.append(DynamicSlot(len(pool), new_parent.id, child.carved))
    return pool, dynamic


def pilots_carried_over(
    state: State, former: Collection[SlotRecord], new: Sequence[SlotRecord], claims: Collection[Claim]
) -> tuple[Sequence[SlotRecord], list[PilotSlot]]:
    """Return the pool *new* plus the pilots' slots of *former* whose jobs continue, with the next ids and their pilots.

    A pilot is not a machine of the pool, so no dump contains it.
    """
    pilots = {pilot.slot_id: pilot for pilot in pilot_slots.load_all(state)}
    if not pilots:
        return new, []
    held = {claim.slot_id for claim in claims}
    taken = {(slot.name, slot.address) for slot in new}
    pool, kept = list(new), []
    for slot in former:
        if slot.id in pilots and slot.id in held and (slot.name, slot.address) not in taken:
            pool.append(replace(slot, id=len(pool) + 1))
            kept.append(replace(pilots[slot.id], slot_id=len(pool)))
    return pool, kept


def _is_partitionable(slot: SlotRecord) -> bool:
    return any(name.lower() == "partitionableslot" and value is True for name, value in slot.ad.items())
