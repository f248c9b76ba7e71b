"""Filters by what kind of task it is: its share, jumbo jobs, event service, disk traffic (reference panda 3.2)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.catchall import Flags
from fairq.engine.brokerage.columns import Columns
from fairq.engine.brokerage.fairshare_policy import Asker, deciding_part, has_zero_share, process_group
from fairq.engine.brokerage.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.production.queue_state import takes_jumbo_jobs
from fairq.engine.brokerage.question import Question
from fairq.engine.brokerage.queue_kinds import flags_of
from fairq.engine.brokerage.tasks import PRODUCTION

_PRODUCTION = frozenset({PRODUCTION})


def flag_numbers(columns: Columns, name: str) -> np.ndarray:
    """Return a number among the flags of each row; NaN where it is not given."""

    def value(flags: Flags) -> float:
        number = getattr(flags, name)
        return np.nan if number is None else float(number)

    return columns.kept(("flag number", name), lambda: np.array([value(flags) for flags in flags_of(columns)]))


class ZeroShare(PlainFilter):
    """The queue's fair share policy must leave the task a share."""

    name = "zeroshare"
    stage = "zero share check"
    place = 500
    activities = _PRODUCTION
    reasons = (Reason("zeroshare", "the queue's fairsharepolicy leaves the task no share"),)

    def applies(self, question: Question) -> bool:
        """Leave the shares for tests alone, except for a given queue and a label that is not production."""
        if question.preassigned == "single" and question.task.label != "managed":
            return True
        return question.task.gshare not in {"test", "validation"}

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Ask each distinct policy once."""
        columns, asker = question.columns, asker_of(question)
        policies, policy_of = columns.kept("policies", lambda: _policies(columns))
        return columns.refusals(
            ("zeroshare", asker),
            lambda: np.array([has_zero_share(policy, asker) for policy in policies], dtype=np.bool_),
            policy_of[rows],
        )

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the policy and the part of it that decided."""
        policy = question.columns.queues[row].fairsharepolicy
        part = deciding_part(policy, asker_of(question))
        return {"fairsharepolicy": policy, "decided_by": part.text if part else None}


def _policies(columns: Columns) -> tuple[list[str], np.ndarray]:
    policies = sorted({queue.fairsharepolicy for queue in columns.queues})
    numbers = {policy: number for number, policy in enumerate(policies)}
    return policies, np.array([numbers[queue.fairsharepolicy] for queue in columns.queues], dtype=np.intp)


def asker_of(question: Question) -> Asker:
    """Return what fair share policies look at."""
    task = question.task
    return Asker(
        process_group(task.processing_type),
        task.working_group,
        task.gshare,
        task.current_priority,
        question.chunk.is_merging,
    )


class Jumbo(PlainFilter):
    """Queues for jumbo jobs take no others."""

    name = "jumbo"
    stage = "jumbo job check"
    place = 600
    activities = _PRODUCTION
    reasons = (Reason("jumbo", "the queue is for jumbo jobs only"),)

    def applies(self, question: Question) -> bool:
        """Look at tasks without jumbo jobs; leave a single given queue alone."""
        return question.preassigned != "single" and not question.task.has_rule("NJ")

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse queues for jumbo jobs."""
        columns = question.columns
        return columns.refusals("jumbo", lambda: takes_jumbo_jobs(columns), rows)


class JumboEvents(PlainFilter):
    """Queues for jumbo jobs may want a number of events to be ready."""

    name = "jumbo events"
    stage = "jumbo events check"
    place = 610
    activities = _PRODUCTION
    reasons = (Reason("fewevents", "too few events are ready for a jumbo job"),)

    def applies(self, question: Question) -> bool:
        """Look at tasks with jumbo jobs whose events are known; leave a single given queue alone."""
        known = question.chunk.ready_events is not None
        return question.preassigned != "single" and question.task.has_rule("NJ") and known

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse where too few are ready."""
        columns, ready = question.columns, question.chunk.ready_events or 0
        few = ready < flag_numbers(columns, "min_events_for_jumbo")[rows]
        codes: Codes = takes_jumbo_jobs(columns)[rows] & few
        return codes

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the events ready and those wanted."""
        wanted = int(flag_numbers(question.columns, "min_events_for_jumbo")[row])
        return {"ready_events": question.chunk.ready_events, "minEventsForJumbo": wanted}


class DiskIO(PlainFilter):
    """A queue with too much disk traffic takes no tasks that make much themselves."""

    name = "diskIO"
    stage = "diskIO check"
    place = 700
    activities = _PRODUCTION
    reasons = (Reason("diskIO", "disk traffic of the queue and of the task are over the limit", hard=False),)

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse where both are over the limit."""
        if not question.task.disk_io:
            return None
        usage, limit, own = self._numbers(question)
        codes: Codes = (usage > limit) & (usage != 0) & (limit != 0) & (own > limit) & (own != 0)
        return codes[rows]

    def _numbers(self, question: Question) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        columns, task = question.columns, question.task
        default = question.config.amount("jobbroker.MAX_DISKIO_DEFAULT")
        usage = columns.unit_numbers_of("disk traffic", lambda unit: columns.world.disk_io.get(unit.name, 0))
        limit = columns.unit_numbers_of(
            ("disk traffic limit", default), lambda unit: unit.maxdiskio if unit.maxdiskio > 0 else default
        )
        own = np.full(len(columns), float(task.disk_io or 0))
        if question.asks_for_cores:
            cores = columns.unit_numbers_of("unit cores", lambda unit: unit.corecount)
            own = own / np.maximum(cores, 1)
            if question.rules.disk_io_per_core == "rounded_down":
                own = np.where(cores > 0, np.floor(own), own)
        return usage, limit, own

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return the traffic of both and the limit, kB/s per core."""
        usage, limit, own = self._numbers(question)
        return {"usage": float(usage[row]), "limit": float(limit[row]), "diskIO": float(own[row])}


class MaxIoIntensity(PlainFilter):
    """A queue may limit the I/O intensity of tasks."""

    name = "max_io_intensity"
    stage = "max IO intensity check"
    place = 1900
    activities = _PRODUCTION
    reasons = (Reason("max_io_intensity", "the task's I/O intensity is above what the queue takes"),)

    def applies(self, question: Question) -> bool:
        """Look at tasks that state it, merges left out."""
        return bool(question.task.io_intensity) and not question.chunk.is_merging

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Refuse above the limit."""
        return (question.task.io_intensity or 0) > flag_numbers(question.columns, "max_io_intensity")[rows]

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return intensity and limit, kB/s."""
        limit = float(flag_numbers(question.columns, "max_io_intensity")[row])
        return {"ioIntensity": question.task.io_intensity, "max_io_intensity": limit}


class EventService(PlainFilter):
    """Queues say by ``jobseed`` whether they take event service, everything else, or both."""

    name = "event service"
    stage = "EventService check"
    place = 1500
    activities = _PRODUCTION
    reasons = (
        Reason("es", "the queue takes no event service"),
        Reason("eshigh", "the queue takes event service of high priority only"),
        Reason("es_ucore", "event service does not go to single cores of a unified queue"),
        Reason("nones", "the queue takes event service only"),
    )

    def applies(self, question: Question) -> bool:
        """Leave a single given queue alone."""
        return question.preassigned != "single"

    def judge(self, question: Question, rows: Rows) -> Codes | None:
        """Compare the task with each queue's ``jobseed``."""
        columns, high = question.columns, question.is_high_priority
        if not question.task.is_event_service:
            only = columns.flags("only event service", lambda queue: queue.jobseed == "es")
            return columns.refusals("only event service", lambda: only * np.uint8(4), rows)

        def make() -> Codes:
            codes = np.zeros(len(columns), dtype=np.uint8)
            codes[columns.flags("core of many", lambda q: bool(q.resource_type) and q.corecount == 1)] = 3
            if not high:
                codes[columns.flags("high event service", lambda queue: queue.jobseed == "eshigh")] = 2
            codes[columns.flags("no event service", lambda queue: queue.jobseed == "std")] = 1
            return codes

        return columns.refusals(("event service", high), make, rows)

    def details(self, question: Question, row: int, reason: Reason) -> Details:
        """Return what the queue says."""
        queue = question.columns.queues[row]
        return {"jobseed": queue.jobseed, "eventService": question.task.event_service, "corecount": queue.corecount}
