"""Runs of engines such as Slurm: they wait in the engine's queue first, and that time is not charged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairq.common.records import WITHDRAWN, Claim, Launch, LaunchPhase
from fairq.launch.interface import Condition, Look, Queued
from fairq.state import claims, launches
from fairq.state.connection import State
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.accounts import load_accountant, settle, store_accountant
from fairq.steps.launch.launchers import engine_settings

if TYPE_CHECKING:
    from fairq.settings import Settings


class Move(NamedTuple):
    """The new *start* of the charge for a run with its *claim*, in seconds since 1970."""

    launch: Launch
    claim: Claim
    start: int


def note_wait(state: State, launch: Launch, observed: Look) -> str | None:
    """Record why a run waits, or that its engine does not answer; return a note if an administrator should know."""
    if observed.condition is Condition.QUEUED:
        launch.phase = LaunchPhase.QUEUED
        if isinstance(observed.begun, Queued):
            launch.engine_id = observed.begun.engine_id
    launch.reason = observed.detail
    launches.store(state, [launch], "phase", "engine_id", "reason")
    return observed.detail if observed.condition is Condition.UNKNOWN else None


def overdue(live: Iterable[Launch], engines: Collection[str], settings: Settings, now: int) -> list[Launch]:
    """Return the runs that their engines have not started within their ``patience`` of the settings."""
    patience = {name: engine_settings(settings, name).get("patience") or 0 for name in engines}
    return [
        launch
        for launch in waiting(live, engines)
        if launch.ordered is None and 0 < patience[launch.launcher] < now - launch.intended
    ]


def withdrawal(launch: Launch, now: int) -> dict[str, str]:
    """Return the order to withdraw an overdue run."""
    reason = f": {launch.reason}" if launch.reason else ""
    return {"how": "withdraw", "reason": f"{WITHDRAWN} {launch.launcher} after {now - launch.intended} s{reason}"}


def waiting(live: Iterable[Launch], engines: Collection[str]) -> list[Launch]:
    """Return the runs of engines that have not started."""
    return [launch for launch in live if launch.launcher in engines and launch.phase is not LaunchPhase.STARTED]


def charge_from(state: State, settings: Settings, moves: Sequence[Move]) -> None:
    """Move the start of charges; refund or add what was charged in between."""
    moves = [move for move in moves if move.claim.start_time != move.start]
    if not moves:
        return
    settle(state, settings)
    accountant = load_accountant(state, accounting_policy(settings))
    for _, claim, _ in moves:
        accountant.remove_match(claim.slot_id, claim.start_time)
    for launch, claim, start in sorted(moves, key=lambda move: move.start):
        accountant.add_match(claim.submitter, claim.slot_id, claim.slot_weight, start)
        claim.start_time = launch.charged_from = start
    store_accountant(state, accountant)
    claims.store(state, [move.claim for move in moves])
    launches.store(state, [move.launch for move in moves], "charged_from")
