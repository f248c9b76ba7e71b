"""Cores of a slot compared with those of a task's jobs (docs/panda.md, Production filters and Analysis)."""

from __future__ import annotations

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.pool.columns import Pool

OTHER_CORES, TOO_MANY = Reason("cpucore"), Reason("max_cpucore")


def _reads_cores(ask: Ask) -> Values | None:
    task = ask.task
    if ask.is_spared_alone:
        return None
    merges = ask.chunk.is_merging and task.merge_core_count is not None
    cores = task.merge_core_count if merges else task.core_count
    # Urgent tasks that accept any number of cores go to multi-core slots.
    slot_kind = "multi" if cores == 0 and ask.is_high_priority else _suitable_slots(cores)
    return cores, slot_kind, task.most_cores


def _suitable_slots(cores: int | None) -> str:
    """Return the kind of slots for jobs with *cores*; 0 is any number, None is one."""
    if cores == 0:
        return "any"
    return "multi" if cores is not None and cores > 1 else "single"


@refuses("cores", "core count check", OTHER_CORES, TOO_MANY, reads=_reads_cores)
def cores(pool: Pool, core_count: int | None, slot_kind: str, max_cores: int | None) -> Refusals:
    """Refuse queues whose slots do not fit the cores of the task's jobs or merges."""
    slot_cores = pool.numbers("corecount", lambda queue: queue.corecount)

    def figures(row: int, compared: Details) -> Details:
        return {"corecount": pool.queues[row].corecount, **compared}

    if slot_kind != "any":
        unsuitable = slot_cores <= 1 if slot_kind == "multi" else slot_cores > 1
        yield Refusal(OTHER_CORES, unsuitable, lambda row: figures(row, {"coreCount": core_count, "wants": slot_kind}))
    if max_cores:
        yield Refusal(TOO_MANY, slot_cores > max_cores, lambda row: figures(row, {"maxCoreCount": max_cores}))


analysis_cores = cores._replace(
    name="analysis cores",
    stage="CPU core check",
    reads=lambda ask: (ask.task.core_count, _suitable_slots(ask.task.core_count), ask.task.most_cores),
)
