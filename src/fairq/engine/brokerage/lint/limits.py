"""Queues that no task can match, because limits exclude each other.

Source: docs/panda.md, Queues and Estimates and Production filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.lint.finding import Finding, finding, number
from fairq.engine.brokerage.pool.model import Queue, ResourceType
from fairq.engine.brokerage.pool.pseudo_queues import split_queue


def limit_findings(queue: Queue, rules: Rules, types: Iterable[ResourceType]) -> Iterator[Finding]:
    """Yield the limits of *queue* that few or no tasks can meet under *rules*."""
    found = partial(finding, queue.name)
    if queue.is_unified:
        yield from _of_unified(queue, tuple(types))
    else:
        yield from _of_cores(queue)
    if _is_empty(queue):
        yield found("minrss", "memory", f"{number(queue.minrss)} to {number(queue.maxrss)}")
    if queue.maxtime and queue.mintime > queue.maxtime:
        yield found("mintime", "walltime", f"{number(queue.mintime)} to {number(queue.maxtime)}")
    if queue.maxtime and not queue.corepower:
        yield found("corepower", "power", "0")
    yield from _of_scratch(queue, rules)
    for name in ("corecount", "maxrss", "minrss", "maxwdir", "maxtime", "mintime", "corepower", "transferringlimit"):
        value = getattr(queue, name)
        if value is not None and value < 0:
            yield found(name, "negative", number(value))


def _of_unified(queue: Queue, types: tuple[ResourceType, ...]) -> Iterator[Finding]:
    found = partial(finding, queue.name)
    pseudo = split_queue(queue, types)
    if not pseudo:
        yield found("corecount", "no pseudo queues", number(queue.corecount))
        return
    absent = [name for name in ("maxrss", "minrss") if getattr(queue, name) is None]
    if absent:
        yield found(absent[0], "no limits", "none", absent=" and ".join(absent))
    if all(map(_is_empty, pseudo)) and not _is_empty(queue):
        ranges = ", ".join(f"{one.resource_type} {number(one.minrss)} to {number(one.maxrss)}" for one in pseudo)
        yield found("maxrss", "empty pseudo queues", ranges)
    if queue.corecount <= 0:
        yield found("corecount", "cores", number(queue.corecount), "no cores")


def _of_cores(queue: Queue) -> Iterator[Finding]:
    found = partial(finding, queue.name, "corecount", "cores", number(queue.corecount))
    if queue.capability == "mcore" and queue.corecount <= 1:
        yield found("mcore with one core")
    if queue.capability == "score" and queue.corecount > 1:
        yield found("score with several cores")


def _of_scratch(queue: Queue, rules: Rules) -> Iterator[Finding]:
    found = partial(finding, queue.name, "maxwdir", "scratch", number(queue.maxwdir))
    # What every production job is assumed to need for its output.
    least, is_divided = rules.scratch_floor, rules.scratch_per_core or queue.is_unified or queue.corecount <= 1
    if (queue.type == "analysis" and not rules.every_queue) or not queue.maxwdir or queue.maxwdir < 0:
        return

    def lacks(scratch: float) -> bool:
        return scratch <= least if rules.scratch_must_exceed else scratch < least

    if lacks(queue.maxwdir):
        yield found(least=number(least))
    elif is_divided and lacks(queue.maxwdir / max(1, queue.corecount)):
        jobs = "production job" if rules.scratch_per_core else "single-core production job"
        yield found("scratch of a core", least=number(least), cores=queue.corecount, jobs=jobs)


def _is_empty(queue: Queue) -> bool:
    return bool(queue.minrss and queue.maxrss) and (queue.minrss or 0) > (queue.maxrss or 0) > 0
