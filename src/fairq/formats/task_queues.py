"""Read a dump of DIRAC's task queues: JSON, or CSV with the queues only.

JSON is one object with these members, or the array of queues. Only ``task_queues`` is required:

- ``time``: the time of the dump, in seconds since 1970.
- ``groups``: by name, an object with the options of DIRAC's registry: ``JobShare``, ``Properties``,
  ``AllowBackgroundTQs``, ``VO``.
- ``task_queues``: objects with ``TQId``, ``Owner``, ``OwnerGroup``, ``CPUTime``; their requirements in ``Sites``,
  ``BannedSites``, ``GridCEs``, ``Platforms``, ``JobTypes``, ``Tags`` (arrays, or texts with commas), ``MinRAM``,
  ``MaxRAM``; the stored ``Priority``; and, unless ``jobs`` lists the jobs, ``Jobs`` (their number) and
  ``AveragePriority`` (of their real priorities; default 1).
- ``jobs``: objects with ``JobId``, ``TQId``, and ``UserPriority`` or ``RealPriority``.
- ``history``: by group ("" for the use of whole groups) and time span in seconds, the average number of jobs of each
  group or user; the text ERROR in its place stands for a failed report.
- ``share_corrections``: the block ShareCorrections in force.

CSV has the same names as its columns. It may also have the names of ``fairq taskqueues list`` (``task_queue``,
``owner_group``), and ``TaskQueue``, which older versions of that command printed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from fairq.errors.pool import InvalidDumpError
from fairq.errors.shares import TaskQueueDumpError
from fairq.formats.source import Source
from fairq.formats.table import Repeated, Table, records_of

LISTS = ("Sites", "BannedSites", "GridCEs", "Platforms", "JobTypes", "Tags")
_MEMBERS = ("time", "groups", "task_queues", "jobs", "history", "share_corrections")
_QUEUE = frozenset(
    (*LISTS, "TQId", "TaskQueue", "Owner", "OwnerGroup", "CPUTime", "MinRAM", "MaxRAM", "Priority", "Jobs",
     "AveragePriority")
)  # fmt: skip
_LIST_NAMES = {
    "task_queue": "TQId", "owner": "Owner", "owner_group": "OwnerGroup", "cpu_time": "CPUTime", "sites": "Sites",
    "banned_sites": "BannedSites", "grid_ces": "GridCEs", "platforms": "Platforms", "job_types": "JobTypes",
    "tags": "Tags", "min_ram": "MinRAM", "max_ram": "MaxRAM", "priority": "Priority", "jobs": "Jobs",
    "average_priority": "AveragePriority",
}  # fmt: skip
"""DIRAC's names, by the names of ``fairq taskqueues list``."""

COLUMNS = tuple(sorted(_QUEUE))
"""The fields of a task queue, by DIRAC's names."""

_SURROGATE = re.compile("[\ud800-\udfff]")
"""Part of a text that is not UTF-8."""

_FAILED = "ERROR"
_LARGEST = 2**53
_MOST_JOBS = 1_000_000


class DumpedJob(Struct):
    """A waiting job: its number, and its UserPriority or its real priority."""

    number: int
    user_priority: float = 1
    real_priority: float | None = None


class DumpedQueue(Struct):
    """A task queue: *fields* by DIRAC's names, the stored *priority*, and its jobs.

    Without *members*, only *count* and *average* (of the real priorities) of the jobs are known.
    """

    number: int
    fields: dict[str, Any]
    priority: float | None = None
    count: int = 0
    average: float = 1.0
    members: list[DumpedJob] = field(default_factory=list)


class TaskQueueDump(Struct):
    """The content of a dump; *groups*, *history* and *corrections* are None if the dump does not have them.

    *history* is by group and span; None instead of the usage means a failed report. *oldest* is when the oldest file
    was written (seconds since 1970; None: unknown), *unread* are the files of its directory that are not read.
    """

    queues: list[DumpedQueue]
    time: int | None = None
    groups: dict[str, dict[str, Any]] | None = None
    history: dict[tuple[str, int], dict[str, float] | None] | None = None
    corrections: dict[str, Any] | None = None
    oldest: float | None = None
    unread: list[str] = field(default_factory=list)


def read_task_queues(source: Source) -> TaskQueueDump:
    """Return the content of the dump *source*.

    Raises:
        TaskQueueDumpError: for the first error in the content, with its position.
        UnreadableDumpError, InvalidDumpError: the dump cannot be read, or is not text.
    """
    return _Reader(source.name).read(source.read_all())


def read_document(name: str, document: dict[str, Any]) -> TaskQueueDump:
    """Return the content of the *document* of the dump *name*; raises TaskQueueDumpError."""
    return _Reader(name).of_document(document)


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name

    def read(self, text: str) -> TaskQueueDump:
        start = text.lstrip()[:1]
        if not start:
            raise self._error("line 1", "it is empty", "give the dump of the task queues")
        if start not in "[{":
            return TaskQueueDump(self._queues(self._csv(text)))
        try:
            document = json.loads(text, parse_constant=self._refuse_constant, object_pairs_hook=self._members)
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise self._error(where, f"not JSON ({error.msg})", "give one JSON object or array, or CSV") from None
        except (RecursionError, ValueError):
            raise self._error("its values", "nested too deeply, or a number is too long", "correct the dump") from None
        if isinstance(document, list):
            queues = self._queues((f"queue {number}", value) for number, value in enumerate(document, 1))
            self._check_unique(queues)
            return TaskQueueDump(queues)
        return self.of_document(document)

    def _members(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise self._error(f"member {twice!r}", "it occurs twice in one object", "remove one")
        return members

    def of_document(self, document: dict[str, Any]) -> TaskQueueDump:
        """Return the content of a complete document."""
        for member in document:
            if member not in _MEMBERS:
                raise self._error(f"member {member!r}", "it is unknown", f"give {', '.join(_MEMBERS)}")
        if "task_queues" not in document:
            raise self._error("the document", "task_queues is missing", "give an array of task queues")
        entries = enumerate(self._list(document["task_queues"], "task_queues"))
        queues = self._queues((f"task_queues[{index}]", value) for index, value in entries)
        if "jobs" in document:
            self._jobs(queues, self._list(document["jobs"], "jobs"))
        self._check_unique(queues)
        time = document.get("time")
        return TaskQueueDump(
            queues,
            None if time is None else self._integer(time, "time"),
            self._groups(document["groups"]) if "groups" in document else None,
            self._history(document["history"]) if "history" in document else None,
            self._object(document["share_corrections"], "share_corrections")
            if "share_corrections" in document
            else None,
        )

    def _csv(self, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
        columns = {name.lower() for name in (*_QUEUE, *_LIST_NAMES)}
        try:
            for where, row in records_of(Table(self._name, csv=text), columns):
                if "Owner" not in row and "owner" not in row:
                    problem = "neither JSON nor CSV with the columns of task queues"
                    raise self._error("line 1", problem, "name the columns TQId,Owner,...")
                yield where, {name: row[name] for name in row if _LIST_NAMES.get(name, name) in _QUEUE and row[name]}
        except InvalidDumpError as error:
            raise TaskQueueDumpError(**error.fields) from None

    def _queues(self, values: Iterable[tuple[str, Any]]) -> list[DumpedQueue]:
        """Return the task queues in *values*, each with its position in the dump."""
        queues = []
        numbers: dict[int, str] = {}
        for where, value in values:
            queue = self._queue(self._object(value, where), where)
            if queue.number in numbers:
                problem = f"duplicate task queue {queue.number}, first at {numbers[queue.number]}"
                raise self._error(where, problem, "remove one")
            numbers[queue.number] = where
            queues.append(queue)
        return queues

    def _queue(self, members: dict[str, Any], where: str) -> DumpedQueue:
        members = {_LIST_NAMES.get(name, name): value for name, value in members.items()}
        number = members.get("TQId", members.get("TaskQueue"))
        if number is None:
            raise self._error(where, "TQId is missing", "give each task queue a number")
        fields: dict[str, Any] = {}
        for name in ("Owner", "OwnerGroup"):
            fields[name] = self._text(members.get(name), f"{where}.{name}")
        for name in ("CPUTime", "MinRAM", "MaxRAM"):
            if name in members or name == "CPUTime":
                fields[name] = self._integer(members.get(name), f"{where}.{name}")
        for name in LISTS:
            if items := self._names(members.get(name), f"{where}.{name}"):
                fields[name] = items
        queue = DumpedQueue(self._integer(number, f"{where}.TQId"), fields)
        if members.get("Priority") is not None:
            queue.priority = self._real(members["Priority"], f"{where}.Priority")
        if isinstance(members.get("Jobs"), list):
            queue.members = [self._job(job, f"{where}.Jobs[{index}]") for index, job in enumerate(members["Jobs"])]
            queue.count = len(queue.members)
        elif members.get("Jobs") is not None:
            queue.count = self._integer(members["Jobs"], f"{where}.Jobs")
            if queue.count > _MOST_JOBS:
                problem = f"{queue.count} jobs without numbers; the limit is {_MOST_JOBS}"
                raise self._error(f"{where}.Jobs", problem, "correct the number, or list the jobs")
        if members.get("AveragePriority") is not None:
            queue.average = self._real(members["AveragePriority"], f"{where}.AveragePriority")
        return queue

    def _jobs(self, queues: list[DumpedQueue], jobs: list[Any]) -> None:
        by_number = {queue.number: queue for queue in queues}
        for queue in queues:
            queue.count = len(queue.members)
        for index, value in enumerate(jobs):
            where = f"jobs[{index}]"
            members = self._object(value, where)
            number = self._integer(members.get("TQId", members.get("TaskQueue")), f"{where}.TQId")
            if number not in by_number:
                raise self._error(where, f"there is no task queue {number}", "add it to task_queues")
            by_number[number].members.append(self._job(members, where))
            by_number[number].count += 1

    def _check_unique(self, queues: list[DumpedQueue]) -> None:
        queue_numbers: dict[int, int] = {}
        for queue in queues:
            for job in queue.members:
                if job.number in queue_numbers:
                    problem = f"job {job.number} is also in task queue {queue_numbers[job.number]}"
                    raise self._error(f"task queue {queue.number}", problem, "remove one")
                queue_numbers[job.number] = queue.number

    def _job(self, value: Any, where: str) -> DumpedJob:
        if isinstance(value, int) and not isinstance(value, bool):
            return DumpedJob(self._integer(value, where))
        members = self._object(value, where)
        job = DumpedJob(self._integer(members.get("JobId"), f"{where}.JobId"))
        if members.get("UserPriority") is not None:
            number = self._real(members["UserPriority"], f"{where}.UserPriority", minimum=-math.inf)
            job.user_priority = int(number) if number.is_integer() else number
        elif members.get("RealPriority") is not None:
            job.real_priority = self._real(members["RealPriority"], f"{where}.RealPriority")
        return job

    def _groups(self, value: Any) -> dict[str, dict[str, Any]]:
        if isinstance(value, Repeated) and value.repeated:
            raise self._error("groups", f"duplicate group {value.repeated[0][0]}", "remove one")
        groups = self._object(value, "groups")
        return {name: self._object(options, f"groups.{name}") for name, options in groups.items()}

    def _history(self, value: Any) -> dict[tuple[str, int], dict[str, float] | None]:
        history: dict[tuple[str, int], dict[str, float] | None] = {}
        for group, spans in self._object(value, "history").items():
            for span, usage in self._object(spans, f"history.{group!r}").items():
                where = f"history.{group!r}.{span}"
                key = (group, self._integer(span, where))
                if usage == _FAILED:
                    history[key] = None
                    continue
                history[key] = {
                    entity: self._real(average, f"{where}.{entity}")
                    for entity, average in self._object(usage, where).items()
                }
        return history

    def _names(self, value: Any, where: str) -> list[str]:
        if value is None or isinstance(value, str):
            return [name.strip() for name in (value or "").split(",") if name.strip()]
        return [self._text(name, where) for name in self._list(value, where)]

    def _text(self, value: Any, where: str) -> str:
        if not isinstance(value, str) or not value.strip() or _SURROGATE.search(value):
            raise self._error(where, f"{_shown(value)} is not a name", "give a text")
        return value.strip()

    def _integer(self, value: Any, where: str) -> int:
        number = self._real(value, where)
        if number != int(number):
            raise self._error(where, f"{_shown(value)} is not a whole number", "give 0 or more")
        return int(number)

    def _real(self, value: Any, where: str, minimum: float = 0.0) -> float:
        try:
            number = math.nan if isinstance(value, bool) or value is None else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if _LARGEST < number < math.inf:
            raise self._error(where, f"{_shown(value)} is too large a number", f"give at most {_LARGEST}")
        if not (minimum <= number <= _LARGEST):
            problem = "it is missing" if value is None else f"{_shown(value)} is not a number of 0 or more"
            raise self._error(where, problem, "give a number")
        return number

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise self._error(where, f"{_shown(value)} is not an object", "give an object with names and values")
        return dict(value)

    def _list(self, value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise self._error(where, f"{_shown(value)} is not an array", "give an array")
        return value

    def _refuse_constant(self, constant: str) -> Any:
        raise self._error("its numbers", f"{constant} is not a number", "remove it")

    def _error(self, where: str, problem: str, cure: str) -> TaskQueueDumpError:
        return TaskQueueDumpError(source=self._name, where=where, problem=problem, cure=cure)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
