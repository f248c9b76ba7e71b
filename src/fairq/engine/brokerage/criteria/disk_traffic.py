"""Disk traffic and I/O intensity of a task compared with the limits of a queue.

Source: docs/panda.md, Production filters and Analysis.
"""

from __future__ import annotations

import numpy as np

from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.flags import flag_numbers

BUSY, BUSY_FINAL = Reason("diskIO", permanent=False), Reason("diskIO")
TOO_INTENSE = Reason("max_io_intensity")


def _reads_traffic(ask: Ask) -> Values:
    return ask.task.disk_io, ask.asks_for_cores


@refuses("diskIO", "diskIO check", BUSY, reads=_reads_traffic)
def disk_io(pool: Pool, traffic: float | None, divided: bool) -> Refusals:
    """Refuse queues with too much disk traffic for tasks with much disk traffic.

    Under the rules panda, the traffic of a task per core is rounded down.
    """
    return _refused(pool, BUSY, traffic, divided, rounded=pool.rules.disk_io_per_core == "rounded_down")


@refuses("analysis diskIO", "diskIO check", BUSY_FINAL, reads=_reads_traffic)
def analysis_disk_io(pool: Pool, traffic: float | None, divided: bool) -> Refusals:
    """Refuse queues with too much disk traffic for tasks with much disk traffic."""
    return _refused(pool, BUSY_FINAL, traffic, divided, rounded=False)


def _refused(pool: Pool, reason: Reason, traffic: float | None, divided: bool, *, rounded: bool) -> list[Refusal]:
    """Return the queues where the traffic of the queue and of the task both exceed the limit, kB/s per core."""
    if not traffic:
        return []
    default = pool.config.amount("jobbroker.MAX_DISKIO_DEFAULT")
    usage = pool.unit_numbers_of("disk traffic", lambda unit: pool.world.disk_io.get(unit.name, 0))
    limit = pool.unit_numbers_of("disk traffic limit", lambda unit: unit.maxdiskio if unit.maxdiskio > 0 else default)
    task_traffic = np.full(len(pool), float(traffic))
    if divided:
        cores = pool.unit_numbers_of("unit cores", lambda unit: unit.corecount)
        task_traffic = task_traffic / np.maximum(cores, 1)
        task_traffic = np.where(cores > 0, np.floor(task_traffic), task_traffic) if rounded else task_traffic

    def figures(row: int) -> Details:
        return {"usage": float(usage[row]), "limit": float(limit[row]), "diskIO": float(task_traffic[row])}

    return [Refusal(reason, (usage > limit) & (task_traffic > limit), figures)]


def _reads_intensity(ask: Ask) -> Values | None:
    intensity = ask.task.io_intensity
    return (intensity,) if intensity and not ask.chunk.is_merging and ask.rules.max_io_intensity else None


@refuses("max_io_intensity", "max IO intensity check", TOO_INTENSE, reads=_reads_intensity)
def max_io_intensity(pool: Pool, intensity: float) -> Refusals:
    """Refuse queues whose limit of I/O intensity (kB/s) the task exceeds; merges are exempt."""
    limit = flag_numbers(pool, "max_io_intensity")
    yield Refusal(
        TOO_INTENSE, intensity > limit, lambda row: {"ioIntensity": intensity, "max_io_intensity": float(limit[row])}
    )


analysis_max_io_intensity = max_io_intensity._replace(name="analysis max_io_intensity")
