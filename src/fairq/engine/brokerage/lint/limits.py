"""Queues that nothing can match, for limits that exclude each other.

Source: docs/panda.md, Queues and Estimates and Production filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from fairq.engine.brokerage.lint.finding import Finding, number
from fairq.engine.brokerage.pool.model import Queue, ResourceType
from fairq.engine.brokerage.pool.pseudo_queues import split_queue

SMALLEST_OUTPUT = 1500
"""MiB of scratch that every production job is taken to need for its output."""


def limit_findings(queue: Queue, types: Iterable[ResourceType]) -> Iterator[Finding]:
    """Yield the limits of *queue* that leave little or nothing over."""
    found = partial(Finding, queue.name)
    if queue.is_unified:
        yield from _of_unified(queue, tuple(types))
    else:
        yield from _of_cores(queue)
    if _is_empty(queue):
        yield found(
            "minrss",
            "memory",
            f"{number(queue.minrss)} to {number(queue.maxrss)}",
            "no job needs at least minrss and at most maxrss",
            "swap minrss and maxrss, or mend one of them",
        )
    if queue.maxtime and queue.mintime > queue.maxtime:
        yield found(
            "mintime",
            "walltime",
            f"{number(queue.mintime)} to {number(queue.maxtime)}",
            "no job takes at least mintime and at most maxtime",
            "swap mintime and maxtime, or mend one of them",
        )
    if queue.maxtime and not queue.corepower:
        yield found(
            "corepower",
            "power",
            "0",
            "with a maxtime it refuses every task whose CPU time is given in HS06",
            "give the HS06 of a core, about 10",
        )
    yield from _of_scratch(queue)
    for name in ("corecount", "maxrss", "minrss", "maxwdir", "maxtime", "mintime", "corepower", "transferringlimit"):
        value = getattr(queue, name)
        if value is not None and value < 0:
            yield found(
                name,
                "negative",
                number(value),
                "a negative number is no limit that holds",
                "give a positive number, or 0 where there is no limit",
            )


def _of_unified(queue: Queue, types: tuple[ResourceType, ...]) -> Iterator[Finding]:
    found = partial(Finding, queue.name)
    pseudo = split_queue(queue, types)
    if not pseudo:
        yield found(
            "corecount",
            "no pseudo queues",
            number(queue.corecount),
            "no resource type fits its cores, so it is never brokered",
            "give the cores of its slots",
        )
        return
    absent = [name for name in ("maxrss", "minrss") if getattr(queue, name) is None]
    if absent:
        yield found(
            absent[0],
            "no limits",
            "none",
            "PanDA's code stops to split this queue and all that come after it; fairq takes it as no limit",
            f"give {' and '.join(absent)}",
        )
    if all(map(_is_empty, pseudo)) and not _is_empty(queue):
        ranges = ", ".join(f"{one.resource_type} {number(one.minrss)} to {number(one.maxrss)}" for one in pseudo)
        yield found(
            "maxrss",
            "empty pseudo queues",
            ranges,
            "in each of its pseudo queues the least memory is above the most: none takes a job",
            "give it more maxrss (of the whole slot), or more corecount",
        )
    if queue.corecount <= 0:
        yield found(
            "corecount",
            "cores",
            number(queue.corecount),
            "it is taken as one core: jobs of several cores never match",
            "give the cores of its slots",
        )


def _of_cores(queue: Queue) -> Iterator[Finding]:
    found = partial(Finding, queue.name)
    if queue.capability == "mcore" and queue.corecount <= 1:
        yield found(
            "corecount",
            "cores",
            number(queue.corecount),
            "jobs of several cores need more than 1: it takes single-core jobs only",
            "give the cores of its slots, or capability score",
        )
    if queue.capability == "score" and queue.corecount > 1:
        yield found(
            "corecount",
            "cores",
            number(queue.corecount),
            "single-core jobs need 0 or 1: it takes jobs of several cores only",
            "write 1, or capability mcore",
        )


def _of_scratch(queue: Queue) -> Iterator[Finding]:
    found = partial(Finding, queue.name)
    if queue.type == "analysis" or not queue.maxwdir or queue.maxwdir < 0:
        return
    if queue.maxwdir < SMALLEST_OUTPUT:
        yield found(
            "maxwdir",
            "scratch",
            number(queue.maxwdir),
            f"every production job is taken to need {SMALLEST_OUTPUT} MiB or more: none matches",
            "give the scratch of a whole slot in MiB; 0 is no limit",
        )
    elif queue.maxwdir / max(1, queue.corecount) < SMALLEST_OUTPUT and (queue.is_unified or queue.corecount <= 1):
        yield found(
            "maxwdir",
            "scratch",
            number(queue.maxwdir),
            f"divided by {queue.corecount} cores it is below the {SMALLEST_OUTPUT} MiB that every "
            "single-core production job is taken to need",
            "give the scratch of a whole slot in MiB",
        )


def _is_empty(queue: Queue) -> bool:
    return bool(queue.minrss and queue.maxrss) and (queue.minrss or 0) > (queue.maxrss or 0) > 0
