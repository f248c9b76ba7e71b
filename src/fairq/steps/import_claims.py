"""What an import does to the claims: which go on, which end, and which the slots' ads tell of."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from fairq.dumps.slots import Use, use_of
from fairq.records import Ad, Claim, DynamicSlot, JobRange, JobStatus, PilotSlot, SlotRecord
from fairq.state import claims, jobs, slots
from fairq.state.connection import State
from fairq.steps.claimed_ads import told_of, without_claim
from fairq.steps.import_dynamic import Job, carried_over, pilots_carried_over


@dataclass(slots=True)
class ClaimPlan:
    """The claims after an import.

    Args:
        kept: former claims that go on, by the slots' new numbers.
        ended: those whose slot or running job is gone, by the slots' former numbers.
        linked: new ones, of slots whose ads say that they run a running job of the queue; weights unset.
        pool: the slots after the import, the linked ones as they would be without their claim; None if
            no slot changes.
        dynamic: those of them that fairq carved out of others, if the pool is replaced.
        pilots: those of them that pilots brought along, if the pool is replaced.
    """

    kept: list[Claim] = field(default_factory=list)
    ended: list[Claim] = field(default_factory=list)
    linked: list[Claim] = field(default_factory=list)
    pool: list[SlotRecord] | None = None
    dynamic: list[DynamicSlot] = field(default_factory=list)
    pilots: list[PilotSlot] = field(default_factory=list)


def plan_claims(
    state: State, new_slots: list[SlotRecord] | None, new_jobs: list[JobRange] | None
) -> ClaimPlan:
    """Decide about the claims of *state*, whose slots and jobs the new ones (None: the same) will replace."""
    plan = ClaimPlan(pool=new_slots)
    former = claims.load_all(state)
    running = _Running(
        jobs.select(state, statuses=[JobStatus.RUNNING]) if new_jobs is None else new_jobs
    )
    former_slots = slots.load_all(state) if former or (new_slots is None and running) else []
    places = {slot.id: (slot.name, slot.address) for slot in former_slots}
    pool = former_slots
    if new_slots is not None:
        running_ones = [claim for claim in former if claim.cluster is not None and running.has(claim)]
        pool, plan.dynamic = carried_over(
            state, former_slots, new_slots, running_ones, lambda: _advertised_jobs(new_slots, running)
        )
        pool, plan.pilots = pilots_carried_over(state, former_slots, pool, running_ones)
        plan.pool = pool
    numbers = {(slot.name, slot.address): slot.id for slot in pool} if former else {}
    for claim in former:
        number = numbers.get(places[claim.slot_id])
        if number is not None and (claim.cluster is None or running.has(claim)):
            told = claim.advertised if new_slots is None else None
            plan.kept.append(replace(claim, slot_id=number, advertised=told))
        else:
            plan.ended.append(claim)
    if running:
        _link(plan, pool, running)
    return plan


def _advertised_jobs(pool: list[SlotRecord], running: _Running) -> set[Job]:
    """The jobs that slots say they run."""
    uses = (use_of(slot.ad) for slot in pool)
    return {(running.schedd_of(use), use.cluster, use.proc) for use in uses if use is not None}


def _link(plan: ClaimPlan, pool: list[SlotRecord], running: _Running) -> None:
    own = {claim.slot_id: claim for claim in plan.kept if claim.cluster is not None}
    taken = own.keys()
    busy = {_job(claim) for claim in plan.kept}
    freed: dict[int, Ad] = {}
    for slot in pool:
        use = use_of(slot.ad)
        if use is None:
            continue
        schedd = running.schedd_of(use)
        job = (schedd, use.cluster, use.proc)
        submitter = running.submitter(*job)
        if submitter is None:
            continue
        if job in busy:
            if slot.id in taken:
                freed[slot.id] = without_claim(slot.ad, use.start_time)
            if slot.id in own and job == _job(own[slot.id]):
                own[slot.id].advertised = told_of(slot.ad, replace(own[slot.id], advertised=None))
            continue
        if slot.id in taken:
            continue
        busy.add(job)
        freed[slot.id] = without_claim(slot.ad, use.start_time)
        claim = Claim(
            slot_id=slot.id,
            submitter=submitter,
            start_time=use.start_time,
            slot_weight=1.0,
            schedd=schedd,
            cluster=use.cluster,
            proc=use.proc,
            current_rank=use.current_rank,
            concurrency_limits=use.concurrency_limits,
            negotiating_group=use.negotiating_group,
            autoregroup=use.autoregroup,
        )
        claim.advertised = told_of(slot.ad, claim)
        plan.linked.append(claim)
    linked = {claim.slot_id for claim in plan.linked}
    plan.kept = [claim for claim in plan.kept if claim.slot_id not in linked]
    if freed:
        plan.pool = [replace(slot, ad=freed[slot.id]) if slot.id in freed else slot for slot in pool]


def _job(claim: Claim) -> Job:
    return claim.schedd, claim.cluster, claim.proc


def running_elsewhere(state: State) -> list[jobs.Procs]:
    """The running jobs whose slot is not in the pool, as where only a part of a pool was imported."""
    held: dict[tuple[str, int], set[int]] = {}
    for claim in claims.load_all(state):
        if claim.cluster is not None and claim.proc is not None:
            held.setdefault((claim.schedd or "", claim.cluster), set()).add(claim.proc)
    return [
        jobs.Procs(job.schedd, job.cluster, proc, proc)
        for job in jobs.select(state, statuses=[JobStatus.RUNNING])
        for proc in range(job.first_proc, job.last_proc + 1)
        if proc not in held.get((job.schedd, job.cluster), ())
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
        for found in self._ranges.values():
            found.sort(key=lambda job: job.first_proc)

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def has(self, claim: Claim) -> bool:
        """Say whether the job of *claim* runs, for the same submitter."""
        assert claim.cluster is not None and claim.proc is not None
        return self.submitter(claim.schedd or "", claim.cluster, claim.proc) == claim.submitter

    def schedd_of(self, use: Use) -> str:
        """Return by which name the queue knows the schedd of *use*: by none if it has only one."""
        return "" if self._one_schedd else use.schedd

    def submitter(self, schedd: str, cluster: int, proc: int) -> str | None:
        """Return whose job this is if it is running, else None."""
        ranges = self._ranges.get((schedd, cluster), [])
        at = bisect_right(ranges, proc, key=lambda job: job.first_proc) - 1
        return ranges[at].submitter if at >= 0 and proc <= ranges[at].last_proc else None
