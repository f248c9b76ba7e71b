"""Filters by the state of a queue: status, pledge, activity and pilots (docs/panda.md, Production filters)."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import URGENCY, BrokerageRequest
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Booleans, Columns, Floats
from fairq.engine.brokerage.pool.queue_kinds import takes_jumbo_jobs
from fairq.engine.brokerage.pool.supply import pilot_counts, slots_asked
from fairq.engine.brokerage.production.nucleus import nucleus_of

INACTIVE_AFTER = 2 * 3600.0
"""Seconds without a job start after which a queue with waiting jobs counts as inactive."""

_PRODUCTION = frozenset({PRODUCTION})


def is_inactive(columns: Columns) -> Booleans:
    """Return for each row whether no job has started there for 2 hours; if unknown, the row is not inactive."""

    def inactive(name: str) -> bool:
        pilots = columns.world.pilots.get(name)
        return (
            pilots is not None
            and pilots.last_start is not None
            and columns.world.now - pilots.last_start > INACTIVE_AFTER
        )

    return columns.unit_flags("inactive", lambda unit: inactive(unit.name))


class Status(KeyedFilter):
    """Queues must be online unless they are given; under the rules panda, standby is accepted as well."""

    name = "status"
    stage = "status check"
    activities = _PRODUCTION
    reads = ("preassigned",)
    reasons = (Reason("status"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt given queues."""
        return request.preassigned is None

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse all others."""
        usable = frozenset({"online"} if request.rules.online_only else {"online", "standby"})
        return ~request.columns.flags(("usable", usable), lambda queue: queue.status in usable)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the status."""
        return {"status": request.columns.queues[row].status}


class Urgent(KeyedFilter):
    """Urgent jobs go to the nucleus only, if there is one; under the rules panda they avoid opportunistic queues."""

    name = "opportunistic"
    stage = "opportunistic check"
    activities = _PRODUCTION
    reads = (*URGENCY, "preassigned", "task.nucleus")
    reasons = (
        Reason("opportunistic"),
        Reason("not_in_nucleus"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to priorities of 800 and above and to scouts."""
        nowhere = request.rules.urgent_needs_nucleus and not request.task.nucleus
        return request.is_urgent and not request.is_spared and not nowhere

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the nucleus."""
        return request.task.nucleus

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse by the rules in force."""
        if request.rules.urgent_needs_nucleus:
            return np.where(nucleus_of(request).near, np.uint8(0), np.uint8(2))
        return request.columns.flags("no pledge", lambda queue: queue.pledgedcpu == -1)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the priority and the site of the queue."""
        task, queue = request.task, request.columns.queues[row]
        told: Details = {"currentPriority": task.current_priority, "scout": request.chunk.is_scout}
        if reason.tag == "opportunistic":
            return told | {"pledgedcpu": queue.pledgedcpu}
        return told | {"nucleus": task.nucleus, "site": queue.site}


class Inactive(KeyedFilter):
    """Urgent jobs and merges avoid queues where no job has started for 2 hours although jobs wait."""

    name = "inactive"
    stage = "slowness/inactive check"
    activities = _PRODUCTION
    reads = (*URGENCY, "preassigned", "chunk.is_merging", "rule MO")
    reasons = (Reason("inactive", permanent=False),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to urgent tasks, scouts, merges and tasks whose output will be merged."""
        urgent = request.is_urgent or request.chunk.is_merging or request.task.has_rule("MO")
        return urgent and not request.is_spared

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse the inactive queues that have jobs to start."""
        columns = request.columns
        waiting = columns.job_counts(None, "activated")
        if request.rules.inactive_with_starting:
            waiting = waiting + columns.job_counts(None, "starting")
        codes: Codes = is_inactive(columns) & (waiting > 0)
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return when a job last started and how many wait."""
        columns = request.columns
        pilots = columns.world.pilots[columns.queues[row].unit]
        return {
            "lastStart": pilots.last_start,
            "activated": int(columns.job_counts(None, "activated")[row]),
            "starting": int(columns.job_counts(None, "starting")[row]),
        }


class Pledge(KeyedFilter):
    """During a shortage of work, only pledged cores are used."""

    name = "pledge"
    stage = "pledge check"
    activities = _PRODUCTION
    reads = ("preassigned",)
    reasons = (
        Reason("non_pledged"),
        Reason("over_pledged"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply while ``WORK_SHORTAGE`` is set."""
        wanted = request.rules.work_shortage and request.config.flag("core.WORK_SHORTAGE")
        return wanted and not request.is_spared_alone

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse opportunistic queues and those beyond their pledge."""
        columns = request.columns
        pledged = columns.unit_numbers_of("pledgedcpu", lambda unit: unit.pledgedcpu)
        codes = np.zeros(len(columns), dtype=np.uint8)
        codes[(pledged > 0) & (used_cores(columns) > pledged)] = 2
        codes[pledged == -1] = 1
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return cores pledged and used."""
        columns = request.columns
        return {"pledgedcpu": columns.queues[row].pledgedcpu, "cores": int(used_cores(columns)[row])}


def used_cores(columns: Columns) -> Floats:
    """Return the cores of running and starting jobs of each row."""
    stats = columns.world.core_stats
    return columns.unit_numbers_of(
        "cores in use", lambda unit: sum(stats.get(unit.name, {}).get(state, 0) for state in ("running", "starting"))
    )


class NoPilot(KeyedFilter):
    """Queues must have had pilots in the last 3 hours."""

    name = "pilots"
    stage = "pilot check"
    activities = _PRODUCTION
    reads = ("preassigned", "is_express", "task.label", "task.gshare", "task.resource_type", "rule NJ")
    reasons = (Reason("nopilot", permanent=False),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt given queues under the rules panda."""
        return not request.is_spared

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return what the rules panda exempt."""
        task = request.task
        if request.rules.pilots_always:
            return None
        return _is_test(request) or (task.gshare, task.resource_type, task.has_rule("NJ"))

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse queues without pilots; the rules panda exempt tests, jumbo jobs and queues with numSlots."""
        task, columns = request.task, request.columns
        silent: Booleans = pilot_counts(columns) == 0
        if request.rules.pilots_always:
            return silent
        if _is_test(request):
            return None
        silent = silent & np.isnan(slots_asked(columns, task.gshare, task.resource_type))
        return silent & ~takes_jumbo_jobs(columns) if task.has_rule("NJ") else silent

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the count of pilots."""
        return {"nPilot": int(pilot_counts(request.columns)[row])}


def _is_test(request: BrokerageRequest) -> bool:
    return "test" in request.task.label and not request.is_express
