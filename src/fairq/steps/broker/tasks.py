"""Load tasks with the chunk of input to be brokered, as the engine needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import compress, groupby
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec import MsgspecError
from msgspec.json import Decoder

from fairq.brokerdata.work import INPUTS, TASKS
from fairq.engine.brokerage.jobs.resource_types import matching_resource_types
from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset, File, Files, Task, parse_rules
from fairq.engine.brokerage.pool.model import ResourceType
from fairq.state import broker_data, rows
from fairq.state.connection import State
from fairq.state.object_columns import objects_in

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

_NEEDS = ("core_count", "ram_count", "base_ram_count", "ram_unit")
"""The fields that say of which resource type a task is, unless it says so itself."""

_CHUNK = ("isMerging", "scout", "chunkRamCount", "readyEvents")


class Brokered(NamedTuple):
    """A task and the chunk of its input; its former status, and whether it was assigned to queues."""

    task: Task
    chunk: Chunk
    status: str
    was_assigned: bool


def load_brokered(state: State, types: Sequence[ResourceType], numbers: Iterable[int] | None = None) -> list[Brokered]:
    """Return the tasks with these *numbers* (None: all), each once, in order of number."""
    return list(Waiting(state, types, numbers).each())


class Waiting:
    """Tasks to be brokered, in order of number.

    Args:
        state: stays open while the tasks are taken.
        types: the resource types of the pool.
        numbers: those of the tasks; None: all.
    """

    def __init__(self, state: State, types: Sequence[ResourceType], numbers: Iterable[int] | None = None) -> None:
        self._state = state
        self._types = types
        self._columns = _columns(state, [*_FIELDS.values(), *_CHUNK, "status", "assigned"], numbers)
        self._numbers: Sequence[int] = self._columns["jediTaskID"]

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def former(self) -> dict[int, tuple[str, bool]]:
        """The status of each task, and whether it was assigned to queues."""
        return dict(zip(self._numbers, zip(self._columns["status"], self._were_assigned(), strict=True), strict=True))

    def datasets(self) -> list[str] | None:
        """Return the names of the datasets that the tasks read; None: of too many tasks to look them up."""
        if len(self) > _FEW:
            return None
        rows = broker_data.select(self._state, INPUTS, "task", self._numbers, ["dataset"])
        return [name for (name,) in rows]

    def each(self) -> Iterator[Brokered]:
        """Yield the tasks.

        A task is made, and its input is read, when its turn comes: what was made just before is still in the caches of
        the processor, and so is the room of the tasks that are done.
        """
        tasks = _tasks({field: self._columns[column] for field, column in _FIELDS.items()}, self._types)
        inputs = _inputs(self._state, self._numbers)
        chunks = map(Chunk, inputs, *(self._columns[column] for column in _CHUNK))
        return map(Brokered, tasks, chunks, self._columns["status"], self._were_assigned())

    def _were_assigned(self) -> Iterator[bool]:
        return map(bool, self._columns["assigned"])


def _columns(state: State, columns: Sequence[str], numbers: Iterable[int] | None) -> dict[str, Sequence[Any]]:
    """Return the values of *columns* by name, of the tasks with these *numbers* (None: all)."""
    wanted = None if numbers is None else set(numbers)
    if wanted is not None and len(wanted) <= _FEW:
        found = broker_data.select(state, TASKS, "jediTaskID", sorted(wanted), columns)
        values: Iterable[Sequence[Any]] = zip(*found, strict=True) if found else [()] * len(columns)
        return dict(zip(columns, values, strict=True))
    by_column = broker_data.load_columns(state, TASKS, columns)
    if wanted is None or wanted.issuperset(by_column["jediTaskID"]):
        return by_column
    chosen = [number in wanted for number in by_column["jediTaskID"]]
    return {name: list(compress(values, chosen)) for name, values in by_column.items()}


def _tasks(fields: dict[str, Sequence[Any]], types: Sequence[ResourceType]) -> Iterator[Task]:
    """Yield the tasks with these values of each field; what tasks leave open is derived from the rest."""
    # Many tasks have the same text or the same needs.
    rules, own_type = cache(parse_rules), cache(partial(_own_type, types=types))
    needs = zip(*(fields[name] for name in _NEEDS), strict=True)
    derived: dict[str, Iterable[Any]] = {
        "rules": map(rules, fields["rules"]),
        "current_priority": map(_stated, fields["current_priority"], fields["task_priority"]),
        "resource_type": (
            stated if stated is not None else own_type(*need)
            for stated, need in zip(fields["resource_type"], needs, strict=True)
        ),
    }
    in_order = [derived.get(name, fields[name]) for name in Task.__struct_fields__]
    return map(Task, *in_order)


def _stated(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _own_type(
    cores: int | None, ram: float | None, base: float | None, unit: str | None, *, types: Sequence[ResourceType]
) -> str | None:
    return next(iter(matching_resource_types(cores, ram, base, unit, types)), None)


def _inputs(state: State, tasks: Sequence[int]) -> Iterator[tuple[Dataset, ...]]:
    """Yield the datasets that each of *tasks*, in order of number, reads."""
    readers = {"files": _files}
    records: Iterable[broker_data.Row]
    if len(tasks) <= _FEW:
        records = broker_data.select(state, INPUTS, "task", tasks, readers=readers)
    else:
        records = broker_data.each(state, INPUTS, readers)
    by_task = groupby(records, itemgetter(0))
    task, rows = next(by_task, _NONE_LEFT)
    for number in tasks:
        # Others are not brokered.
        while task < number:
            task, rows = next(by_task, _NONE_LEFT)
        yield _datasets(rows) if task == number else ()


_NONE_LEFT: tuple[float, Iterable[broker_data.Row]] = inf, ()
"""In place of the next task with input, and its input."""


def _datasets(rows: Iterable[broker_data.Row]) -> tuple[Dataset, ...]:
    """Return the datasets of one task in order."""
    placed = [
        (position, name, Dataset(name, files, distributed, kind, site, created, modified))
        for _, name, position, kind, distributed, site, created, modified, files in rows
    ]
    if len(placed) > 1:
        placed.sort(key=itemgetter(0, 1))
    return tuple([dataset for _, _, dataset in placed])


_FILES = Decoder(list[Files | tuple[File, ...]])
"""Reads files in a fifth of the time of Python's JSON and of making them of its objects."""


def _files(texts: Sequence[str]) -> list[Files | tuple[File, ...]]:
    try:
        return _FILES.decode(f"[{','.join(texts)}]")
    except MsgspecError:  # values that no import of today would store
        return [tuple(map(_file, objects_in(files))) for files in rows.loads_all(texts)]


def _file(one: Mapping[str, Any]) -> File:
    return File(one["lfn"], one.get("fsize", 0), one.get("nEvents"), one.get("startEvent"), one.get("endEvent"))
