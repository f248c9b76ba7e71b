"""Filters of analysis by a queue's state, share, disk traffic, cores, GPUs, closed jobs and pilots.

Source: docs/panda.md, Analysis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairq.engine.brokerage.analysis.selection import given_rows, preassigned_rows, select
from fairq.engine.brokerage.checks.cores import CoresCheck
from fairq.engine.brokerage.checks.disk_traffic import DiskIOCheck, MaxIoIntensityCheck
from fairq.engine.brokerage.checks.shares import ZeroShareCheck
from fairq.engine.brokerage.flow.plugin import Codes, Details, PlainFilter, Reason, Rows
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.activity import ANALYSIS
from fairq.engine.brokerage.pool.columns import Floats
from fairq.engine.brokerage.pool.queue_kinds import has_flag
from fairq.engine.brokerage.pool.supply import pilot_counts
from fairq.engine.brokerage.pool.world import Failures
from fairq.engine.brokerage.software.architecture import read_architecture
from fairq.engine.brokerage.software.judging import ALL, Needs, SoftwareRules, judge

_ANALYSIS = frozenset({ANALYSIS})

CLOSED_TO_BROKERS = frozenset({"brokeroff", "test"})
"""States of queues that accept only tasks which name queues."""

HPO = "HO"
"""The two-letter rule of hyper parameter optimisation, which brings its own architecture."""


class Status(PlainFilter):
    """The queue must be online unless the task is pre-assigned to it.

    Under the rules panda, it must not be offline; brokeroff and test are accepted only if the task names queues.
    """

    name = "analysis status"
    stage = "status check"
    activities = _ANALYSIS
    reasons = (Reason("status"),)

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse by status."""
        columns, chosen = request.columns, select(request)
        if request.rules.online_only:
            online = columns.flags("online", lambda queue: queue.status == "online")
            refusals: Codes = ~(online | preassigned_rows(request))[rows]
            return refusals
        refused = columns.flags("offline", lambda queue: queue.status == "offline")[rows]
        if chosen.opens:
            return refused
        closed = columns.flags("brokeroff or test", lambda queue: queue.status in CLOSED_TO_BROKERS)[rows]
        if len(chosen.given) == 1:
            closed = closed & ~given_rows(request)[rows]
        return refused | closed

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the status."""
        return {"status": request.columns.queues[row].status}


class ZeroShare(ZeroShareCheck):
    """The queue's fair share policy must leave the task a share."""

    name = "analysis zeroshare"
    activities = _ANALYSIS

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply under the rules panda; exempt a single given queue."""
        return request.rules.analysis_zero_share and request.preassigned != "single"


class DiskIO(DiskIOCheck):
    """A queue with too much disk traffic accepts no tasks with much disk traffic."""

    name = "analysis diskIO"
    activities = _ANALYSIS
    reasons = (Reason("diskIO"),)


class MaxIoIntensity(MaxIoIntensityCheck):
    """A queue may limit the I/O intensity of tasks."""

    name = "analysis max_io_intensity"
    activities = _ANALYSIS


class Cores(CoresCheck):
    """The queue's slots must have as many cores as the task's jobs use."""

    name = "analysis cores"
    stage = "CPU core check"
    activities = _ANALYSIS


class GpuArchitecture(PlainFilter):
    """Queues with the flag ``gpu`` require a platform and published software (obsolete by PanDA's page)."""

    name = "gpu"
    stage = "architecture check"
    activities = _ANALYSIS
    reasons = (Reason("gpu_architecture"),)

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse queues with the flag that publish no software, and for tasks without a platform all of them."""
        columns = request.columns
        flagged = has_flag(columns, "gpu")
        if not flagged.any() or request.task.has_rule(HPO):
            return None
        platform = read_architecture(request.task.architecture, infer_cpu=request.rules.infer_cpu).sw_platform
        if not platform:
            return flagged[rows]
        needs = Needs(platform=platform, hardware_only=True)
        world = request.world

        def is_silent(name: str, releases: tuple[str, ...]) -> bool:
            entry, gpus = world.software.get(name), world.gpus.get(name, ())
            how = SoftwareRules.of(request.rules)
            judged = judge(needs, releases, entry, gpus, world.software.get(ALL), how=how)
            return judged.verdict != "accepted"

        silent = columns.unit_flags(
            ("gpu without software", request.rules.gpu_lists), lambda unit: is_silent(unit.name, unit.releases)
        )
        return (flagged & silent)[rows]

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return what the queue says and what the task asks for."""
        queue = request.columns.queues[row]
        return {"architecture": request.task.architecture, "releases": list(queue.releases)}


class Closed(PlainFilter):
    """Queues where jobs of the task were closed recently (under the rules panda)."""

    name = "closed"
    stage = "too many closed check"
    activities = _ANALYSIS
    reasons = (Reason("closed", passing=True),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply unless one queue is given or the chunk merges; the page counts failed and closed jobs together."""
        by_code = not request.rules.failures_everywhere
        return by_code and request.preassigned != "single" and not request.chunk.is_merging

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse where one was."""
        closed = ended_jobs(request).closed
        return closed[rows] > 0

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return their number."""
        return {"closed": int(ended_jobs(request).closed[row])}


class EndedJobs(NamedTuple):
    """A task's jobs that ended in the last hours, per row."""

    failed: Floats
    closed: Floats
    finished: Floats


def ended_jobs(request: BrokerageRequest) -> EndedJobs:
    """Return the task's jobs that ended at each row."""
    columns = request.columns
    known = request.world.failures.get(request.task.task_id, {})
    counts = np.zeros((3, len(columns.unit_names)))
    for name, numbers in known.items():
        if name in columns.unit_numbers:
            counts[:, columns.unit_numbers[name]] = Failures(*numbers)
    return EndedJobs(*counts[:, columns.unit_of])


class NoPilot(PlainFilter):
    """Queues where no pilot showed up for 3 hours."""

    name = "analysis pilots"
    stage = "pilot activity check"
    activities = _ANALYSIS
    reasons = (Reason("nopilot"),)

    def judge(self, request: BrokerageRequest, rows: Rows) -> Codes | None:
        """Refuse them; PanDA's code spares tests."""
        spared = request.task.label == "test" and not request.rules.pilots_always
        return None if spared else pilot_counts(request.columns)[rows] == 0

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the count of pilots."""
        return {"nPilot": int(pilot_counts(request.columns)[row])}
