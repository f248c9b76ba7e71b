"""The jobs of Slurm's queue, from ``squeue --json`` or from ``scontrol --oneliner show job``.

JSON is recognised by its content. Its form changes with the version: numbers are plain or have ``set`` and ``number``,
and a state is a text or a list. Where Slurm was built without JSON, scontrol prints the same jobs.

Sources: squeue(1), scontrol(1), "Job state codes" and "Job reason codes" of squeue(1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fairq.common.quantities import LATEST
from fairq.common.scontrol import fields
from fairq.errors.pool import InvalidDumpError
from fairq.formats.slurm.text import (
    MOST_HOSTS,
    Resources,
    duration,
    gpus,
    hosts,
    lines,
    missing_field,
    moment,
    resources,
)
from fairq.formats.source import Held

LARGEST_NUMBER = 2**31 - 1
RUNS = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SIGNALING", "STOPPED"})
"""The states of jobs that have nodes."""

MOST_TASKS = 4_000_001
"""The most tasks of an array (MaxArraySize)."""

MOST_JOBS = 1_000_000
"""The most jobs that are imported, each task of an array and each node of a job counted: many times MaxJobCount."""

_NEEDED = {
    "job_id": "the number of the job",
    "job_state": "whether it waits or runs",
    "user_name": "its owner",
    "cpus": "its cores",
    "submit_time": "the order of jobs",
}
_TASKS = re.compile(r"(\d{1,10})(?:-(\d{1,10})(?::(\d{1,10}))?)?", re.ASCII)

_SCONTROL_NAMES = {
    "job_id": "JobId", "job_state": "JobState", "user_name": "UserId", "cpus": "NumCPUs", "submit_time": "SubmitTime",
    "start_time": "StartTime", "account": "Account", "partition": "Partition", "qos": "QOS", "state_reason": "Reason",
    "priority": "Priority", "node_count": "NumNodes", "nodes": "NodeList", "time_limit": "TimeLimit",
    "features": "Features", "required_nodes": "ReqNodeList", "excluded_nodes": "ExcNodeList",
    "dependency": "Dependency", "name": "JobName", "array_job_id": "ArrayJobId", "array_task_string": "ArrayTaskId",
    "tres_per_node": "TresPerNode", "tres_per_job": "TresPerJob", "tres_per_task": "TresPerTask",
}  # fmt: skip
_NUMBERS = {"job_id", "cpus", "priority", "node_count", "array_job_id"}


class SlurmJob(Struct, frozen=True):
    """A job, or the tasks of an array that wait.

    Args:
        number: the job's own number.
        array, tasks: the number of the array and its tasks here; 0 and none for a job outside arrays.
        partitions: those that it may run in, in order.
        states: its state and the flags of it, such as RUNNING, COMPLETING.
        submit, start: seconds since 1970; *start* is 0 if it has not started.
        asked, given: the resources that the whole job requests, and those that it has.
        nodes: the number of nodes that it requests or has; *hosts* are the nodes that it has.
        limit: the limit of its run time in seconds; None: unlimited.
    """

    number: int
    array: int
    tasks: tuple[int, ...]
    user: str
    account: str
    partitions: tuple[str, ...]
    qos: str
    states: frozenset[str]
    reason: str
    priority: int
    submit: int
    start: int
    asked: Resources
    given: Resources
    nodes: int
    hosts: tuple[str, ...]
    limit: int | None
    features: str
    required: tuple[str, ...]
    excluded: tuple[str, ...]
    dependency: str
    name: str


def read_queue(held: Held, offset: int = 0) -> list[SlurmJob]:
    """Return the jobs in *held*; the times of scontrol are *offset* seconds later than in UTC.

    Raises InvalidDumpError, which names a missing field and what it is needed for.
    """
    is_json = held.content.lstrip()[:1] == b"{"
    records = _json_records(held) if is_json else _scontrol_records(held, offset)
    jobs = []
    total = 0
    for where, record in records:
        job = _job(held.name, where, record)
        total += max(1, len(job.tasks)) * job.nodes
        if total > MOST_JOBS:
            problem = f"more than {MOST_JOBS} jobs, with the tasks of arrays and the nodes of jobs"
            raise InvalidDumpError(source=held.name, where=where, problem=problem, cure="import a part of them")
        jobs.append(job)
    return jobs


def _json_records(held: Held) -> Iterator[tuple[str, Mapping[str, Any]]]:
    problem, cure = "", "write it again with squeue --json"
    try:
        document = msgspec.json.decode(held.content.decode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError) as failure:
        problem = f"not whole JSON ({failure})"
        raise InvalidDumpError(source=held.name, where="somewhere", problem=problem, cure=cure) from None
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        raise InvalidDumpError(source=held.name, where="at its top", problem="no list of jobs", cure=cure)
    for number, record in enumerate(jobs, 1):
        if not isinstance(record, dict):
            raise InvalidDumpError(source=held.name, where=f"job {number}", problem="it is no object", cure=cure)
        yield f"job {number}", record


def _scontrol_records(held: Held, offset: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the jobs of scontrol under the names of the JSON."""
    for number, line in lines(held):
        if line.startswith("No jobs"):
            continue
        values = fields(line)
        record: dict[str, Any] = {}
        for name, scontrol_name in _SCONTROL_NAMES.items():
            value = values.get(scontrol_name)
            if value is None:
                continue
            digits = re.match(r"\d{1,15}", value, re.ASCII)
            record[name] = (int(digits[0]) if digits else None) if name in _NUMBERS else value
        record["user_name"] = re.sub(r"\(\d+\)$", "", str(record.get("user_name", ""))) or None
        for name in ("submit_time", "start_time"):
            seconds = moment(str(record.get(name, "")))
            record[name] = None if seconds is None else seconds - offset
        record["nodes"] = re.sub(r"^\(.*\)$", "", str(record.get("nodes", "")))
        limit = duration(str(record.get("time_limit", "")))
        record["time_limit"] = None if limit is None else limit / 60
        both = values.get("TRES", "")
        record["tres_req_str"] = values.get("ReqTRES", both)
        record["tres_alloc_str"] = values.get("AllocTRES", both)
        yield f"line {number}", record


def _job(source: str, where: str, record: Mapping[str, Any]) -> SlurmJob:
    def wrong(name: str, value: Any, cure: str) -> InvalidDumpError:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return InvalidDumpError(source=source, where=where, problem=f"{name} is {shown}", cure=cure)

    def number(name: str, default: int = 0, most: int = 2**53) -> int:
        value = _plain(record.get(name))
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
            raise wrong(name, value, f"give a number from 0 to {most}")
        return int(value)

    def text(name: str) -> str:
        value = record.get(name)
        if value is None:
            return ""
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, str) for part in parts):
            raise wrong(name, value, "give a text")
        return ",".join(parts)

    def host_list(name: str) -> tuple[str, ...]:
        value = text(name)
        try:
            return tuple(hosts(value))
        except ValueError as failure:
            raise wrong(name, value, f"give a list of hosts ({failure})") from None

    for name, purpose in _NEEDED.items():
        if record.get(name) in (None, ""):
            raise missing_field(source, where, name, purpose)
    job_number = number("job_id")
    if not 1 <= job_number <= LARGEST_NUMBER:
        raise wrong("job_id", job_number, f"give a number from 1 to {LARGEST_NUMBER}")
    states = frozenset(text("job_state").split(","))
    # A waiting job may name the nodes for which it is planned.
    job_hosts = host_list("nodes") if states & RUNS else ()
    nodes = len(job_hosts) or max(1, number("node_count", 1, MOST_HOSTS))
    cpus = max(1, number("cpus", most=LARGEST_NUMBER))
    try:
        tasks = tuple(_tasks(text("array_task_string"))) or (
            (number("array_task_id", most=MOST_TASKS),) if number("array_job_id") else ()
        )
    except ValueError as failure:
        cure = "write it with SLURM_BITSTR_LEN=0 in the environment"
        raise wrong("array_task_string", str(failure), cure) from None
    return SlurmJob(
        number=job_number,
        array=number("array_job_id", most=LARGEST_NUMBER),
        tasks=tasks,
        user=text("user_name"),
        account=text("account"),
        partitions=tuple(part for part in text("partition").split(",") if part),
        qos=text("qos"),
        states=states,
        reason=text("state_reason"),
        priority=number("priority"),
        submit=number("submit_time", most=LATEST),
        start=number("start_time", most=LATEST) if job_hosts else 0,
        asked=_resources(text("tres_req_str"), cpus, nodes, text),
        given=_resources(text("tres_alloc_str") or text("tres_req_str"), cpus, nodes, text),
        nodes=nodes,
        hosts=job_hosts,
        limit=_limit(record.get("time_limit")),
        features=text("features"),
        required=host_list("required_nodes"),
        excluded=host_list("excluded_nodes"),
        dependency=text("dependency"),
        name=text("name"),
    )


def _plain(value: Any) -> Any:
    """Return a number of JSON, which newer versions write as an object; None if it is not set, or infinite."""
    if isinstance(value, dict):
        return value.get("number") if value.get("set") and not value.get("infinite") else None
    return value


def _limit(value: Any) -> int | None:
    """Return a time limit, which is in minutes, in seconds; None if it is unlimited."""
    value = _plain(value)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value * 60) if is_number and 0 < value < LARGEST_NUMBER else None


def _resources(tres: str, cpus: int, nodes: int, text: Any) -> Resources:
    """Return the resources of a job: those in *tres*, completed by its other fields."""
    parsed = resources(tres)
    gpu_count = parsed.gpus or gpus(text("tres_per_job")) or gpus(text("tres_per_node")) * nodes
    return Resources(parsed.cpus or cpus, parsed.memory, gpu_count)


def _tasks(text: str) -> Iterator[int]:
    """Yield the tasks in *text*, such as ``3-7:2,9%4``; raises ValueError if it is cut off or invalid."""
    count = 0
    for part in text.partition("%")[0].split(",") if text else ():
        match = _TASKS.fullmatch(part)
        if match is None:
            raise ValueError(part)
        first = int(match[1])
        for task in range(first, int(match[2] or first) + 1, max(1, int(match[3] or 1))):
            count += 1
            if count > MOST_TASKS:
                raise ValueError(f"{text}: more than {MOST_TASKS} tasks")
            yield task
