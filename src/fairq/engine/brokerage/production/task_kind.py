"""Filters by the kind of task: its share, jumbo jobs, event service, disk traffic.

Source: docs/panda.md, Production filters.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from fairq.engine.brokerage.checks.disk_traffic import DiskIOCheck, MaxIoIntensityCheck
from fairq.engine.brokerage.checks.shares import ZeroShareCheck
from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import URGENCY, BrokerageRequest
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Floats
from fairq.engine.brokerage.pool.queue_kinds import flag_numbers, takes_jumbo_jobs

_PRODUCTION = frozenset({PRODUCTION})


class ZeroShare(ZeroShareCheck):
    """The queue's fair share policy must leave the task a share."""

    name = "zeroshare"
    activities = _PRODUCTION
    reads = (
        "preassigned",
        "task.label",
        "task.processing_type",
        "task.working_group",
        "task.gshare",
        "task.current_priority",
        "chunk.is_merging",
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt PanDA's shares for tests, except at a given queue with a label that is not production."""
        if not request.rules.tests_have_shares:
            return True
        if request.preassigned == "single" and request.task.label != "managed":
            return True
        return request.task.gshare not in {"test", "validation"}


class Jumbo(KeyedFilter):
    """Queues for jumbo jobs take no others."""

    name = "jumbo"
    stage = "jumbo job check"
    activities = _PRODUCTION
    reads = ("preassigned", "rule NJ")
    reasons = (Reason("jumbo"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to tasks without jumbo jobs; exempt a single given queue."""
        return not request.is_spared_alone and not request.task.has_rule("NJ")

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse queues for jumbo jobs."""
        return takes_jumbo_jobs(request.columns)


class JumboEvents(KeyedFilter):
    """Queues for jumbo jobs may require a number of ready events."""

    name = "jumbo events"
    stage = "jumbo events check"
    activities = _PRODUCTION
    reads = ("preassigned", "rule NJ", "chunk.ready_events")
    reasons = (Reason("fewevents"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to tasks with jumbo jobs whose events are known; exempt a single given queue."""
        known = request.chunk.ready_events is not None
        return not request.is_spared_alone and request.task.has_rule("NJ") and known

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the number of ready events."""
        return request.chunk.ready_events

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse where too few are ready."""
        columns, ready = request.columns, request.chunk.ready_events or 0
        few = ready < flag_numbers(columns, "min_events_for_jumbo")
        codes: Codes = takes_jumbo_jobs(columns) & few
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the events ready and those wanted."""
        wanted = int(flag_numbers(request.columns, "min_events_for_jumbo")[row])
        return {"ready_events": request.chunk.ready_events, "minEventsForJumbo": wanted}


class DiskIO(DiskIOCheck):
    """A queue with too much disk traffic accepts no tasks with much disk traffic."""

    name = "diskIO"
    activities = _PRODUCTION
    reads = ("task.disk_io", "task.core_count")
    reasons = (Reason("diskIO", permanent=False),)

    def own_traffic(self, request: BrokerageRequest) -> Floats:
        """Return the task's disk traffic per core; under the rules panda, it is rounded down."""
        own = super().own_traffic(request)
        if request.asks_for_cores and request.rules.disk_io_per_core == "rounded_down":
            cores = request.columns.unit_numbers_of("unit cores", lambda unit: unit.corecount)
            own = np.where(cores > 0, np.floor(own), own)
        return own


class MaxIoIntensity(MaxIoIntensityCheck):
    """A queue may limit the I/O intensity of tasks."""

    name = "max_io_intensity"
    activities = _PRODUCTION
    reads = ("task.io_intensity", "chunk.is_merging")


class EventService(KeyedFilter):
    """The ``jobseed`` of a queue says whether it accepts event service, other tasks, or both."""

    name = "event service"
    stage = "EventService check"
    activities = _PRODUCTION
    reads = ("preassigned", "task.event_service", "task.cloning", *URGENCY)
    reasons = (
        Reason("es"),
        Reason("eshigh"),
        Reason("es_ucore"),
        Reason("nones"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt a single given queue under the rules panda."""
        return not request.is_spared_alone

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return whether the task is event service, and of what priority."""
        return request.task.is_event_service, request.is_high_priority

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Compare the task with each queue's ``jobseed``."""
        columns = request.columns
        if not request.task.is_event_service:
            only = columns.flags("only event service", lambda queue: queue.jobseed == "es")
            return only * np.uint8(4)
        codes = np.zeros(len(columns), dtype=np.uint8)
        codes[columns.flags("core of many", lambda q: bool(q.resource_type) and q.corecount == 1)] = 3
        if not request.is_high_priority:
            codes[columns.flags("high event service", lambda queue: queue.jobseed == "eshigh")] = 2
        codes[columns.flags("no event service", lambda queue: queue.jobseed == "std")] = 1
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return what the queue says."""
        queue = request.columns.queues[row]
        return {"jobseed": queue.jobseed, "eventService": request.task.event_service, "corecount": queue.corecount}
