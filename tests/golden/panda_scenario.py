"""A recorded scenario of PanDA's broker as fairq's engine takes it: the pool, the task and the chunk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.golden.panda_defaults import (
    ANALYSIS_TASK,
    CHUNK,
    PILOTS,
    QUEUE,
    QUOTA,
    RELATION,
    RESOURCE_TYPES,
    STORAGE,
    TASK,
    USER_TOTALS,
)

from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset, File, Task, parse_rules
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.cric import read_queue
from fairq.engine.brokerage.pool.world import (
    Failures,
    LinkMetric,
    Pilots,
    Quota,
    Relation,
    ResourceType,
    Slots,
    Storage,
    UserJobs,
    UserTotals,
    World,
)

NOW = 2_000_000_000.0
HOUR = 3600.0

_TASK_FIELDS = {
    "jediTaskID": "task_id",
    "vo": "vo",
    "prodSourceLabel": "label",
    "gshare": "gshare",
    "workingGroup": "working_group",
    "userName": "user",
    "taskPriority": "task_priority",
    "currentPriority": "current_priority",
    "processingType": "processing_type",
    "resource_type": "resource_type",
    "cloud": "cloud",
    "nucleus": "nucleus",
    "site": "site",
    "coreCount": "core_count",
    "mergeCoreCount": "merge_core_count",
    "ramCount": "ram_count",
    "ramUnit": "ram_unit",
    "baseRamCount": "base_ram_count",
    "mergeRamCount": "merge_ram_count",
    "cpuTime": "cpu_time",
    "cpuTimeUnit": "cpu_time_unit",
    "cpuEfficiency": "cpu_efficiency",
    "baseWalltime": "base_walltime",
    "walltime": "walltime",
    "walltimeUnit": "walltime_unit",
    "outDiskCount": "out_disk_count",
    "outDiskUnit": "out_disk_unit",
    "workDiskCount": "work_disk_count",
    "workDiskUnit": "work_disk_unit",
    "ioIntensity": "io_intensity",
    "diskIO": "disk_io",
    "architecture": "architecture",
    "transHome": "trans_home",
    "transUses": "trans_uses",
    "container_name": "container_name",
    "eventService": "event_service",
}


def task_of(given: Mapping[str, Any], *, analysis: bool = False) -> Task:
    """Return the task of a scenario."""
    fields = {**(ANALYSIS_TASK if analysis else TASK), **(given.get("task") or {})}
    frozen = fields.get("frozen_hours_ago")
    return Task(
        **{own: fields.get(theirs) for theirs, own in _TASK_FIELDS.items()},
        rules=parse_rules(fields.get("splitRule")),
        frozen_time=None if frozen is None else NOW - frozen * HOUR,
        parameters=given.get("task_params") or {},
    )


def chunk_of(given: Mapping[str, Any]) -> Chunk:
    """Return the chunk of a scenario."""
    fields = {**CHUNK, **(given.get("chunk") or {})}
    distributed = set(given.get("distributed") or ())
    datasets = tuple(
        Dataset(
            dataset["name"],
            tuple(_file(entry) for entry in dataset["files"]),
            distributed=dataset["name"] in distributed,
            type=dataset.get("type", "input"),
            site=dataset.get("site") or "",
        )
        for dataset in fields.get("datasets") or ()
    )
    return Chunk(datasets, fields["isMerging"], bool(fields["scout"]), fields["ramCount"], fields.get("ready_events"))


def _file(entry: Mapping[str, Any]) -> File:
    return File(
        entry["lfn"], entry.get("fsize") or 0, entry.get("nEvents"), entry.get("startEvent"), entry.get("endEvent")
    )


def world_of(given: Mapping[str, Any], task: Task) -> World:
    """Return the pool of a scenario."""
    queues = {
        name: read_queue(
            name, {**QUEUE, **entry["cric"]}, role=entry.get("role", "satellite"), site=entry["site"]
        ).queue
        for name, entry in given["queues"].items()
    }
    storages = {name: _storage(name, {**STORAGE, **entry}) for name, entry in given["storages"].items()}
    relations = {
        name: tuple(_relation({**RELATION, **each}) for each in entry["storages"])
        for name, entry in given["queues"].items()
    }
    own = given.get("task_rt_per_site") or {}
    metrics = given.get("metrics") or {}
    quota = {**QUOTA, **(given.get("quota") or {})}
    totals = {**USER_TOTALS, **(given.get("user_totals") or {})}
    owner = task.working_group or task.user or ""
    remaining = metrics.get("user_eval", {}).get("rem_slots_A")
    task_class = metrics.get("task_eval", {}).get("class")
    return World(
        now=NOW,
        queues=queues,
        resource_types=tuple(ResourceType(*row) for row in given.get("resource_types") or RESOURCE_TYPES),
        storages=storages,
        relations=relations,
        links=tuple(LinkMetric(site, task.nucleus or "", key, value) for site, key, value in given.get("links") or ()),
        job_stats=given.get("job_stats") or {},
        job_stats_by_type={
            name: {task.gshare or "": types} for name, types in (given.get("job_stats_rt") or {}).items()
        },
        transferring_by_nucleus=given.get("transferring_by_nucleus") or {},
        core_stats=given.get("core_stats") or {},
        disk_io=given.get("diskio") or {},
        pilots=_pilots(given),
        workers=given.get("worker_stats") or {},
        slots=tuple(Slots(*row) for row in given.get("harvester_slots") or ()),
        to_running_rates={name: _rate(rate) for name, rate in (given.get("to_run_rate") or {}).items()},
        user_stats={
            name: {
                share: {user: UserJobs(n.get("nQueue", 0), n.get("nRunning", 0)) for user, n in users.items()}
                for share, users in shares.items()
            }
            for name, shares in (given.get("user_job_stats") or {}).items()
        },
        software=given.get("sw_map") or {},
        gpus={name: tuple(entries) for name, entries in (given.get("gpus") or {}).items()},
        cpu_levels={
            name: {level: numbers["pct_within_queue"] for level, numbers in levels.items()}
            for name, levels in (given.get("arch_levels") or {}).items()
        },
        replicas={
            dataset: {rse: frozenset(files) for rse, files in places.items()}
            for dataset, places in (given.get("files_at") or {}).items()
        },
        locked=frozenset(given.get("locked") or ()),
        site_classes=metrics.get("site_class") or {},
        share_usage={
            # The share above all of a user's is recorded by its equivalent usage.
            share: numbers["eqiv_usage_perc"] if "eqiv_usage_perc" in numbers else numbers["usage_perc"]
            for share, numbers in (metrics.get("gshare_preference") or {}).items()
        },
        user_totals={
            owner: UserTotals(totals["nQueuedJobs"], totals["nQueuedCores"], totals["nRunJobs"], totals["nRunCores"])
        },
        quotas={owner: Quota(quota["ok"], quota["near"], frozenset(quota["endpoints_over"]))},
        remaining_slots={} if remaining is None else {task.user or "": remaining},
        task_classes={} if task_class is None else {task.task_id: task_class},
        failures={
            task.task_id: {
                name: Failures(n.get("failed", 0), n.get("closed", 0), n.get("finished", 0))
                for name, n in (given.get("failure_counts") or {}).items()
            }
        },
        own_resource_types={task.task_id: {name: frozenset(types) for name, types in own.items()}},
        used_queues={task.task_id: frozenset(given.get("sites_used") or ())},
        config=Config(given.get("config") or {}),
    )


def _storage(name: str, entry: Mapping[str, Any]) -> Storage:
    return Storage(
        name,
        entry.get("site", ""),
        entry["type"],
        entry["is_tape"],
        entry["space_free"] or 0,
        entry["space_expired"] or 0,
        entry["space_min_free"] or 0,
        entry["space_unavailable"] or 0,
        entry["detailed_status"],
        entry["blacklisted_read"] == "Y",
    )


def _relation(entry: Mapping[str, Any]) -> Relation:
    return Relation(
        entry["rse"],
        frozenset(entry["roles"].split(",")),
        entry["default_read"],
        entry["default_write"],
        entry["scope"],
        entry["order_read"],
        entry["order_write"],
    )


def _pilots(given: Mapping[str, Any]) -> dict[str, Pilots]:
    counts, inactive = given.get("pilots") or {}, set(given.get("inactive") or ())
    found = {}
    for name in given["queues"]:
        started = NOW - 3 * HOUR if name in inactive else None
        numbers = counts.get(name, PILOTS)
        if numbers is not None:
            found[name] = Pilots(numbers["getJob"], numbers["updateJob"], started)
        elif started is not None:
            found[name] = Pilots(0, 0, started)
    return found


def _rate(rate: Any) -> float:
    return sum(rate.values()) if isinstance(rate, Mapping) else rate
