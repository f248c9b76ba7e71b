"""Load tasks with the chunk of input to be brokered, as the engine needs them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fairq.brokerdata.work import INPUTS, TASKS
from fairq.engine.brokerage.jobs.resource_types import matching_resource_types
from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset, File, Task, parse_rules
from fairq.engine.brokerage.pool.model import ResourceType
from fairq.state import broker_data
from fairq.state.connection import State

_FEW = 500
"""Maximum number of tasks for which inputs are looked up one by one."""

_FIELDS = {
    "task_id": "jediTaskID",
    "vo": "vo",
    "label": "prodSourceLabel",
    "gshare": "gshare",
    "working_group": "workingGroup",
    "user": "userName",
    "task_priority": "taskPriority",
    "current_priority": "currentPriority",
    "processing_type": "processingType",
    "resource_type": "resource_type",
    "cloud": "cloud",
    "nucleus": "nucleus",
    "site": "site",
    "core_count": "coreCount",
    "max_core_count": "maxCoreCount",
    "merge_core_count": "mergeCoreCount",
    "ram_count": "ramCount",
    "ram_unit": "ramUnit",
    "base_ram_count": "baseRamCount",
    "merge_ram_count": "mergeRamCount",
    "cpu_time": "cpuTime",
    "cpu_time_unit": "cpuTimeUnit",
    "cpu_efficiency": "cpuEfficiency",
    "base_walltime": "baseWalltime",
    "walltime": "walltime",
    "walltime_unit": "walltimeUnit",
    "out_disk_count": "outDiskCount",
    "out_disk_unit": "outDiskUnit",
    "work_disk_count": "workDiskCount",
    "work_disk_unit": "workDiskUnit",
    "io_intensity": "ioIntensity",
    "disk_io": "diskIO",
    "architecture": "architecture",
    "trans_home": "transHome",
    "trans_uses": "transUses",
    "container_name": "container_name",
    "rules": "splitRule",
    "event_service": "eventService",
    "cloning": "cloning",
    "frozen_time": "frozenTime",
    "parameters": "parameters",
    "changed": "modificationTime",
}
"""The column of each field of a task."""

_CHUNK = ("isMerging", "scout", "chunkRamCount", "readyEvents")


class Brokered(NamedTuple):
    """A task and the chunk of its input; *status* is its former status."""

    task: Task
    chunk: Chunk
    status: str


def load_brokered(state: State, types: Sequence[ResourceType], numbers: Iterable[int] | None = None) -> list[Brokered]:
    """Return the tasks with these *numbers* (None: all), each once, in order of number."""
    at = [TASKS.positions[column] for column in _FIELDS.values()]
    chunk_at = [TASKS.positions[column] for column in _CHUNK]
    status_at = TASKS.positions["status"]
    wanted = None if numbers is None else set(numbers)
    if wanted is None or len(wanted) > _FEW:
        rows = [row for row in broker_data.load(state, TASKS) if wanted is None or row[0] in wanted]
    else:
        rows = broker_data.select(state, TASKS, "jediTaskID", sorted(wanted))
    datasets = _datasets(state, [row[0] for row in rows])
    return [
        Brokered(
            _task([row[one] for one in at], types),
            Chunk(tuple(datasets.get(row[0], ())), *(row[one] for one in chunk_at)),
            row[status_at],
        )
        for row in rows
    ]


def _task(values: list[Any], types: Sequence[ResourceType]) -> Task:
    fields = dict(zip(_FIELDS, values, strict=True))
    fields["rules"] = parse_rules(fields["rules"])
    if fields["current_priority"] is None:
        fields["current_priority"] = fields["task_priority"]
    if fields["resource_type"] is None:
        found = matching_resource_types(
            fields["core_count"], fields["ram_count"], fields["base_ram_count"], fields["ram_unit"], types
        )
        fields["resource_type"] = found[0] if found else None
    return Task(**fields)


def _datasets(state: State, tasks: list[int]) -> dict[int, list[Dataset]]:
    if len(tasks) <= _FEW:
        rows = broker_data.select(state, INPUTS, "task", tasks)
    else:
        wanted = set(tasks)
        rows = [row for row in broker_data.load(state, INPUTS) if row[0] in wanted]
    placed: dict[int, list[tuple[int, str, Dataset]]] = defaultdict(list)
    for task, name, position, kind, distributed, site, created, modified, files in rows:
        dataset = Dataset(name, _files(files), distributed, kind, site, created, modified)
        placed[task].append((position, name, dataset))
    return {
        task: [one[2] for one in (sorted(found, key=lambda one: one[:2]) if len(found) > 1 else found)]
        for task, found in placed.items()
    }


def _files(files: list[dict[str, Any]]) -> tuple[File, ...]:
    return tuple([
        File(one["lfn"], one.get("fsize", 0), one.get("nEvents"), one.get("startEvent"), one.get("endEvent"))
        for one in files
    ])  # fmt: skip
