"""The first candidates: all queues, or those to which the task or its merge chunk is pre-assigned.

Source: docs/panda.md, Production filters.
"""

from __future__ import annotations

from collections.abc import Hashable
from difflib import get_close_matches

import numpy as np

from fairq.engine.brokerage.checks.candidates import CANDIDATES_STAGE
from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.jobs.site_lists import included_sites
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.bits import flags_in, joined
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.names import is_named
from fairq.engine.brokerage.pool.queue_kinds import runs, runs_all_of
from fairq.engine.brokerage.storage.endpoints import endpoints_of, units_reading

MERGE_SKIPPED = 24 * 3600.0
"""Seconds for which the given queues of a merge must have been skipped before the merge may go elsewhere."""

MERGE_AGE = 24 * 3600.0
MERGE_FAILING = 6 * 3600.0
"""Under the rules panda: seconds since the last change of its input, and seconds of failure of the task."""


def assign_given_queues(request: BrokerageRequest) -> None:
    """Store in the request the rows to which the task or its merge chunk is pre-assigned, if any."""
    given: set[int] | None = None
    task, chunk, columns = request.task, request.chunk, request.columns
    included = included_sites(task) if request.rules.included_sites_always else None
    if chunk.preassigned_site:
        if not _has_waited_in_vain(request):
            given = _rows_of(columns, chunk.preassigned_site) | _sharing_output(request, chunk.preassigned_site)
            request.preassigned = "list"
    else:
        if task.site and task.sites:
            given = set().union(*(_rows_of(columns, name) for name in task.sites))
            if not request.rules.every_queue:
                # Pseudo queues are looked for among those for production; a plain queue is taken as it is.
                usable = runs(columns, PRODUCTION, every=False)
                given = {row for row in given if usable[row] or columns.queues[row].name in task.sites}
        if included is not None:
            listed = {row for row, queue in enumerate(columns.queues) if is_named(queue, included)}
            given = listed if given is None else given & listed
        if given is not None:
            request.preassigned = "list" if len(given) > 1 else "single"
    if given is not None:
        request.given = joined(1 << row for row in given)


def stop_for_site(request: BrokerageRequest) -> tuple[str, Details] | None:
    """Return a reason if the task's ``site`` names no queue at all, so that no queue is possible; otherwise None."""
    task, columns = request.task, request.columns
    if not task.sites or request.chunk.preassigned_site or len(columns.unknown(task.sites)) < len(task.sites):
        return None
    close = get_close_matches(task.sites[0], columns.unit_names, 1)
    return "unknown_site", {"site": task.site, **({"nearest": close[0]} if close else {})}


def _has_waited_in_vain(request: BrokerageRequest) -> bool:
    # The task's cycles have failed since the first one in which its queues were skipped.
    master, frozen, now = request.chunk.datasets[0], request.task.frozen_time, request.world.now
    if request.rules.merges_freed_by_skips:
        return frozen is not None and now - frozen >= MERGE_SKIPPED
    return (
        master.created is not None
        and master.modified is not None
        and master.modified != master.created
        and now - master.modified > MERGE_AGE
        and frozen is not None
        and now - frozen > MERGE_FAILING
    )


def _rows_of(columns: Columns, name: str) -> set[int]:
    if name in columns.rows:
        return {columns.rows[name]}
    return {row for row, queue in enumerate(columns.queues) if queue.unit == name}


def _sharing_output(request: BrokerageRequest, name: str) -> set[int]:
    columns = request.columns
    # Other online queues that read what the given queue writes, and are for all that it is for, can merge its output.
    unit = columns.unit_numbers.get(name.partition("/")[0])
    output = None if unit is None else endpoints_of(columns)[unit].default_write
    if output is None:
        return set()
    readers = set(units_reading(columns).get(output.rse, np.empty(0, dtype=np.intp)).tolist())
    alike = runs_all_of(columns, columns.unit_of.tolist().index(unit), every=request.rules.every_queue)
    return {
        row
        for row, queue in enumerate(columns.queues)
        if columns.unit_of[row] in readers and queue.status == "online" and alike[row]
    }


class GivenQueues(KeyedFilter):
    """A pre-assigned task goes only to its given queues."""

    name = "given"
    stage = CANDIDATES_STAGE
    activities = frozenset({PRODUCTION})
    reads = ("given",)
    reasons = (Reason("nonpreassigned"),)

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply only where queues are given."""
        return request.given is not None

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the given queues."""
        return request.given

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse all but the given queues."""
        return ~flags_in(request.given or 0, len(request.columns))

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the queues given."""
        named = request.chunk.preassigned_site or request.task.site
        return {"site": named} if named else {"includedSite": list(included_sites(request.task) or ())}


class ProductionQueues(KeyedFilter):
    """Production queues are candidates; under the rules documented, queues for tests only if they are given."""

    name = "type"
    stage = CANDIDATES_STAGE
    activities = frozenset({PRODUCTION})
    reads = ("given",)
    reasons = (
        Reason("wrong_type"),
        Reason("test_queue"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Apply only where no queues are given."""
        return request.given is None

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse the queues of the wrong kind."""
        columns, exclude, every = request.columns, request.rules.exclude_test_queues, request.rules.every_queue
        codes = np.zeros(len(columns), dtype=np.uint8)
        if exclude:
            codes[columns.flags("test name", lambda queue: "test" in queue.unit.lower())] = 2
        codes[~runs(columns, PRODUCTION, every=every)] = 1
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return what kind of queue it is."""
        queue = request.columns.queues[row]
        return {"name": queue.unit} if reason.tag == "test_queue" else {"type": queue.type, "cloud": queue.cloud}
