"""Flags of ``catchall`` and ``params`` that have another effect than expected (docs/panda.md, Queues)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fairq.engine.brokerage.lint.finding import Finding, finding, nearest
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
    """Yield the findings about the flags of *queue*."""
    found = partial(finding, queue.name)
    for item in queue.catchall.split(",") if queue.catchall else ():
        yield from _of_item(queue, item)
    for name in PLAIN:
        if name in queue.params and not queue.params[name]:
            yield found("params", "flag set", f"{name}: {queue.params[name]}", "flag set in params", name=name)
    for name in queue.params:
        if name not in PLAIN and name not in VALUED and name.lower() in {one.lower() for one in (*PLAIN, *VALUED)}:
            meant = nearest(name, (*PLAIN, *VALUED))
            yield found("params", "unknown flag", name, name=name, meant=meant)


def _of_item(queue: Queue, item: str) -> Iterator[Finding]:
    name, equals, value = item.partition("=")
    if not item.strip():
        return
    found = partial(finding, queue.name, "catchall")
    if item != item.lstrip() and any(item.lstrip().startswith(flag) for flag in (*PLAIN, *VALUED)):
        yield found("blank", item, "flag behind a blank", name=item.strip())
        return
    prefix = next((flag for flag in PLAIN if item.startswith(flag) and name != flag), None)
    if prefix:
        yield found("flag set", item, "flag set by prefix", name=prefix)
    elif name in PLAIN and equals and value.lower() in ("0", "false", "no", "off", "none"):
        yield found("flag set", item, "flag set to no", name=name, item=item)
    elif name in _NUMBERS and not value.strip().isdigit():
        yield found("flag value", item, "flag without number", name=name, value=value)
    elif name == "bareNucleus" and value not in NUCLEUS_MODES:
        yield found("flag value", item, "nucleus mode")
    elif name in READ and str(getattr(queue, name, "")) != value:
        yield found("not a flag", item, name=name, value=str(getattr(queue, name, "")) or "empty")
    elif name not in PLAIN and name not in VALUED and name not in READ:
        meant = nearest(name, (*PLAIN, *VALUED))
        if meant is not None:
            yield found("unknown flag", item, name=name, meant=meant)
