"""Jumbo jobs and event service (docs/panda.md, Production filters)."""

from __future__ import annotations

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.pool.columns import Booleans, Pool
from fairq.engine.brokerage.pool.flags import flag_numbers, takes_jumbo_jobs

JUMBO, FEW = Reason("jumbo"), Reason("fewevents")
NO_ES, HIGH_ES, CORE_ES, ONLY_ES = Reason("es"), Reason("eshigh"), Reason("es_ucore"), Reason("nones")


@refuses(
    "jumbo",
    "jumbo job check",
    JUMBO,
    reads=lambda ask: None if ask.is_spared_alone or ask.takes_jumbo_jobs else (),
)
def jumbo(pool: Pool) -> Refusals:
    """Refuse queues for jumbo jobs if the task has none."""
    yield Refusal(JUMBO, takes_jumbo_jobs(pool))


def _reads_events(ask: Ask) -> Values | None:
    ready = ask.chunk.ready_events
    applies = ask.takes_jumbo_jobs and ready is not None
    return (ready,) if applies and not ask.is_spared_alone else None


@refuses("jumbo events", "jumbo events check", FEW, reads=_reads_events)
def jumbo_events(pool: Pool, ready: int) -> Refusals:
    """Refuse queues for jumbo jobs that require more ready events."""
    needed = flag_numbers(pool, "min_events_for_jumbo")
    few = takes_jumbo_jobs(pool) & (ready < needed)
    yield Refusal(FEW, few, lambda row: {"ready_events": ready, "minEventsForJumbo": int(needed[row])})


def _reads_event_service(ask: Ask) -> Values | None:
    task = ask.task
    return None if ask.is_spared_alone else (task.event_service, task.is_event_service, ask.is_high_priority)


@refuses("event service", "EventService check", NO_ES, HIGH_ES, CORE_ES, ONLY_ES, reads=_reads_event_service)
def event_service(pool: Pool, kind: int, is_event_service: bool, high: bool) -> Refusals:
    """The ``jobseed`` of a queue says whether it accepts event service, other tasks, or both.

    With ``eshigh``, it accepts event service of a high priority only. Pseudo queues of one core accept none.
    """

    def seeded(word: str) -> Booleans:
        return pool.flags(("jobseed", word), lambda queue: queue.jobseed == word)

    def figures(row: int) -> Details:
        queue = pool.queues[row]
        return {"jobseed": queue.jobseed, "eventService": kind, "corecount": queue.corecount}

    if not is_event_service:
        yield Refusal(ONLY_ES, seeded("es"), figures)
        return
    yield Refusal(NO_ES, seeded("std"), figures)
    if not high:
        yield Refusal(HIGH_ES, seeded("eshigh"), figures)
    one_core = pool.flags("one core", lambda queue: bool(queue.resource_type) and queue.corecount == 1)
    yield Refusal(CORE_ES, one_core, figures)
