"""One negotiation cycle on the state: load the pool, decide, store the matches and what they cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.engine.explain.record import CycleRecorder
from fairq.engine.negotiation.cycle import negotiate as decide
from fairq.engine.negotiation.policy import NegotiationPolicy
from fairq.records import Actor
from fairq.state import cycles, meta
from fairq.state.connection import State, reading, writing
from fairq.state.cycle_lock import cycle_lock
from fairq.state.rows import without_collection
from fairq.steps.cycle.document import Cycle, decision_document, explanation_document, shared_slots
from fairq.steps.cycle.load import LoadedPool, load_pool, load_round_robin_times, with_known_groups
from fairq.steps.cycle.negotiation_policy import negotiation_policy
from fairq.steps.cycle.sampling import CYCLE_SECONDS
from fairq.steps.cycle.store import store_cycle
from fairq.steps.jobs.ended import forget_old
from fairq.steps.launch.clock import Clock
from fairq.steps.launch.launchers import is_launching
from fairq.steps.pool.assumptions import missing_accounting
from fairq.steps.pool.dynamic_slots import carved_slots

if TYPE_CHECKING:
    from fairq.settings import Settings
    from fairq.steps.launch.intent import Matched


def negotiate(
    path: Path,
    settings: Settings,
    actor: Actor,
    *,
    dry_run: bool = False,
    explain: bool = False,
    doing: Callable[[str], None] = lambda _: None,
) -> Cycle:
    """Hold one negotiation cycle at the actor's time.

    Everything is stored in one transaction, or nothing with *dry_run*. With *explain* the slots that every
    rejected request lost are counted, which takes time of its own. What was decided in the last
    decisions_kept cycles is kept; matches are kept for ever. *doing* is told what is going on.

    Raises:
        CycleUnderWayError: another cycle works on this state.
    """
    policy = negotiation_policy(settings)
    if dry_run:
        with without_collection(), reading(path) as state:
            policy = with_known_groups(policy, state, settings)
            doing("loading the pool")
            pool = load_pool(state, settings, actor.time)
            doing("matching jobs with slots")
            return _decide(pool, state, policy, actor.time, explain)
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
    """Hold one cycle as `negotiate` does, in a process that has the cycle's lock already.

    *first* is what comes before it in the same transaction.
    """
    policy = negotiation_policy(settings)
    clock, begin = Clock.at(actor.time), time.monotonic()
    with without_collection(), writing(path) as state:
        if first is not None:
            first(state)
        doing("loading the pool")
        pool = load_pool(state, settings, actor.time)
        known = set(pool.accountant.records)
        policy = with_known_groups(policy, state, settings)
        doing("matching jobs with slots")
        cycle = _decide(pool, state, policy, actor.time, explain)
        doing(f"storing {len(cycle.decision.matches)} matches")
        store_cycle(state, cycle, pool, known, actor)
        if cycle.decision.matches and is_launching(state, settings):
            from fairq.steps.launch.intent import intend

            intend(state, settings, _matched(cycle, pool), clock)
        forget_old(state, settings, actor.time)
        cycles.forget_decisions(state, keep=settings["negotiator.decisions_kept"])
        meta.set(state, CYCLE_SECONDS, f"{time.monotonic() - begin:.3f}")
        return cycle


def _matched(cycle: Cycle, pool: LoadedPool) -> Iterator[Matched]:
    from fairq.steps.launch.intent import Matched

    for match in cycle.decision.matches:
        victims = (cycle.victims[row] for row in match.victims if row in cycle.victims)
        yield Matched(
            match.schedd,
            match.cluster,
            match.proc,
            cycle.slot_names[match.slot] if match.carving is None else cycle.carved[match.key].name,
            pool.ads[match.slot],
            [(claim.schedd or "", claim.cluster or 0, claim.proc or 0) for claim in victims],
        )


def _decide(pool: LoadedPool, state: State, policy: NegotiationPolicy, now: int, explain: bool) -> Cycle:
    number = cycles.next_number(state)
    recorder = CycleRecorder(pool.slots, policy) if explain else None
    times = load_round_robin_times(state)
    decision = decide(pool.slots, pool.jobs, pool.accountant, policy, now, times, recorder, clock=time.monotonic)
    victims = {
        row: claim
        for match in decision.matches
        for row in match.victims
        if (claim := pool.claims.get(pool.ids[row])) is not None and claim.cluster is not None
    }
    carved = carved_slots(decision.matches, pool.ids, pool.slots.names, pool.ads)
    document = decision_document(number, decision)
    if recorder is not None:
        document["explanation"] = explanation_document(recorder.explained)
    missing = missing_accounting(state)
    cycle = Cycle(number, decision, document, policy, pool.slots.names, victims, pool.expired, carved)
    return replace(cycle, notes=[*([] if missing is None else [missing]), *shared_slots(cycle, pool.ads)])
