"""Filters by what a job needs of a slot: cores, memory, scratch, time, network (docs/panda.md, Production filters)."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from fairq.engine.brokerage.checks.cores import CoreMode, CoresCheck
from fairq.engine.brokerage.checks.memory import MemoryCheck
from fairq.engine.brokerage.checks.scratch_disk import ScratchCheck, scratch_rules
from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import URGENCY, BrokerageRequest
from fairq.engine.brokerage.jobs.scratch_needed import ProductionScratch, production_scratch
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.connectivity import (
    Connectivity as Network,
)
from fairq.engine.brokerage.pool.connectivity import (
    connectivity_of_rules,
    has_network,
    is_connected,
    read_queue_connectivity,
)

_PRODUCTION = frozenset({PRODUCTION})


class Cores(CoresCheck):
    """The queue's slots must have as many cores as the task's jobs, or its merges, use."""

    name = "cores"
    stage = "core count check"
    activities = _PRODUCTION
    reads = (
        "preassigned",
        "chunk.is_merging",
        "task.merge_core_count",
        "task.core_count",
        "task.max_core_count",
        "rule CC",
        *URGENCY,
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Exempt a single given queue."""
        return not request.is_spared_alone

    def cores(self, request: BrokerageRequest) -> int | None:
        """Return the cores of merges where jobs merge, if they are stated."""
        task = request.task
        merges = request.chunk.is_merging and task.merge_core_count is not None
        return task.merge_core_count if merges else task.core_count

    def mode(self, request: BrokerageRequest) -> CoreMode:
        """Return which slots are suitable: for urgent tasks that accept any number of cores, multi-core slots only."""
        mode = super().mode(request)
        return "multi" if mode == "any" and request.is_high_priority else mode


class Memory(MemoryCheck):
    """The memory of a job must be between the minimum and the maximum of the queue's slots, both included."""

    name = "memory"
    activities = _PRODUCTION
    reads = (
        "chunk.is_merging",
        "chunk.ram_count",
        "task.ram_count",
        "task.merge_ram_count",
        "task.base_ram_count",
        "task.ram_unit",
    )


class ScratchDisk(ScratchCheck):
    """The files of a job must fit into its part of the scratch disk; a task may require that input is read directly."""

    name = "scratch"
    stage = "disk check"
    activities = _PRODUCTION

    def stated(self, request: BrokerageRequest) -> ProductionScratch:
        """Return what the task states of its jobs."""
        return production_scratch(request.task, scratch_rules(request))


class Connectivity(KeyedFilter):
    """Worker nodes must have the network access that the task needs."""

    name = "network"
    stage = "network check"
    activities = _PRODUCTION
    reads = ("preassigned", "rule IP", "rule IK")
    reasons = (Reason("network"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply where the task needs a network."""
        return not request.is_spared_alone and _asked(request) != Network()

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the rules that ask for a network."""
        return request.task.rules.get("IP"), request.task.rules.get("IK")

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Compare what is offered with what is asked."""
        asked = _asked(request)
        columns, exact = request.columns, request.rules.ip_stack_of_queue
        offered = {
            text: is_connected(read_queue_connectivity(text), asked, ip_stack_of_queue=exact)
            for text in _connectivities(columns)
        }
        return np.array([not offered[queue.wnconnectivity] for queue in columns.queues], dtype=np.bool_)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return what both say; where only the IP stack differs, those of both."""
        asked, text = _asked(request), request.columns.queues[row].wnconnectivity
        offered = read_queue_connectivity(text)
        told: Details = {"wnconnectivity": text, "ipConnectivity": str(asked)}
        if has_network(offered, asked):
            told |= {"ip_stack": offered.ip_stack or "unset", "task_ip_stack": asked.ip_stack or "unset"}
        return told


def _asked(request: BrokerageRequest) -> Network:
    rules, exact = request.task.rules, request.rules.ip_stack_of_queue
    return connectivity_of_rules(rules.get("IP"), rules.get("IK"), ip_stack_of_queue=exact)


def _connectivities(columns: Columns) -> frozenset[str]:
    return frozenset(queue.wnconnectivity for queue in columns.queues)
