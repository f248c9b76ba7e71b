"""One negotiation cycle on the state: load the pool, decide, store the matches and their charges."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import Actor
from fairq.engine.accounting.identity import assigned_group
from fairq.engine.negotiation.cycle import negotiate as decide
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.state import cycles, job_kinds, meta, tally
from fairq.state.connection import State, keeping_few_pages, putting_together, reading, trying, watching, writing
from fairq.state.cycle_lock import cycle_lock
from fairq.steps.cycle.document import Cycle, cycle_document, shared_slots
from fairq.steps.cycle.load import LoadedPool, load_without_jobs, policy_of_pool, read_pool
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.cycle.promises import renew_promises
from fairq.steps.cycle.samples import CYCLE_SECONDS
from fairq.steps.cycle.store import store_cycle, written_record
from fairq.steps.jobs.end_records import forget_old
from fairq.steps.jobs.waits import is_due, settle_due
from fairq.steps.launch.clock import Clock
from fairq.steps.launch.launchers import is_launching
from fairq.steps.pool.assumptions import missing_accounting
from fairq.steps.pool.dynamic_slots import carved_slots, inherited_by
from fairq.steps.pool.slots import leaving, let_leave

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.steps.launch.intent import Matched

_NAMED = 10
"""Number of jobs that a note names."""


def negotiate(
    path: Path,
    settings: Settings,
    actor: Actor,
    *,
    dry_run: bool = False,
    explain: bool = False,
    doing: Callable[[str], None] = lambda _: None,
) -> Cycle:
    """Run one negotiation cycle at the actor's time.

    Everything is stored in one transaction, or nothing with *dry_run*. With *explain*, the slots that every rejected
    request lost are counted, which takes additional time. The decisions of the last decisions_kept cycles are kept;
    matches are kept forever. *doing* receives the progress.

    Raises:
        CycleUnderWayError: another cycle works on this state.
    """
    if dry_run:
        with putting_together(path):
            snapshot = _snapshot_with_due_changes(path, settings, actor) or _take_snapshot(
                path, settings, actor.time, doing
            )
            doing("matching jobs with slots")
            return _decide(snapshot, actor.time, explain)
    with cycle_lock(path):
        return hold_cycle(path, settings, actor, explain=explain, doing=doing)


def hold_cycle(
    path: Path,
    settings: Settings,
    actor: Actor,
    *,
    explain: bool = False,
    doing: Callable[[str], None] = lambda _: None,
    first: Callable[[State], None] | None = None,
) -> Cycle:
    """Run one cycle as `negotiate` does; the caller must hold the cycle's lock.

    *first* runs before it, in a transaction of its own.

    The cycle is decided on a snapshot, without locking the state; only storing the decision locks it. Matches of jobs
    that were removed, held or changed meanwhile are dropped. If slots, claims, priorities or settings have changed, or
    matches cannot be dropped alone, the cycle is decided again, once, while the state is locked.
    """
    clock, begin = Clock.at(actor.time), time.monotonic()
    if first is not None:
        with writing(path) as state:
            first(state)
            _make_due_changes(state, actor)
    with reading(path) as state:
        has_due = first is None and _has_due_changes(state, actor.time)
    if has_due:
        with writing(path) as state:
            _make_due_changes(state, actor)
    with putting_together(path), watching(path) as is_changed:
        snapshot = _take_snapshot(path, settings, actor.time, doing)
        doing("matching jobs with slots")
        cycle = _decide(snapshot, actor.time, explain)
        # Do everything slow before the state is locked.
        record = written_record(cycle)
        with writing(path) as state:
            former, settings = settings, settings.now()
            changed_meanwhile = is_changed()
            if settings is not former or changed_meanwhile:
                valid = _without_lost(cycle, snapshot, state, settings) if settings is former else None
                if valid is None:
                    doing("matching again, since the pool has changed")
                    snapshot = _read(state, settings, actor.time)()
                    valid = _decide(snapshot, actor.time, explain)
                if valid is not cycle:
                    cycle, record = valid, written_record(valid)
            doing(f"storing {len(cycle.decision.matches)} matches")
            cycle = _store(state, cycle, record, snapshot, settings, actor)
            if cycle.decision.matches and is_launching(state, settings):
                from fairq.steps.launch.intent import intend

                intend(state, settings, _matched(cycle, snapshot.pool), clock)
            groups = snapshot.pool.accountant.policy.group_names
            tally.keep(state, tally.current(state, lambda name: assigned_group(name, groups)))
            waiting = snapshot.pool.jobs
            job_kinds.store(state, waiting.kinds.learned, waiting.ads if changed_meanwhile else None)
            forget_old(state, settings, actor.time)
            cycles.forget_decisions(state, keep=settings["negotiator.decisions_kept"])
            seconds = time.monotonic() - begin
            meta.set(state, CYCLE_SECONDS, f"{seconds:.3f}")
            tally.add_cycle(state, seconds)
        return cycle


def _store(
    state: State, cycle: Cycle, record: cycles.WrittenCycle, snapshot: _Snapshot, settings: Settings, actor: Actor
) -> Cycle:
    """Store *cycle*, and promise machines to large jobs that still wait; return it with notes on the promises."""
    store_cycle(state, cycle, record, snapshot.pool, snapshot.known, actor)
    return replace(cycle, notes=[*cycle.notes, *renew_promises(state, settings, cycle.decision, actor)])


def _has_due_changes(state: State, now: int) -> bool:
    """Return whether `_make_due_changes` may have something to do."""
    return bool(is_due(state, now) or leaving(state, now))


def _make_due_changes(state: State, actor: Actor) -> None:
    """Make the jobs idle, and remove the slots from the pool, whose time has come."""
    settle_due(state, actor.time)
    let_leave(state, actor)


class _Snapshot(Struct, frozen=True):
    """All data of the state that a decision needs.

    Args:
        pool: slots, jobs, claims, accounts.
        policy: the rules in force.
        number: of the cycle.
        known: the names with an accounting record.
        notes: sentences about the pool for the reader.
    """

    pool: LoadedPool
    policy: NegotiationPolicy
    number: int
    known: set[str]
    notes: list[str]


def _snapshot_with_due_changes(path: Path, settings: Settings, actor: Actor) -> _Snapshot | None:
    """Return the snapshot after the changes that are due; None if none are."""
    with reading(path) as state:
        if not _has_due_changes(state, actor.time):
            return None
    with trying(path) as state:
        _make_due_changes(state, actor)
        return _read(state, settings, actor.time)()


def _take_snapshot(path: Path, settings: Settings, now: int, doing: Callable[[str], None]) -> _Snapshot:
    """Return a snapshot of the state; the state is free again as soon as it is read."""
    with reading(path) as state, keeping_few_pages(state):
        doing("loading the pool")
        complete = _read(state, settings, now)
    return complete()


def _read(state: State, settings: Settings, now: int) -> Callable[[], _Snapshot]:
    """Read a snapshot; return a function that completes it without the *state*."""
    loaded = read_pool(state, settings, now)
    policy = policy_of_pool(negotiation_policy(settings), state, settings, now)
    missing = missing_accounting(state)
    notes = [] if missing is None else [missing]
    number = cycles.next_number(state)

    def complete() -> _Snapshot:
        pool = loaded()
        return _Snapshot(pool, policy, number, set(pool.accountant.records), notes)

    return complete


def _without_lost(cycle: Cycle, before: _Snapshot, state: State, settings: Settings) -> Cycle | None:
    """Return *cycle* without matches of jobs changed since the snapshot *before*; None if the rest is invalid."""
    from fairq.steps.cycle.meanwhile import can_drop, drop, is_still_valid, matches_lost

    if not is_still_valid(before.pool, load_without_jobs(state, settings, cycle.decision.time)):
        return None
    decision = cycle.decision
    lost = matches_lost(decision, before.pool, state)
    if not lost:
        return cycle
    if not can_drop(lost):
        return None
    drop(decision, lost, before.pool)
    document = cycle_document(cycle.number, decision, cycle.explained)
    jobs = ", ".join(document["dropped"][:_NAMED]) + (", ..." if len(lost) > _NAMED else "")
    note = f"matches dropped, since their jobs were removed, held or changed during the cycle: {jobs}"
    return replace(cycle, document=document, notes=[*cycle.notes, note])


def _matched(cycle: Cycle, pool: LoadedPool) -> Iterator[Matched]:
    from fairq.steps.launch.intent import Matched

    for match in cycle.decision.matches:
        victims = (cycle.victims[row] for row in match.victims if row in cycle.victims)
        name, ad = cycle.slot_names[match.slot], pool.ads[match.slot]
        if match.carving is not None:
            carved = cycle.carved[match.key]
            name, ad = carved.name, inherited_by(ad, {name.lower() for name in carved.ad}) | carved.ad
        yield Matched(
            match.schedd,
            match.cluster,
            match.proc,
            name,
            ad,
            [claim.key for claim in victims],
        )


def _decide(snapshot: _Snapshot, now: int, explain: bool) -> Cycle:
    pool, policy = snapshot.pool, snapshot.policy
    recorder = None
    if explain:
        from fairq.engine.explain.losses import CycleRecorder

        recorder = CycleRecorder(pool.slots, policy)
    times = pool.accounts_before.round_robin
    decision = decide(pool.slots, pool.jobs, pool.accountant, policy, now, times, recorder, clock=time.monotonic)
    victims = {
        row: claim
        for match in decision.matches.single
        for row in match.victims
        if (claim := pool.claims.get(pool.ids[row])) is not None and claim.cluster is not None
    }
    carved = carved_slots(decision.matches.single, pool.ids, pool.slots.names, pool.ads)
    explained = None if recorder is None else recorder.explained
    cycle = Cycle(
        snapshot.number,
        decision,
        cycle_document(snapshot.number, decision, explained),
        policy,
        pool.slots.names,
        victims,
        pool.expired,
        carved,
        explained,
    )
    return replace(cycle, notes=[*snapshot.notes, *shared_slots(cycle, pool.ads.base)])
