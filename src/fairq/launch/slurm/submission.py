"""The calls of ``sbatch``: one for all runs with the same needs on the same node.

Source: sbatch(1). The supervisor opens the files of a job and makes its environment, so none of this is left to Slurm.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from fairq.launch.interface import Assignment

_LARGEST_ARRAY = 1000
"""Most runs in one array; Slurm's default MaxArraySize allows indices up to 1000."""

_PATH = b"PATH=/usr/local/bin:/usr/bin:/bin\0"
_SPARE_MINUTES = 2
"""Minutes added to the job's own time limit for Slurm's limit, so that the supervisor ends the job first."""


class Need(Struct, frozen=True):
    """The requirements of a batch job; runs with equal requirements can share an array."""

    node: str
    partition: str
    cpus: int
    memory: int | None
    gpus: int
    minutes: int | None


def grouped(assignments: Sequence[Assignment], settings: Mapping[str, Any]) -> Iterator[tuple[Need, list[Assignment]]]:
    """Yield the runs that one call can submit, with their common need."""
    groups: dict[Need, list[Assignment]] = {}
    for assignment in assignments:
        groups.setdefault(_need(assignment, settings), []).append(assignment)
    for need, members in groups.items():
        for first in range(0, len(members), _LARGEST_ARRAY):
            yield need, members[first : first + _LARGEST_ARRAY]


def _need(assignment: Assignment, settings: Mapping[str, Any]) -> Need:
    limits = [seconds for seconds in (assignment.execute_seconds, assignment.job_seconds) if seconds is not None]
    seconds = min(limits) + assignment.grace if limits else None
    minutes = None if seconds is None else math.ceil(seconds / 60) + _SPARE_MINUTES
    if minutes is None and settings["time_limit"]:
        minutes = math.ceil(settings["time_limit"] / 60)
    partition = assignment.place.get("EnginePartition") or settings["partition"] or ""
    node = assignment.place.get("EngineNode", "")
    return Need(node, partition, assignment.cpus, assignment.held_memory, assignment.gpus, minutes)


def command(name: str, need: Need, count: int, settings: Mapping[str, Any], environment: Path) -> list[str]:
    """Return the call of sbatch for *count* runs; its input is the script."""
    values = {
        "--job-name": name,
        "--partition": need.partition,
        "--nodelist": need.node,
        "--nodes": "1",
        "--ntasks": "1",
        "--cpus-per-task": str(need.cpus),
        "--mem": f"{need.memory}M" if need.memory else "",
        "--gres": f"gpu:{need.gpus}" if need.gpus else "",
        "--time": str(need.minutes) if need.minutes else "",
        "--account": settings["account"] or "",
        "--qos": settings["qos"] or "",
        "--array": f"0-{count - 1}" if count > 1 else "",
        "--comment": f"fairq:{name.removeprefix('fairq-')}",
        "--chdir": "/",
        "--output": "/dev/null",
        "--export-file": str(environment),
    }
    options = [f"{option}={value}" for option, value in values.items() if value]
    return ["sbatch", "--parsable", "--no-requeue", *options, *settings["options"]]


def script(directory: Path, archive: Path, python: str, runs: Sequence[str]) -> str:
    """Return the batch script for *runs*, whose directories are in *directory*."""
    run_directory = f'{shlex.quote(str(directory))}/"$1"'
    return (
        "#!/bin/sh\n"
        f"set -- {' '.join(map(shlex.quote, runs))}\n"
        'shift "${SLURM_ARRAY_TASK_ID:-0}"\n'
        f"exec {shlex.quote(python)} -I -S {shlex.quote(str(archive))} {run_directory} 2>>{run_directory}/batch\n"
    )


def put_environment(directory: Path) -> Path:
    """Write the environment of batch scripts into *directory* unless it exists; raises OSError.

    Otherwise Slurm would pass on this command's environment, or load that of a login.
    """
    from fairq.common.files import write

    path = directory / ".environment"
    if not path.exists():
        write(path, _PATH)
    return path


def id_of(answer: str, index: int, count: int) -> str:
    """Return the id of a run from the *answer* of sbatch, ``ID`` or ``ID;CLUSTER``."""
    job_id = answer.strip().partition(";")[0]
    return f"{job_id}_{index}" if count > 1 else job_id
