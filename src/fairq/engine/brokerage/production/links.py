"""Filters by the link to the nucleus and by the nucleus itself (docs/panda.md, Production filters)."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from fairq.engine.brokerage.flow.plugin import Codes, Details, KeyedFilter, Reason
from fairq.engine.brokerage.flow.request import BrokerageRequest
from fairq.engine.brokerage.pool.activity import PRODUCTION
from fairq.engine.brokerage.pool.queue_kinds import flags_of
from fairq.engine.brokerage.production.network_weight import BLOCKED, CLOSENESS_KEY, EXPRESS_QUEUED_KEY, QUEUED_KEY
from fairq.engine.brokerage.production.nucleus import (
    down_nuclei,
    link_numbers,
    nucleus_of,
    satellite_of,
    satellites,
)

DEFAULT_TRANSFERRING_LIMIT = 2000
"""Transferring jobs that a queue may have where CRIC gives no limit."""

_PRODUCTION = frozenset({PRODUCTION})


def queued_key(request: BrokerageRequest) -> str:
    """Return the metric of queued files that counts for the task."""
    return EXPRESS_QUEUED_KEY if request.is_express else QUEUED_KEY


def stop_for_nucleus(request: BrokerageRequest) -> tuple[str, Details] | None:
    """Return a reason if the task's nucleus is unknown, so that no queue is possible; otherwise None."""
    name = request.task.nucleus
    return None if not name or nucleus_of(request).is_known else ("unknown_nucleus", {"nucleus": name})


def goes_to_one_queue(request: BrokerageRequest) -> bool:
    """Return whether a negative ``t1Weight`` keeps the task's jobs, except merges, at one queue near the nucleus."""
    return (request.task.rule("TW") or 0) < 0 and not request.chunk.is_merging


class Link(KeyedFilter):
    """The link from the queue's storage to the nucleus must be open, without too many queued files.

    There are four tests, in this order. A queue whose output is already at the nucleus, or that has no output storage,
    is exempt. Under the rules documented, the cap on all files queued for the nucleus applies to it as well.
    """

    name = "link"
    stage = "link check"
    activities = _PRODUCTION
    reads = ("task.nucleus", "is_express")
    reasons = (
        Reason("dest_blacklisted", permanent=False),
        Reason("links_full", permanent=False),
        Reason("link_unusable"),
        Reason("link_unusable", permanent=False),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Look at tasks with a nucleus."""
        return bool(request.task.nucleus)

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the nucleus and the metric."""
        return request.task.nucleus, queued_key(request)

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Test the links of all queues at once."""
        place, key = nucleus_of(request), queued_key(request)
        columns, config, rules = request.columns, request.config, request.rules
        is_over = np.greater if rules.link_caps == "exceeded" else np.greater_equal
        tested = ~place.at_nucleus & ~satellites(columns).are("")
        codes = np.zeros(len(columns), dtype=np.uint8)
        down = place.output is not None and not place.output.is_up("write_wan")
        if is_over(place.totals.get(key, 0), config.amount("jobbroker.NQUEUED_NUC_CAP_FOR_JOBS")):
            codes[tested | (not rules.nucleus_cap_spares_nucleus)] = 2
        elif not down:
            queued = link_numbers(columns, place, key)
            codes[tested & is_over(queued, config.amount("jobbroker.NQUEUED_SAT_CAP"))] = 4
            codes[tested & (link_numbers(columns, place, CLOSENESS_KEY) == BLOCKED)] = 3
        if down:
            codes[tested] = 1
        return codes

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return what is queued or blocked, and the cap."""
        place, key, config = nucleus_of(request), queued_key(request), request.config
        told: Details = {"nucleus": place.name, "satellite": satellite_of(request.columns, row)}
        if reason.tag == "dest_blacklisted":
            output = place.output
            return told | ({"endpoint": output.rse, "write_wan": output.activities.get("write_wan")} if output else {})
        if reason.tag == "links_full":
            cap = config.amount("jobbroker.NQUEUED_NUC_CAP_FOR_JOBS")
            told |= {"queued": place.totals.get(key, 0), "NQUEUED_NUC_CAP_FOR_JOBS": cap}
            return told | _at_most(request, cap)
        if reason.permanent:
            return told | {"closeness": BLOCKED}
        queued = float(link_numbers(request.columns, place, key)[row])
        cap = config.amount("jobbroker.NQUEUED_SAT_CAP")
        return told | {"queued": queued, "NQUEUED_SAT_CAP": cap, **_at_most(request, cap)}


def _at_most(request: BrokerageRequest, cap: float) -> Details:
    # What is said of the cap depends on whether the cap itself passes.
    return {"at_most": cap} if request.rules.link_caps == "exceeded" else {}


class Transferring(KeyedFilter):
    """A queue may not have too many transferring jobs; under the rules panda, only satellites are tested."""

    name = "transferring"
    stage = "transferring check"
    activities = _PRODUCTION
    reads = ("task.nucleus",)
    reasons = (Reason("transferring", permanent=False),)

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the nucleus."""
        return request.task.nucleus

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse queues with more transferring jobs than the limit and than twice their running jobs."""
        columns, place = request.columns, nucleus_of(request)
        moving, limit = self._numbers(request)
        codes: Codes = moving > np.maximum(limit, 2 * columns.job_counts(None, "running"))
        if request.rules.transfers_spare_nucleus:
            codes = codes & ~place.near & ~place.at_nucleus & ~satellites(columns).are("")
        return codes

    def _numbers(self, request: BrokerageRequest) -> tuple[np.ndarray, np.ndarray]:
        columns, every = request.columns, request.rules.every_queue
        moving = columns.job_counts(None, "transferring")
        if request.rules.transfers_spare_nucleus:
            down, by_nucleus = down_nuclei(columns, every=every), columns.world.transferring_by_nucleus
            moving = moving - columns.unit_numbers_of(
                ("transfers to down nuclei", every),
                lambda unit: sum(n for place, n in by_nucleus.get(unit.name, {}).items() if place in down),
            )
        limit = columns.unit_numbers_of(
            "transferring limit", lambda unit: unit.transferringlimit or DEFAULT_TRANSFERRING_LIMIT
        )
        return moving, limit

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the counts and the limit."""
        moving, limit = self._numbers(request)
        running = int(request.columns.job_counts(None, "running")[row])
        told: Details = {"transferring": int(moving[row]), "transferringlimit": int(limit[row]), "running": running}
        return told | {"at_most": max(int(limit[row]), 2 * running)}


class T1Weight(KeyedFilter):
    """A task with a negative ``t1Weight`` stays at the nucleus and at queues that share its storage."""

    name = "t1weight"
    stage = "T1 weight check"
    activities = _PRODUCTION
    reads = ("task.nucleus", "chunk.is_merging", "rule TW")
    reasons = (Reason("t1weight"),)

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the nucleus that the task stays at."""
        return goes_to_one_queue(request) and (request.task.nucleus,)

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse queues elsewhere."""
        return ~nucleus_of(request).near if goes_to_one_queue(request) else None

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the nucleus and the queue's own site."""
        return {"nucleus": request.task.nucleus, "site": request.columns.queues[row].site}


class FullChain(KeyedFilter):
    """Queues of a bare nucleus accept only full chains, and full chains go only there."""

    name = "full_chain"
    stage = "full chain check"
    activities = _PRODUCTION
    reads = ("task.nucleus", "rule FU")
    reasons = (
        Reason("full_chain"),
        Reason("not_full_chain"),
    )

    def applies(self, request: BrokerageRequest) -> bool:
        """Look at tasks with a nucleus."""
        return bool(request.task.nucleus) and request.rules.full_chain

    def key(self, request: BrokerageRequest) -> Hashable:
        """Return the nucleus of a full chain."""
        return request.task.has_rule("FU") and (request.task.nucleus,)

    def codes(self, request: BrokerageRequest) -> Codes | None:
        """Refuse by whether the task is a full chain."""
        if request.task.has_rule("FU") and nucleus_of(request).bare is not None:
            return ~nucleus_of(request).members
        only = [flags.bare_nucleus == "only" for flags in flags_of(request.columns)]
        return np.array(only, dtype=np.bool_) * np.uint8(2)

    def details(self, request: BrokerageRequest, row: int, reason: Reason) -> Details:
        """Return the nucleus, or what the queue says of itself."""
        if reason.tag == "full_chain":
            return {"nucleus": request.task.nucleus, "bareNucleus": nucleus_of(request).bare}
        return {"bareNucleus": "only"}
