"""Flags of ``catchall`` and ``params`` that are read otherwise than they look (docs/panda.md, Queues)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fairq.engine.brokerage.lint.finding import Finding, nearest
from fairq.engine.brokerage.lint.words import READ
from fairq.engine.brokerage.pool.catchall import NUCLEUS_MODES
from fairq.engine.brokerage.pool.model import Queue

PLAIN = (
    "useJumboJobs",
    "gpu",
    "grandly_unified",
    "use_only_local_data",
    "disableReassign",
    "per_core_attr",
    "allow_no_pilot",
)
"""Flags that are set by being there."""

VALUED = (
    "nSimEvents",
    "minEventsForJumbo",
    "maxDiskPerCore",
    "jobChunkSize",
    "bareNucleus",
    "secondaryNucleus",
    "allowed_processing",
    "excluded_processing",
)
"""Flags that have a value."""

_NUMBERS = VALUED[:4]


def flag_findings(queue: Queue) -> Iterator[Finding]:
    """Yield what is odd about the flags of *queue*."""
    found = partial(Finding, queue.name)
    for item in queue.catchall.split(",") if queue.catchall else ():
        yield from _of_item(queue, item)
    for name in PLAIN:
        if name in queue.params and not queue.params[name]:
            yield found(
                "params",
                "flag set",
                f"{name}: {queue.params[name]}",
                f"{name} is set: a name in params counts whatever its value",
                f"take {name} out of params",
            )
    for name in queue.params:
        if name not in PLAIN and name not in VALUED and name.lower() in {one.lower() for one in (*PLAIN, *VALUED)}:
            yield found("params", "unknown flag", name, "nothing reads it", f"write {nearest(name, (*PLAIN, *VALUED))}")


def _of_item(queue: Queue, item: str) -> Iterator[Finding]:
    name, equals, value = item.partition("=")
    if not item.strip():
        return
    if item != item.lstrip() and any(item.lstrip().startswith(flag) for flag in (*PLAIN, *VALUED)):
        yield _finding(
            queue, "blank", item, f"{item.strip()} is not read for the blank before it", "leave the blank out"
        )
        return
    prefix = next((flag for flag in PLAIN if item.startswith(flag) and name != flag), None)
    if prefix:
        yield _finding(
            queue, "flag set", item, f"it sets {prefix}, with which it begins", f"write {prefix}, or another word"
        )
    elif name in PLAIN and equals and value.lower() in ("0", "false", "no", "off", "none"):
        yield _finding(queue, "flag set", item, f"{name} is set whatever comes after it", f"take {item} out")
    elif name in _NUMBERS and not value.strip().isdigit():
        yield _finding(
            queue,
            "flag value",
            item,
            f"{name} counts as not given: {value!r} is no whole number",
            f"write {name}=1000, say",
        )
    elif name == "bareNucleus" and value not in NUCLEUS_MODES:
        yield _finding(queue, "flag value", item, "it counts as not given", "write bareNucleus=only or =allow")
    elif name in READ and str(getattr(queue, name, "")) != value:
        yield _finding(
            queue,
            "not a flag",
            item,
            f"nothing reads {name} here: what counts is the field, {str(getattr(queue, name, '')) or 'empty'}",
            f"set the field {name}, or remove it",
        )
    elif name not in PLAIN and name not in VALUED and name not in READ:
        meant = nearest(name, (*PLAIN, *VALUED))
        if meant is not None:
            yield _finding(queue, "unknown flag", item, f"nothing reads {name}", f"write {meant}")


def _finding(queue: Queue, kind: str, value: str, meaning: str, cure: str) -> Finding:
    return Finding(queue.name, "catchall", kind, value, meaning, cure)
