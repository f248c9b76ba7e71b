"""Store the decision of a negotiation cycle: claims, jobs, accounting, and the record of the decision."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, groupby
from typing import cast

from msgspec.structs import replace

from fairq.common.past import CycleRecord, MatchRun
from fairq.common.procs import Procs
from fairq.common.records import Actor, Change, Claim, JobStatus, Run
from fairq.engine.accounting.charges import SlotKey
from fairq.engine.accounting.leases import ExpiredLease
from fairq.engine.negotiation.decision import AlikeMatches, Matches, MatchReason
from fairq.state import claims, cycles, dynamic_slots, history, job_changes, meta, pilot_slots, runs, slots, submitters
from fairq.state.claims import AlikeClaims
from fairq.state.connection import State
from fairq.steps.cycle.accounts import RECORDED_UNTIL, store_accountant
from fairq.steps.cycle.document import Cycle
from fairq.steps.cycle.load import GROUP_NAMES, ROUND_ROBIN, LoadedPool, load_group_names
from fairq.steps.cycle.samples import sample_cycle
from fairq.steps.pool.claimed_ads import without_claim
from fairq.steps.pool.dynamic_slots import add_slots
from fairq.steps.pool.imported_parts import adopt


def written_record(cycle: Cycle) -> cycles.WrittenCycle:
    """Return the record of *cycle* in its stored form, for `store_cycle`."""
    decision = cycle.decision
    record = CycleRecord(cycle.number, decision.time, decision.rules, cycle.document)
    return cycles.written(record, _match_runs(cycle))


def store_cycle(
    state: State, cycle: Cycle, record: cycles.WrittenCycle, pool: LoadedPool, known: set[str], actor: Actor
) -> None:
    """Store *cycle* with its *record*; *known* are the names that had an accounting record before it."""
    matches = cycle.decision.matches
    _end_preempted(state, cycle, pool, actor.time)
    _store_claims(state, cycle, pool, actor.time)
    job_changes.mark_running(state, _procs(matches), actor.time)
    store_accountant(state, pool.accountant)
    for name in known - pool.accountant.records.keys():
        submitters.delete(state, name)
    in_use = pool.accountant.charges.total_weight()
    sample_cycle(state, cycle.decision, in_use, actor.time)
    meta.set(state, RECORDED_UNTIL, "0")
    preempted = any(match.preempted is not None for match in matches.single)
    meta.set(state, "preempted_counted", str(int(preempted and pool.accountant.policy.count_preempted)))
    if load_group_names(state) != pool.accountant.policy.group_names:
        meta.set(state, GROUP_NAMES, "\n".join(pool.accountant.policy.group_names))
    if cycle.decision.round_robin_times and not cycle.policy.use_slot_weights:
        meta.set(state, ROUND_ROBIN, json.dumps(cycle.decision.round_robin_times))
    cycles.add_written(state, record)
    changes = [_lease_change(lease) for lease in cycle.expired]
    if matches:
        matched = {turn.submitter: turn.matched for turn in cycle.decision.submitters if turn.matched}
        changes.append(Change(f"cycle {cycle.number}", None, {"matched": matched}))
    history.record(state, actor, changes)


def _end_preempted(state: State, cycle: Cycle, pool: LoadedPool, now: int) -> None:
    """Make preempted jobs of the queue idle and record their runs; remove foreign claims from the slots' ads."""
    evicted = list(cycle.victims.values())
    runs.add(
        state,
        (
            Run(
                cluster=claim.cluster or 0,
                proc=claim.proc or 0,
                submitter=claim.submitter,
                slot=cycle.slot_names[row],
                slot_weight=claim.slot_weight,
                start_time=claim.start_time,
                end_time=now,
                how="preempted",
                schedd=claim.schedd or "",
            )
            for row, claim in cycle.victims.items()
        ),
    )
    job_changes.set_status(
        state,
        (claim.procs for claim in evicted),
        JobStatus.IDLE,
        now,
        "preempted",
    )
    preempting = (row for match in cycle.decision.matches.single for row in match.victims)
    foreign = [row for row in preempting if row not in cycle.victims]
    if foreign:
        slots.rewrite_ads(state, (pool.ids[row] for row in foreign), lambda ad: without_claim(ad, now))


def _store_claims(state: State, cycle: Cycle, pool: LoadedPool, now: int) -> None:
    """Store the claims that the accountant charges, with the jobs of the new matches."""
    charges = pool.accountant.charges
    addresses = dict(zip(pool.ids, slots.load_addresses(state), strict=True)) if cycle.carved else {}
    ended = {claim.slot_id for claim in cycle.victims.values()}
    uncharged = [pool.claims[slot] for slot in charges.missing(pool.claims.slots)]
    # An uncharged claim of a running job of the queue is suspended, in a pool that discounts suspended jobs.
    suspended = [claim for claim in uncharged if claim.cluster is not None and claim.slot_id not in ended]
    # Dynamic slots removed for another match end; a slot that was preempted itself is the winner's now.
    displaced = (row for match in cycle.decision.matches.single if match.makes_room for row in match.victims)
    displaced_parts = {row: pool.imported_parts[row] for row in displaced if row in pool.imported_parts}
    released = [claim.slot_id for claim in uncharged if claim.cluster is None or claim.slot_id in ended]
    claims.release(state, released)
    dynamic_slots.dissolve(state, [*released, *adopt(state, displaced_parts, pool.ids)])
    pilot_slots.dissolve(state, released)
    numbers = add_slots(state, cycle.carved, addresses) if cycle.carved else {}
    match_of = {numbers.get(match.key, match.key): match for match in cycle.decision.matches.single}
    alike: set[SlotKey] = set().union(*(run.keys for run in cycle.decision.matches.alike))
    new_claims = [replace(claim, charged=False) for claim in suspended if claim.charged]
    # In a large pool, most claims are unchanged, or of alike matches.
    changed = charges.changed(pool.charged)
    others = {slot: charge for slot, charge in changed.items() if slot not in alike}
    others |= {slot: charges[slot] for slot in match_of if slot not in changed and slot in charges}
    for charged, charge in others.items():
        key = numbers.get(charged, charged)
        assert isinstance(key, int)
        former = pool.claims.get(key)
        match = match_of.get(key)
        if match is None and former is not None and former.submitter == charge.submitter:
            if not former.charged:
                new_claims.append(replace(former, charged=True))
            continue
        if match is None:
            new_claims.append(Claim(key, charge.submitter, charge.start_time, charge.slot_weight))
            continue
        claim = Claim(
            key,
            charge.submitter,
            now,
            charge.slot_weight,
            match.schedd,
            match.cluster,
            match.proc,
            match.machine_rank,
            match.concurrency_limits,
            match.group,
            match.autoregroup,
        )
        claim.matched = True
        new_claims.append(claim)
    claims.store_alike(
        state,
        chain(
            map(claims.alone, new_claims),
            (claims_of_run for run in cycle.decision.matches.alike for claims_of_run in _alike_claims(run, now)),
        ),
    )


def _alike_claims(run: AlikeMatches, now: int) -> Iterator[AlikeClaims]:
    """Yield the claims of alike matches; consecutive ones with the same cluster and slot rank are one."""
    numbers, start = cast("list[int]", run.keys), 0
    for cluster, proc, last in run.jobs:
        ranks = [run.ranks[slot] for slot in run.slots[start : start + last - proc + 1]]
        for rank, equal in groupby(ranks):
            slots = numbers[start : start + len(list(equal))]
            claim = Claim(
                slots[0],
                run.submitter,
                now,
                run.cost,
                run.schedd,
                cluster,
                proc,
                rank,
                negotiating_group=run.group,
                autoregroup=run.autoregroup,
                matched=True,
            )
            yield AlikeClaims(claim, slots)
            start += len(slots)
            proc += len(slots)  # noqa: PLW2901 - the next stretch begins there


def _procs(matches: Matches) -> Iterator[Procs]:
    """Return the jobs of *matches*, those of alike ones as ranges."""
    for step in matches.steps:
        if isinstance(step, AlikeMatches):
            yield from (Procs(step.schedd, *jobs) for jobs in step.jobs)
        else:
            yield Procs(step.schedd, step.cluster, step.proc, step.proc)


def _match_runs(cycle: Cycle) -> Iterator[MatchRun]:
    """Return the matches as they are recorded."""
    names = cycle.slot_names
    for step in cycle.decision.matches.steps:
        if isinstance(step, AlikeMatches):
            jobs = [(cluster, first, last - first + 1) for cluster, first, last in step.jobs]
            slots = [names[slot] for slot in step.slots]
            yield MatchRun(step.schedd, step.submitter, MatchReason.NO_PREEMPTION, None, jobs, slots)
        else:
            name = names[step.slot] if step.carving is None else cycle.carved[step.key].name
            job = (step.cluster, step.proc, 1)
            yield MatchRun(step.schedd, step.submitter, step.reason, step.preempted, [job], [name])


def _lease_change(lease: ExpiredLease) -> Change:
    subject = f"{lease.what.value} lease of {lease.record.name}"
    return Change(subject, lease.leased, lease.restored)
