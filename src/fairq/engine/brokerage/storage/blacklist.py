"""Storage endpoints out of service, and the effect on a queue (docs/panda.md, Production filters)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fairq.engine.brokerage.pool.model import Storage

READ_LAN = "read_lan_blacklist"
WRITE_LAN = "write_lan_blacklist"
WRITE_WAN = "write_wan_blacklist"
READ_WAN = "read_wan_blacklist"
SOURCE = "source_blacklist"


def blacklist_reason(
    read: Iterable[Storage],
    write: Iterable[Storage],
    *,
    in_nucleus: bool,
    source_available: bool,
    storage_type: str | None = None,
    complete_at: Collection[str] | None = None,
) -> str | None:
    """Return why the storage of a queue excludes it, or None (PanDA check_endpoints_with_blacklist).

    Args:
        read, write: the endpoints that it reads from and writes to.
        in_nucleus: it belongs to the nucleus (in analysis: it has the data), so that no transfer over WAN is needed.
        source_available: the input can be read over WAN somewhere.
        storage_type: the type of endpoints to check; None is all.
        complete_at: endpoints that have all of the input; if there are any, input must be moved to the other endpoints
            of a nucleus, as to those of a satellite.
    """
    inputs = [each for each in read if storage_type in {None, each.type}]
    outputs = [each for each in write if storage_type in {None, each.type}]
    granted = [in_nucleus and (not complete_at or each.rse in complete_at) for each in inputs]
    if not any(each.is_up("read_lan") for each in inputs):
        return READ_LAN
    if not any(each.is_up("write_lan") for each in outputs):
        return WRITE_LAN
    if not any(given or each.is_up("write_wan") for given, each in zip(granted, inputs, strict=True)):
        return WRITE_WAN
    if not in_nucleus and not any(each.is_up("read_wan") for each in outputs):
        return READ_WAN
    return None if source_available or in_nucleus else SOURCE
