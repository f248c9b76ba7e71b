"""Which rules hold where PanDA's brokerage page and its program differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["documented", "panda"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one run. A field without a docstring of its own is the setting ``broker.FIELD``.

    The settings' table of rule points holds what each field decides, what the page and the program say about it, and
    its value under both sets of rules (docs/panda.md). ``name`` is ``documented`` or ``panda``; every result names it.
    """

    name: Name
    # candidates and the state of queues
    exclude_test_queues: bool
    urgent_needs_nucleus: bool
    disk_io_per_core: Literal["exact", "rounded_down"]
    # what a job needs
    base_memory_always: bool
    plain_minimum_walltime: bool
    gpu_lists: bool
    infer_cpu: bool
    # weights
    throughput: Literal["freshest", "unbroken"]
    network_weight_always: bool
    retry_by_activity: bool
    # analysis
    analysis_weight: Literal["ratio", "classes"]
    analysis_queue_ratio: bool
    failures_everywhere: bool
    # timeouts
    fast_rebrokerage_all: bool
    pauses_stop_timeouts: bool
    holding_from_800: bool
    transferring_heartbeat_of_all: bool
    transfer_days_of_queue: bool
