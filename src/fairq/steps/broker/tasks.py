"""Load tasks with the chunk of input to be brokered, as the engine needs them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec import MsgspecError
from msgspec.json import Decoder

from fairq.columns.broker.work import INPUTS, TASKS
from fairq.engine.brokerage.criteria.memory import matching_resource_types
from fairq.engine.brokerage.jobs.tasks import Case, Chunk, Dataset, File, Files, Task, parse_rules
from fairq.engine.brokerage.pool.world import ResourceType
from fairq.state import broker_data, rows
from fairq.state.connection import State
from fairq.state.rows import objects_in

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

_NEEDS = ("core_count", "ram_count", "base_ram_count", "ram_unit")
"""The fields that determine the resource type of a task without a stated one."""

_CHUNK = ("isMerging", "scout", "chunkRamCount", "readyEvents")


class Brokered(NamedTuple):
    """A task with the chunk of its input; its former status, and whether it was assigned to queues."""

    case: Case
    status: str
    was_assigned: bool


def each_brokered(
    state: State, types: Sequence[ResourceType], numbers: Collection[int] | None = None
) -> Iterator[Brokered]:
    """Yield the tasks with these *numbers* (None: all), each once, in order of number.

    Tasks and their input are read lazily in batches, so that their data is still in the processor's caches and the
    memory of finished tasks is reused.
    """
    inputs, names = _Inputs(state, numbers), [*_FIELDS.values(), *_CHUNK, "status", "assigned"]
    # Many tasks share a text or needs, so each is parsed once.
    rules, own_type = cache(parse_rules), cache(partial(_own_type, types=types))
    for columns in broker_data.columns_of_each(state, TASKS, names, numbers):
        fields: dict[str, Iterable[Any]] = {field: columns[column] for field, column in _FIELDS.items()}
        # Missing values are derived from other fields.
        fields["rules"] = map(rules, fields["rules"])
        fields["current_priority"] = map(_value_or_default, fields["current_priority"], fields["task_priority"])
        needs = zip(*(fields[name] for name in _NEEDS), strict=True)
        fields["resource_type"] = (
            stated if stated is not None else own_type(*need)
            for stated, need in zip(fields["resource_type"], needs, strict=True)
        )
        tasks = map(Task, *(fields[name] for name in Task.__struct_fields__))
        chunks = map(Chunk, map(inputs.of, columns["jediTaskID"]), *(columns[column] for column in _CHUNK))
        yield from map(Brokered, map(Case, tasks, chunks), columns["status"], map(bool, columns["assigned"]))


def datasets_of(state: State, numbers: Collection[int]) -> list[str]:
    """Return the names of the datasets that tasks read."""
    columns = broker_data.columns_of_each(state, INPUTS, ["task", "dataset"], numbers)
    return [name for batch in columns for name in batch["dataset"]]


def _value_or_default(value: int | None, default: int) -> int:
    return default if value is None else value


def _own_type(
    cores: int | None, ram: float | None, base: float | None, unit: str | None, *, types: Sequence[ResourceType]
) -> str | None:
    return next(iter(matching_resource_types(cores, ram, base, unit, types)), None)


class _Inputs:
    """The datasets that tasks with these *numbers* (None: all) read; `of` is called in order of task number."""

    def __init__(self, state: State, numbers: Collection[int] | None) -> None:
        self._by_task = groupby(_placed_inputs(state, numbers), itemgetter(0))
        self._next = next(self._by_task, _NONE_LEFT)

    def of(self, number: int) -> tuple[Dataset, ...]:
        """Return the datasets of the task with this *number*."""
        task, placed = self._next
        # Skip tasks that are not brokered.
        while task < number:
            task, placed = self._next = next(self._by_task, _NONE_LEFT)
        if task != number:
            return ()
        # The sort is stable: datasets of equal position stay in order of name.
        return tuple([dataset for _, _, dataset in sorted(placed, key=itemgetter(1))])


_Placed = tuple[int, int, Dataset]
"""The number of a task, the position of one of its datasets, and the dataset."""

_NONE_LEFT: tuple[float, Iterable[_Placed]] = inf, ()
"""Marks the end: stands for the next task with input, and its input."""

_INPUT = ("task", "position", "dataset", "files", "distributed", "type", "site", "created", "modified", "attributes")
"""The columns of inputs; after the position, in the order of the fields of `Dataset`."""


def _placed_inputs(state: State, numbers: Collection[int] | None) -> Iterator[_Placed]:
    """Yield the input of the tasks with these *numbers* (None: all), in order of task and name."""
    for columns in broker_data.columns_of_each(state, INPUTS, _INPUT, numbers, {"files": _files}):
        task, position, *fields = columns.values()
        yield from zip(task, position, map(Dataset, *fields), strict=True)


_FILES = Decoder(list[Files | tuple[File, ...]])
"""Decodes files about five times faster than Python's JSON and building them from its objects."""


def _files(texts: Sequence[str]) -> list[Files | tuple[File, ...]]:
    try:
        return _FILES.decode(f"[{','.join(texts)}]")
    except MsgspecError:  # values that no import of today would store
        return [tuple(map(_file, objects_in(files))) for files in rows.loads_all(texts)]


def _file(record: Mapping[str, Any]) -> File:
    return File(
        record["lfn"], record.get("fsize", 0), record.get("nEvents"), record.get("startEvent"), record.get("endEvent")
    )
