"""Golden cases of what CRIC says of a queue: flags, fields, pseudo queues, connectivity, slots."""

from __future__ import annotations

from typing import Any

from tests.golden.compare import differences
from tests.golden.panda_defaults import QUEUE

from fairq.engine.brokerage.criteria.memory import matching_resource_types
from fairq.engine.brokerage.pool.columns import split_queue
from fairq.engine.brokerage.pool.connectivity import (
    connectivity_rules,
    read_queue_connectivity,
    read_task_connectivity,
)
from fairq.engine.brokerage.pool.cric import read_queue
from fairq.engine.brokerage.pool.flags import activities_of, read_flags
from fairq.engine.brokerage.pool.supply import num_slots, slot_tables
from fairq.engine.brokerage.pool.world import ANALYSIS, PRODUCTION, Queue, ResourceType, Slots

FLAGS = {
    "isGPU": "gpu",
    "useJumboJobs": "use_jumbo_jobs",
    "disable_reassign": "disable_reassign",
    "maxDiskPerCore": "max_disk_per_core",
    "jobChunkSize": "job_chunk_size",
    "bareNucleus": "bare_nucleus",
    "secondaryNucleus": "secondary_nucleus",
    "use_only_local_data": "use_only_local_data",
    "per_core_attr": "per_core_attr",
    "nSimEvents": "sim_events",
    "minEventsForJumbo": "min_events_for_jumbo",
    "max_io_intensity": "max_io_intensity",
    "allowed_processing": "allowed_processing",
    "excluded_processing": "excluded_processing",
}

FIELDS = {
    "coreCount": "corecount",
    "pledgedCPU": "pledgedcpu",
    "fairsharePolicy": "fairsharepolicy",
    "extra_queue_params": "params",
    "unified_name": "unit",
}
"""Names in the recordings that differ from those of the queue."""


def _value(queue: Queue, name: str) -> Any:
    value = getattr(queue, FIELDS.get(name, name))
    if isinstance(value, tuple):
        return list(value)
    return None if value == "" else value


def catchall(_: str, given: Any, wanted: Any) -> list[str]:
    flags = read_flags(given.get("catchall"), given.get("params"))
    found = {name: getattr(flags, FLAGS[name]) for name in wanted}
    return differences({k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}, wanted)


def queue_type(_: str, given: Any, wanted: Any) -> list[str]:
    queue = read_queue("Q", {**QUEUE, **given}).queue
    activities = activities_of(queue, read_flags(queue.catchall, queue.params))
    found = {
        "runs_production": PRODUCTION in activities,
        "runs_analysis": ANALYSIS in activities,
        "grandly_unified": activities == {PRODUCTION, ANALYSIS},
    }
    return differences(found, wanted)


def cric_to_queue(_: str, given: Any, wanted: Any) -> list[str]:
    queue = read_queue("Q", {**QUEUE, **given["cric"]}).queue
    # Whether a queue is unified was recorded before it is split, when PanDA does not know yet.
    wanted = {name: value for name, value in wanted.items() if name != "is_unified"}
    # An empty policy and no policy, no parameters and none of them, are one to fairq.
    same = {"fairsharePolicy": wanted.get("fairsharePolicy") or None}
    same |= {"extra_queue_params": wanted.get("extra_queue_params") or {}}
    wanted |= {name: value for name, value in same.items() if name in wanted}
    return differences({name: _value(queue, name) for name in wanted}, wanted)


def unified_split(_: str, given: Any, wanted: Any) -> list[str]:
    types = [ResourceType(row[0], row[1] or 0, *row[2:]) for row in given["types"]]
    queue = Queue(
        given["queue"],
        capability=given["capability"],
        corecount=given["corecount"],
        minrss=given["minrss"],
        maxrss=given["maxrss"],
        maxwdir=given.get("maxwdir", wanted[given["queue"]].get("maxwdir", 0)),
    )
    queues = [queue, *(split_queue(queue, types) if queue.is_unified else ())]
    found = {queue.name: {name: _value(queue, name) for name in wanted.get(queue.name, ())} for queue in queues}
    return differences(found, wanted)


def resource_type(_: str, given: Any, wanted: Any) -> list[str]:
    types = [ResourceType(row[0], row[1] or 0, *row[2:]) for row in given["types"]]
    task = (given.get(name) for name in ("coreCount", "ramCount", "baseRamCount", "ramUnit"))
    return differences(matching_resource_types(*task, types), wanted)


def queue_connectivity(_: str, given: Any, wanted: Any) -> list[str]:
    offered = read_queue_connectivity(given["wnconnectivity"])
    return differences({"connectivity": offered.network, "ip_stack": offered.ip_stack}, wanted)


def task_connectivity(_: str, given: Any, wanted: Any) -> list[str]:
    asked = read_task_connectivity(given["ipConnectivity"])
    rules = ",".join(f"{code}={value}" for code, value in connectivity_rules(asked).items())
    found = {"connectivity": asked.network, "ip_stack": asked.ip_stack, "splitRule": rules or None}
    return differences(found, wanted)


def slots_lookup(_: str, given: Any, wanted: Any) -> list[str]:
    tables = slot_tables((Slots("Q", share, kind, number) for share, kind, number in given["slots"]), now=0)
    return differences(num_slots(tables.get("Q", {}), given["gshare"], given["resource_type"]), wanted)


RUNNERS = {
    "catchall": catchall,
    "queue_type": queue_type,
    "cric_to_queue": cric_to_queue,
    "unified_split": unified_split,
    "resource_type": resource_type,
    "wnconnectivity_queue_parse": queue_connectivity,
    "ipconnectivity_task_parse": task_connectivity,
    "num_slots_lookup": slots_lookup,
}
