"""Filters by the state of a queue: status, pledge, activity and pilots (docs/panda.md, Production filters)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.flow.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
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


class Status(PlainFilter):
    """Queues must be online unless they are given; under the rules panda, standby is accepted as well."""

    name = "status"
    stage = "status check"
    activities = _PRODUCTION
    reasons = (Reason("status"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt given queues."""
        return request.preassigned is None

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse all others."""
        columns = request.columns
        usable = frozenset({"online"} if request.rules.online_only else {"online", "standby"})
        return columns.refusals(
            ("status", usable), lambda: ~columns.flags(("usable", usable), lambda queue: queue.status in usable), rows
        )

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the status."""
        return {"status": request.columns.queues[row].status}


class Urgent(PlainFilter):
    """Urgent jobs go to the nucleus only, if there is one; under the rules panda they avoid opportunistic queues."""

    name = "opportunistic"
    stage = "opportunistic check"
    activities = _PRODUCTION
    reasons = (
        Reason("opportunistic"),
        Reason("not_in_nucleus"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to priorities of 800 and above and to scouts."""
        nowhere = request.rules.urgent_needs_nucleus and not request.task.nucleus
        return request.is_urgent and not request.is_spared and not nowhere

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse by the rules in force."""
        columns = request.columns
        if request.rules.urgent_needs_nucleus:
            near = nucleus_of(request).near[rows]
            return np.where(near, np.uint8(0), np.uint8(2))
        return columns.refusals(
            "opportunistic", lambda: columns.flags("no pledge", lambda queue: queue.pledgedcpu == -1), rows
        )

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the priority and the site of the queue."""
        task, queue = request.task, request.columns.queues[row]
        told: Details = {"currentPriority": task.current_priority, "scout": request.chunk.is_scout}
        if reason.tag == "opportunistic":
            return told | {"pledgedcpu": queue.pledgedcpu}
        return told | {"nucleus": task.nucleus, "site": queue.site}


class Inactive(PlainFilter):
    """Urgent jobs and merges avoid queues where no job has started for 2 hours although jobs wait."""

    name = "inactive"
    stage = "slowness/inactive check"
    activities = _PRODUCTION
    reasons = (Reason("inactive", permanent=False),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply to urgent tasks, scouts, merges and tasks whose output will be merged."""
        urgent = request.is_urgent or request.chunk.is_merging or request.task.has_rule("MO")
        return urgent and not request.is_spared

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse the inactive queues that have jobs to start."""
        columns, with_starting = request.columns, request.rules.inactive_with_starting

        def make() -> Booleans:
            waiting = columns.job_counts(None, "activated")
            if with_starting:
                waiting = waiting + columns.job_counts(None, "starting")
            return is_inactive(columns) & (waiting > 0)

        return columns.refusals(("inactive", with_starting), make, rows)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return when a job last started and how many wait."""
        columns = request.columns
        pilots = columns.world.pilots[columns.queues[row].unit]
        return {
            "lastStart": pilots.last_start,
            "activated": int(columns.job_counts(None, "activated")[row]),
            "starting": int(columns.job_counts(None, "starting")[row]),
        }


class Pledge(PlainFilter):
    """During a shortage of work, only pledged cores are used."""

    name = "pledge"
    stage = "pledge check"
    activities = _PRODUCTION
    reasons = (
        Reason("non_pledged"),
        Reason("over_pledged"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply while ``WORK_SHORTAGE`` is set."""
        wanted = request.rules.work_shortage and request.config.flag("core.WORK_SHORTAGE")
        return wanted and not request.is_spared_alone

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse opportunistic queues and those beyond their pledge."""
        columns = request.columns
        pledged = columns.unit_numbers_of("pledgedcpu", lambda unit: unit.pledgedcpu)

        def make() -> Codes:
            codes = np.zeros(len(columns), dtype=np.uint8)
            codes[(pledged > 0) & (used_cores(columns) > pledged)] = 2
            codes[pledged == -1] = 1
            return codes

        return columns.refusals("pledge", make, rows)

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


class NoPilot(PlainFilter):
    """Queues must have had pilots in the last 3 hours."""

    name = "pilots"
    stage = "pilot check"
    activities = _PRODUCTION
    reasons = (Reason("nopilot", permanent=False),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt given queues under the rules panda."""
        return not request.is_spared

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse queues without pilots; the rules panda exempt tests, jumbo jobs and queues with numSlots."""
        task, columns = request.task, request.columns
        if request.rules.pilots_always:
            return columns.refusals("no pilots", lambda: pilot_counts(columns) == 0, rows)
        if "test" in task.label and not request.is_express:
            return None
        jumbo = task.has_rule("NJ")

        def make() -> Codes:
            asked = slots_asked(columns, task.gshare, task.resource_type)
            silent: Booleans = (pilot_counts(columns) == 0) & np.isnan(asked)
            return silent & ~takes_jumbo_jobs(columns) if jumbo else silent

        return columns.refusals(("pilots", task.gshare, task.resource_type, jumbo), make, rows)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the count of pilots."""
        return {"nPilot": int(pilot_counts(request.columns)[row])}
