"""Memory of a slot compared with the need of a job (docs/panda.md, Estimates)."""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.flow.pool import Pool
from fairq.engine.brokerage.jobs.memory import job_memory, stated_memory
from fairq.engine.brokerage.pool.world import PRODUCTION

LOW, HIGH = Reason("lowmemory"), Reason("highmemory")


def _reads_memory(ask: Ask) -> Values | None:
    task, stated = ask.task, stated_memory(ask.task, ask.chunk)
    production = ask.activity == PRODUCTION
    return (stated, task.ram_unit, task.base_ram_count, ask.chunk.is_merging, production) if stated else None


@refuses("memory", "memory check", LOW, HIGH, reads=_reads_memory)
def memory(
    pool: Pool, stated: float, unit: str | None, base: float | None, merging: bool, production: bool
) -> Refusals:
    """Refuse queues unless a job's memory (MiB) is between minimum and maximum of their slots, both included."""

    def need_on(cores: int) -> float:
        always = pool.rules.base_memory_always
        return job_memory(stated, cores, unit, base, merging=merging, base_always=always, production=production)

    # The estimate depends only on the number of cores.
    core_counts, index_of = pool.different("cores", lambda queue: queue.corecount)
    need = np.array([need_on(cores) for cores in core_counts], np.float64)[index_of]
    maxrss = pool.numbers("maxrss", lambda queue: queue.maxrss or 0)
    minrss = pool.numbers("minrss", lambda queue: queue.minrss or 0)

    def figures(row: int, limit: str) -> Details:
        queue = pool.queues[row]
        needed = need_on(queue.corecount)
        return {"memory_need_mb": needed, limit: getattr(queue, limit), "corecount": queue.corecount}

    yield Refusal(LOW, (maxrss > 0) & (need > maxrss), lambda row: figures(row, "maxrss"))
    yield Refusal(HIGH, (minrss > 0) & (need < minrss) & (need != 0), lambda row: figures(row, "minrss"))


analysis_memory = memory._replace(name="analysis memory")
