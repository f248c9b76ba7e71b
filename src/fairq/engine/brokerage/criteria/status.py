"""The state of a queue: status, pledge, activity and pilots (docs/panda.md, Production filters and Analysis)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.criteria.candidates import preassigned_rows, rows_called, selection_of
from fairq.engine.brokerage.criteria.nucleus import nucleus_of
from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.flags import takes_jumbo_jobs
from fairq.engine.brokerage.pool.supply import pilot_counts, slots_asked

INACTIVE_AFTER = 2 * 3600.0
"""Seconds without a start of a job after which a queue with waiting jobs is inactive."""

CLOSED_TO_BROKERS = frozenset({"brokeroff", "test"})
"""States of queues that accept only analysis tasks that name queues (rules panda)."""

STATUS = Reason("status")
OPPORTUNISTIC, ELSEWHERE = Reason("opportunistic"), Reason("not_in_nucleus")
INACTIVE = Reason("inactive", permanent=False)
NO_PLEDGE, OVER_PLEDGE = Reason("non_pledged"), Reason("over_pledged")
NO_PILOT, NO_PILOT_FINAL = Reason("nopilot", permanent=False), Reason("nopilot")


@refuses("status", "status check", STATUS, reads=lambda ask: () if ask.preassigned is None else None)
def status(pool: Pool) -> Refusals:
    """Refuse queues that are not online, unless given; under the rules panda, standby is accepted as well."""
    usable = ("online",) if pool.rules.online_only else ("online", "standby")
    offline = ~pool.flags(("usable", usable), lambda queue: queue.status in usable)
    yield Refusal(STATUS, offline, lambda row: {"status": pool.queues[row].status})


def _reads_analysis_status(ask: Ask) -> Values:
    chosen = selection_of(ask)
    return chosen.given, chosen.included, chosen.opens


@refuses("analysis status", "status check", STATUS, reads=_reads_analysis_status)
def analysis_status(
    pool: Pool, given_names: tuple[str, ...], included: tuple[str, ...] | None, opens: bool
) -> Refusals:
    """Refuse queues that are not online, unless the task is pre-assigned to them.

    Under the rules panda, refuse offline queues, and brokeroff and test unless the task names queues.
    """
    if pool.rules.online_only:
        online = pool.flags("online", lambda queue: queue.status == "online")
        refused = ~(online | preassigned_rows(pool, given_names, included))
    else:
        refused = pool.flags("offline", lambda queue: queue.status == "offline")
        if not opens:
            closed = pool.flags("brokeroff or test", lambda queue: queue.status in CLOSED_TO_BROKERS)
            if len(given_names) == 1:
                closed = closed & ~rows_called(pool, given_names)
            refused = refused | closed
    yield Refusal(STATUS, refused, lambda row: {"status": pool.queues[row].status})


def _reads_urgent(ask: Ask) -> Values | None:
    if not ask.is_urgent or ask.is_spared or (ask.rules.urgent_needs_nucleus and not ask.task.nucleus):
        return None
    return ask.task.nucleus, ask.task.current_priority, ask.chunk.is_scout


@refuses("opportunistic", "opportunistic check", OPPORTUNISTIC, ELSEWHERE, reads=_reads_urgent)
def opportunistic(pool: Pool, nucleus: str | None, priority: int, scout: bool) -> Refusals:
    """Refuse queues outside the nucleus for urgent jobs; under the rules panda, opportunistic queues instead."""
    details: Details = {"currentPriority": priority, "scout": scout}
    if pool.rules.urgent_needs_nucleus:
        elsewhere = ~nucleus_of(pool, nucleus).near
        yield Refusal(ELSEWHERE, elsewhere, lambda row: details | {"nucleus": nucleus, "site": pool.queues[row].site})
    else:
        no_pledge = pool.flags("no pledge", lambda queue: queue.pledgedcpu == -1)
        yield Refusal(OPPORTUNISTIC, no_pledge, lambda row: details | {"pledgedcpu": pool.queues[row].pledgedcpu})


def _reads_inactive(ask: Ask) -> Values | None:
    applies = ask.is_urgent or ask.chunk.is_merging or ask.task.has_rule("MO")
    return () if applies and not ask.is_spared else None


@refuses("inactive", "slowness/inactive check", INACTIVE, reads=_reads_inactive)
def inactive(pool: Pool) -> Refusals:
    """Refuse queues for urgent jobs and merges if no job has started for 2 hours although jobs wait."""
    pilots, now = pool.world.pilots, pool.world.now

    def is_idle(name: str) -> bool:
        last = pilots[name].last_start if name in pilots else None
        return last is not None and now - last > INACTIVE_AFTER

    idle = pool.unit_flags("resting", lambda unit: is_idle(unit.name))
    activated, starting = pool.job_counts(None, "activated"), pool.job_counts(None, "starting")
    waiting = activated + starting if pool.rules.inactive_with_starting else activated

    def figures(row: int) -> Details:
        last = pilots[pool.queues[row].unit].last_start
        return {"lastStart": last, "activated": int(activated[row]), "starting": int(starting[row])}

    yield Refusal(INACTIVE, idle & (waiting > 0), figures)


def _reads_pledge(ask: Ask) -> Values | None:
    applies = ask.rules.work_shortage and ask.config.flag("core.WORK_SHORTAGE")
    return () if applies and not ask.is_spared_alone else None


@refuses("pledge", "pledge check", NO_PLEDGE, OVER_PLEDGE, reads=_reads_pledge)
def pledge(pool: Pool) -> Refusals:
    """Refuse queues without a pledge, or that use more than it, during a shortage of work."""
    pledged, stats = pool.unit_numbers_of("pledgedcpu", lambda unit: unit.pledgedcpu), pool.world.core_stats
    used = pool.unit_numbers_of(
        "cores in use",
        lambda unit: sum(stats.get(unit.name, {}).get(state, 0) for state in ("running", "starting")),
    )

    def figures(row: int) -> Details:
        return {"pledgedcpu": pool.queues[row].pledgedcpu, "cores": int(used[row])}

    yield Refusal(NO_PLEDGE, pledged == -1, figures)
    yield Refusal(OVER_PLEDGE, (pledged > 0) & (used > pledged), figures)


def _reads_pilots(ask: Ask) -> Values | None:
    task = ask.task
    if ask.is_spared:
        return None
    if ask.rules.pilots_always:
        return None, None, False, False
    return task.gshare, task.resource_type, ask.takes_jumbo_jobs, "test" in task.label and not ask.is_express


@refuses("pilots", "pilot check", NO_PILOT, reads=_reads_pilots)
def pilots(pool: Pool, share: str | None, resource_type: str | None, jumbo: bool, test: bool) -> Refusals:
    """Refuse queues without pilots in the last 3 hours; rules panda exempt tests, jumbo jobs and numSlots."""
    count = pilot_counts(pool)
    silent = (count == 0) & (not test)
    if not pool.rules.pilots_always:
        silent = silent & np.isnan(slots_asked(pool, share, resource_type))
        if jumbo:
            silent = silent & ~takes_jumbo_jobs(pool)
    yield Refusal(NO_PILOT, silent, lambda row: {"nPilot": int(count[row])})


@refuses(
    "analysis pilots",
    "pilot activity check",
    NO_PILOT_FINAL,
    reads=lambda ask: (ask.task.label == "test" and not ask.rules.pilots_always,),
)
def analysis_pilots(pool: Pool, spared: bool) -> Refusals:
    """Refuse queues without pilots in the last 3 hours; PanDA's code exempts tests."""
    count = pilot_counts(pool)
    yield Refusal(NO_PILOT_FINAL, (count == 0) & (not spared), lambda row: {"nPilot": int(count[row])})
