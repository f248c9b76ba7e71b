"""The queue's storage: space, endpoints out of service, the user's local quota.

Source: docs/panda.md, Production filters and Analysis.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairq.engine.brokerage.criteria.locality import nearby
from fairq.engine.brokerage.criteria.nucleus import nucleus_of
from fairq.engine.brokerage.criteria.sources import analysis_sources_of, sources_of
from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plugin import Details, Reason, Refusal, Refusals, Values, refuses
from fairq.engine.brokerage.pool.columns import Booleans, Pool
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.storage import USER, endpoints_of
from fairq.engine.brokerage.pool.world import Quota, Storage

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
        in_nucleus: the queue belongs to the nucleus (in analysis: has the data) and needs no transfer over WAN.
        source_available: the input can be read over WAN somewhere.
        storage_type: the type of endpoints to check; None is all.
        complete_at: endpoints that have all of the input; if any, other endpoints of the nucleus need a transfer, as
            those of a satellite do.
    """
    inputs = [endpoint for endpoint in read if storage_type in {None, endpoint.type}]
    outputs = [endpoint for endpoint in write if storage_type in {None, endpoint.type}]
    no_transfer = [in_nucleus and (not complete_at or endpoint.rse in complete_at) for endpoint in inputs]
    if not any(endpoint.is_up("read_lan") for endpoint in inputs):
        return READ_LAN
    if not any(endpoint.is_up("write_lan") for endpoint in outputs):
        return WRITE_LAN
    if not any(exempt or endpoint.is_up("write_wan") for exempt, endpoint in zip(no_transfer, inputs, strict=True)):
        return WRITE_WAN
    if not in_nucleus and not any(endpoint.is_up("read_wan") for endpoint in outputs):
        return READ_WAN
    return None if source_available or in_nucleus else SOURCE


STORAGE_TYPE = "DATADISK"
"""The only type of endpoint that production uses."""

ELSEWHERE = frozenset({""})
"""Instead of endpoints of the nucleus: only other endpoints have all input."""

DISK = Reason("disk", permanent=False)
OUT_OF_SERVICE = tuple(Reason(tag, permanent=False) for tag in (READ_LAN, WRITE_LAN, WRITE_WAN, READ_WAN, SOURCE))
NO_SPACE, BLACKLIST, QUOTA = Reason("disk"), Reason("blacklist"), Reason("local_quota")


def _read_at(pool: Pool, name: str | None) -> frozenset[str]:
    """Return the endpoints that the queues of a nucleus read."""

    def make() -> frozenset[str]:
        units = set(pool.unit_of[nucleus_of(pool, name).members].tolist())
        return frozenset(endpoint.rse for unit in units for endpoint in endpoints_of(pool)[unit].read)

    return pool.under(("read at", name), make)


def _reads_storage(ask: Ask) -> Values:
    sources = sources_of(ask)
    # The answer depends only on which endpoints of the nucleus have all input, and whether any endpoint has.
    near = sources.complete_at and (sources.complete_at & _read_at(ask.pool, ask.task.nucleus) or ELSEWHERE)
    return ask.task.nucleus, sources.remote, near or None


@refuses("storage", "Storage check", DISK, *OUT_OF_SERVICE, reads=_reads_storage)
def storage(pool: Pool, name: str | None, remote: bool, complete_at: frozenset[str] | None) -> Refusals:
    """Refuse queues without space for output, or whose endpoints do not allow the task's reads, writes and transfers.

    Queues of the nucleus need no transfer of input. *remote*: input can be moved to other queues.
    """
    minimum, endpoints_by_unit = pool.config.amount("jobbroker.STORAGE_MIN_FREE_SIZE"), endpoints_of(pool)

    def problem(unit: int, *, inside: bool) -> str:
        endpoints = endpoints_by_unit[unit]
        if endpoints.default_write is not None and lacks_space(endpoints.default_write, minimum, pool.rules):
            return DISK.tag
        tag = blacklist_reason(
            endpoints.read,
            endpoints.write,
            in_nucleus=inside,
            source_available=remote or inside,
            storage_type=STORAGE_TYPE,
            complete_at=complete_at if inside else None,
        )
        return tag or ""

    # Outside the nucleus, the result does not depend on which nucleus it is.
    elsewhere = pool.under(
        ("storage", remote),
        lambda: np.array([problem(unit, inside=False) for unit in range(len(endpoints_by_unit))], object)[pool.unit_of],
    )
    tags = elsewhere.copy()
    for row in np.flatnonzero(nucleus_of(pool, name).members):
        tags[row] = problem(int(pool.unit_of[row]), inside=True)

    def figures(row: int) -> Details:
        endpoints, tag = endpoints_by_unit[pool.unit_of[row]], tags[row]
        output = endpoints.default_write
        if tag == DISK.tag and output is not None:
            output_space: Details = {
                "kind": "output_space",
                "endpoint": output.rse,
                **space_details(output, pool.rules),
            }
            return output_space | {"STORAGE_MIN_FREE_SIZE": minimum}
        if tag == SOURCE:
            return {"remote_source_available": False}
        side, activity = (
            endpoints.read if tag in {READ_LAN, WRITE_WAN} else endpoints.write,
            tag.removesuffix("_blacklist"),
        )
        states = {endpoint.rse: endpoint.activities.get(activity) for endpoint in side if endpoint.type == STORAGE_TYPE}
        return {"activity": activity, "endpoints": states}

    for reason in (DISK, *OUT_OF_SERVICE):
        yield Refusal(reason, tags == reason.tag, figures)


def _reads_analysis_storage(ask: Ask) -> Values:
    task = ask.task
    over = ask.pool.world.quotas.get(task.working_group or task.user or "", Quota()).endpoints_over
    return ask.local, analysis_sources_of(ask).remote, over, task.user, nearby(ask)


@refuses(
    "analysis storage", "storage space check", NO_SPACE, BLACKLIST, QUOTA, reads=_reads_analysis_storage, kept=False
)
def analysis_storage(
    pool: Pool, local: bool, remote: bool, over: frozenset[str], user: str | None, near: Booleans
) -> Refusals:
    """Refuse queues without space for output and moved input, or with endpoints out of service.

    Under the rules panda, the user must be within the quota of the output endpoint. Queues *near* the input need no
    transfer over WAN.
    """

    reasons = (None, NO_SPACE, BLACKLIST, QUOTA)

    def problem(unit: int, is_near: bool) -> tuple[Reason | None, Details]:
        return _problem(pool, unit, is_near, local, remote, over, user)

    def codes(is_near: bool) -> NDArray[np.uint8]:
        indices = [reasons.index(problem(unit, is_near)[0]) for unit in range(len(pool.units))]
        return np.array(indices, np.uint8)[pool.unit_of]

    key = "analysis storage", local, remote, over
    numbers = pool.under((*key, "far"), lambda: codes(False))
    if near.any():
        numbers = np.where(near, pool.under((*key, "near"), lambda: codes(True)), numbers)
    for number, reason in enumerate(reasons):
        if reason is not None:
            yield Refusal(reason, numbers == number, lambda row: problem(int(pool.unit_of[row]), bool(near[row]))[1])


def _problem(
    pool: Pool, unit: int, with_data: bool, local: bool, remote: bool, over: frozenset[str], user: str | None
) -> tuple[Reason | None, Details]:
    endpoints, rules, config = endpoints_of(pool, USER)[unit], pool.rules, pool.config
    output, source = endpoints.default_write, endpoints.default_read
    minimum_output = config.amount("anal_jobbroker.STORAGE_MIN_FREE_SIZE_OUTPUT")
    minimum_input = config.amount("jobbroker.STORAGE_MIN_FREE_SIZE")
    if not endpoints.write or (output is not None and lacks_space(output, minimum_output, rules)):
        return NO_SPACE, _space(pool, "output_space", output, minimum_output)
    # Moved input needs space as well, if it goes to another endpoint than the output.
    lacks_room = source is not None and source is not output and lacks_space(source, minimum_input, rules)
    if not local and (not endpoints.read or lacks_room):
        return NO_SPACE, _space(pool, "input_space", source, minimum_input)
    tag = blacklist_reason(endpoints.read, endpoints.write, in_nucleus=with_data, source_available=remote)
    if tag is not None:
        return BLACKLIST, {"blacklist": tag, "endpoint": output.rse if output else None}
    if rules.local_quota and output is not None and output.rse in over:
        return QUOTA, {"endpoint": output.rse, "user": user}
    return None, {}


def _space(pool: Pool, kind: str, endpoint: Storage | None, limit: float) -> dict[str, Any]:
    if endpoint is None:
        return {"kind": kind, "endpoint": None}
    return {"kind": kind, "endpoint": endpoint.rse, **space_details(endpoint, pool.rules), "limit": limit}


def lacks_space(storage: Storage, minimum: float, rules: Rules) -> bool:
    """Return whether *storage* lacks *minimum* GB; the rules define which space counts, and whether equality passes."""
    space = storage.space(rules.space)
    return space <= minimum if rules.space_must_exceed else space < minimum


def space_details(storage: Storage, rules: Rules) -> dict[str, float]:
    """Return the space that counts, by its name."""
    return {f"space_{rules.space}": storage.space(rules.space)}
