"""Golden cases of what a job will need: the smallest job, memory, disk, walltime, express, direct reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.broker_rules import PANDA
from tests.golden.compare import differences

from fairq.engine.brokerage.criteria.memory import compensated, job_memory, stated_memory
from fairq.engine.brokerage.criteria.scratch import reads_directly
from fairq.engine.brokerage.criteria.walltime import job_seconds
from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.jobs.atom import effective_events, effective_mib, smallest_job
from fairq.engine.brokerage.jobs.tasks import (
    Chunk,
    Dataset,
    File,
    Task,
    is_per_event,
    output_bytes,
    parse_rules,
    work_bytes,
)
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.world import Queue, World

GIB = 2**30

RANGES = "one 1 GiB file of 1000 events in ten 100-event ranges"
SECONDARY = "one 700 MiB nosplit file"
"""Inputs that the recordings give in words."""


def file_of(given: Mapping[str, Any]) -> File:
    return File(
        str(given.get("lfn", "f")),
        given.get("fsize") or 0,
        given.get("nEvents"),
        given.get("startEvent"),
        given.get("endEvent"),
    )


def compensate_ram(_: str, given: Any, wanted: Any) -> list[str]:
    ram = given["ram"]
    return differences(None if ram in (None, "NULL") else compensated(ram), wanted)


def job_min_ram(_: str, given: Any, wanted: Any) -> list[str]:
    task = Task(
        ram_count=given["ramCount"],
        ram_unit=given["ramUnit"],
        base_ram_count=given["baseRamCount"],
        merge_ram_count=given["mergeRamCount"],
    )
    merging = given["merging"]
    stated = stated_memory(task, Chunk(is_merging=merging, ram_count=given["chunk_ramCount"])) or 0
    memory = job_memory(
        stated,
        given["cores"],
        task.ram_unit,
        task.base_ram_count,
        merging=merging,
        base_always=PANDA.base_memory_always,
    )
    return differences({"chunk_max_ram": stated, "min_ram": [memory, "MB"]}, wanted)


def disk_units(_: str, given: Any, wanted: Any) -> list[str]:
    count, unit = given["count"], given["unit"]
    found = {"work_bytes": work_bytes(count, unit, PANDA.scratch_margin), "out_bytes": output_bytes(count, unit)}
    return differences(found, wanted)


def out_disk_unit(_: str, given: Any, wanted: Any) -> list[str]:
    unit = given["outDiskUnit"]
    found = {"bytes": output_bytes(given["outDiskCount"], unit), "scales_with_events": is_per_event(unit)}
    return differences(found, wanted)


def events(_: str, given: Any, wanted: Any) -> list[str]:
    return differences(effective_events(file_of(given)), wanted)


def size(_: str, given: Any, wanted: Any) -> list[str]:
    return differences(effective_mib(file_of(given)), wanted)


def max_atom(_: str, given: Any, wanted: Any) -> list[str]:
    files = given["files"]
    if files == RANGES:
        master = Dataset("in", tuple(File("f", GIB, 1000, start, start + 99) for start in range(0, 1000, 100)))
    else:
        master = Dataset("in", tuple(map(file_of, files)))
    second = Dataset("second", (File("s", 700 * 2**20),), attributes="nosplit")
    others = (second,) if given.get("secondary") == SECONDARY else ()
    atom = smallest_job(Task(rules=parse_rules(given["splitRule"])), Chunk((master, *others)))
    found = {"input_bytes": atom.input_bytes, "effective_mb": atom.effective_mib, "events": atom.events}
    return differences(found, wanted)


def walltime(_: str, given: Any, wanted: Any) -> list[str]:
    task = Task(
        cpu_time=given["cpuTime"],
        cpu_time_unit=given["cpuTimeUnit"],
        cpu_efficiency=given["cpuEfficiency"],
        base_walltime=given["baseWalltime"],
    )
    queue = Queue("Q", corecount=given["coreCount"], corepower=given["corePower"], maxtime=given["queue_maxtime"])
    return differences(job_seconds(task, given["nEvents"], queue), wanted)


def is_express(_: str, given: Any, wanted: Any) -> list[str]:
    task = Task(processing_type=given["processingType"], current_priority=given["currentPriority"])
    return differences(Ask(task, Chunk(), Pool(World(), PANDA)).is_express, wanted)


def use_direct_io(_: str, given: Any, wanted: Any) -> list[str]:
    rules = {"use": "IL=1", "only": "IL=2", None: ""}[given["allowInputLAN"]] + (",LI=1" * given["useLocalIO"])
    queue = Queue("Q", direct_access_lan=given["direct_access_lan"], maxinputsize=given["maxinputsize"])
    task = Task(rules=parse_rules(rules))
    direct = reads_directly(queue, given["merging"], task.copies_input, task.has_rule("IL"))
    return differences(direct, wanted)


RUNNERS = {
    "compensate_ram": compensate_ram,
    "job_min_ram": job_min_ram,
    "disk_units": disk_units,
    "out_disk_unit": out_disk_unit,
    "effective_events": events,
    "effective_size_mb": size,
    "max_atom": max_atom,
    "max_atom_ranges": max_atom,
    "max_atom_secondary": max_atom,
    "job_walltime_seconds": walltime,
    "is_express": is_express,
    "use_direct_io": use_direct_io,
}
