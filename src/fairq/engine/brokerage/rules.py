"""Which rules hold where PanDA's brokerage page and its code differ (reference panda 15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Name = Literal["documented", "panda"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one run; each field is a row of reference panda section 15, by its number there.

    The defaults are the rules ``documented``; `PANDA` is today's code.

    Args:
        name: ``documented`` or ``panda``, named in every result.
        exclude_test_queues: 1: queues with *test* in their name are no candidates unless pre-assigned.
        urgent_needs_nucleus: 5: from priority 800 and for scouts only queues of the nucleus; False: only
            opportunistic queues are refused, and the nucleus counts a hundredfold from priority 900.
        disk_io_per_core: 9: divide a task's diskIO by the cores of the queue, or divide and round down.
        throughput: 12: the freshest of 1h, 1d and 1w, or the last one of the unbroken series 1w, 1d, 1h.
        network_weight_always: 14: apply the network weight whatever ``NW_ACTIVE`` says.
        base_memory_always: 16: add the memory that does not depend on cores for every unit, not only for those per core
            in production, and do not round the result down.
        plain_minimum_walltime: 17: without HS06 a scout or a merge needs 24 hours, not 24 hours times 10.
        gpu_lists: 25: compare GPU vendor and model with the queue's lists where no worker node has reported its GPUs.
        infer_cpu: 26: take a CPU specification from the platform's name if none is given.
        analysis_weight: 27: (running + 1) / (queued + 1), or the one by classes and remaining queue length.
        fast_rebrokerage_all: 29: rebroker the whole excess; False: one job less.
        analysis_queue_ratio: 30: skip a queue with more than 2 * max(20, running) jobs queued.
        failures_everywhere: 34: look at a task's failed jobs on every queue, not only long ones with jobs of the user.
        pauses_stop_timeouts: 35: a paused queue and ``disableReassign`` stop every timeout, not only some.
        holding_from_800: 36: the short limit of holding jobs is for priority 800 too.
        transferring_heartbeat_of_all: 37: heartbeats of transferring jobs with a sub-status count for all labels.
        retry_by_activity: 39: a task without queues waits 60 minutes in production, 20 in analysis; or 60 in both.
    """

    name: Name = "documented"
    exclude_test_queues: bool = True
    urgent_needs_nucleus: bool = True
    disk_io_per_core: Literal["exact", "rounded_down"] = "exact"
    throughput: Literal["freshest", "unbroken"] = "freshest"
    network_weight_always: bool = True
    base_memory_always: bool = True
    plain_minimum_walltime: bool = True
    gpu_lists: bool = True
    infer_cpu: bool = False
    analysis_weight: Literal["ratio", "classes"] = "ratio"
    fast_rebrokerage_all: bool = True
    analysis_queue_ratio: bool = True
    failures_everywhere: bool = True
    pauses_stop_timeouts: bool = True
    holding_from_800: bool = True
    transferring_heartbeat_of_all: bool = True
    retry_by_activity: bool = True


DOCUMENTED = Rules()
"""What the page says, settled as section 15 recommends."""

PANDA = Rules(
    name="panda",
    exclude_test_queues=False,
    urgent_needs_nucleus=False,
    disk_io_per_core="rounded_down",
    throughput="unbroken",
    network_weight_always=False,
    base_memory_always=False,
    plain_minimum_walltime=False,
    gpu_lists=False,
    infer_cpu=True,
    analysis_weight="classes",
    fast_rebrokerage_all=False,
    analysis_queue_ratio=False,
    failures_everywhere=False,
    pauses_stop_timeouts=False,
    holding_from_800=False,
    transferring_heartbeat_of_all=False,
    retry_by_activity=False,
)
"""What panda-server does today."""

RULES: dict[str, Rules] = {"documented": DOCUMENTED, "panda": PANDA}
