"""Cores of a slot compared with those of a task's jobs (docs/panda.md, Production filters and Analysis)."""

from __future__ import annotations

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.flow.pool import Pool

OTHER_CORES, TOO_MANY = Reason("cpucore"), Reason("max_cpucore")


def _reads_cores(ask: Ask) -> Values | None:
    task = ask.task
    if ask.is_spared_alone:
        return None
    merges = ask.chunk.is_merging and task.merge_core_count is not None
    cores = task.merge_core_count if merges else task.core_count
    # Urgent tasks that accept any number of cores go to multi-core slots.
    wants = "multi" if cores == 0 and ask.is_high_priority else _wanted(cores)
    return cores, wants, task.most_cores


def _wanted(cores: int | None) -> str:
    """Return which slots suit jobs of so many *cores*: 0 is any number, None is one."""
    if cores == 0:
        return "any"
    return "multi" if cores is not None and cores > 1 else "single"


@refuses("cores", "core count check", OTHER_CORES, TOO_MANY, reads=_reads_cores)
def cores(pool: Pool, asked: int | None, wants: str, most: int | None) -> Refusals:
    """The queue's slots must have as many cores as the task's jobs, or its merges, use."""
    have = pool.numbers("corecount", lambda queue: queue.corecount)

    def figures(row: int, more: Details) -> Details:
        return {"corecount": pool.queues[row].corecount, **more}

    if wants != "any":
        unsuitable = have <= 1 if wants == "multi" else have > 1
        yield Refusal(OTHER_CORES, unsuitable, lambda row: figures(row, {"coreCount": asked, "wants": wants}))
    if most:
        yield Refusal(TOO_MANY, have > most, lambda row: figures(row, {"maxCoreCount": most}))


analysis_cores = cores._replace(
    name="analysis cores",
    stage="CPU core check",
    reads=lambda ask: (ask.task.core_count, _wanted(ask.task.core_count), ask.task.most_cores),
)
