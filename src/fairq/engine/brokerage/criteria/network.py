"""The network: links to the nucleus and their weight, transfers, and the access of worker nodes.

Source: docs/panda.md, Production filters, Network weight and Connectivity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from fairq.engine.brokerage.criteria.nucleus import down_nuclei, link_numbers, nucleus_of, satellite_of, satellites
from fairq.engine.brokerage.flow.ask import Ask
from fairq.engine.brokerage.flow.plan import FINAL_STAGE
from fairq.engine.brokerage.flow.plugin import Details, Figures, Reason, Refusal, Refusals, Values, refuses, weighs
from fairq.engine.brokerage.pool.columns import Floats, Pool
from fairq.engine.brokerage.pool.connectivity import (
    Connectivity,
    connectivity_of_rules,
    has_network,
    is_connected,
    read_queue_connectivity,
)
from fairq.engine.brokerage.pool.flags import other_than_jumbo

DEFAULT_TRANSFERRING_LIMIT = 2000
"""Transferring jobs that a queue may have where CRIC gives no limit."""

NUCLEUS_WEIGHT = 2.5
"""Both parts of the weight if the satellite is the nucleus itself."""

MAX_CLOSENESS = 11.0
BLOCKED = -1
"""The closeness of a blocked link; otherwise 0 is best, 11 is worst."""

UNKNOWN_CLOSENESS = MAX_CLOSENESS * 0.7
"""Closeness of a link if it is unknown."""

STEPS = ((200.0, 2.0), (100.0, 1.9), (75.0, 1.8), (50.0, 1.6), (20.0, 1.5), (10.0, 1.3), (2.0, 1.2), (1.0, 1.1))
"""Throughputs in MB/s, each with the weight above it; below all of them the weight is 1."""

CLOSENESS_KEY = "AGIS_closeness"
QUEUED_KEY = "Production Output_queued"
EXPRESS_QUEUED_KEY = "Express_queued"
THROUGHPUT_KEYS = ("dashb_mbps_1h", "dashb_mbps_1d", "dashb_mbps_1w")
"""Names under which the metrics of a link are published, throughput from the freshest on."""

DOWN, FULL = Reason("dest_blacklisted", permanent=False), Reason("links_full", permanent=False)
SHUT, BUSY = Reason("link_unusable"), Reason("link_unusable", permanent=False)
TRANSFERRING = Reason("transferring", permanent=False)
NO_NETWORK = Reason("network")
SLOW = Reason("lowNetworkWeight")


class NetworkWeight(NamedTuple):
    """The weight of one satellite, and its terms.

    Args:
        weight: the weight itself; *queued_weight* and *throughput_weight* are its parts.
        queued: files queued on the link.
        mbps: the throughput used, in MB/s; None: no throughput is known, and closeness is used.
        closeness: 0 best to 11 worst.
    """

    weight: float
    queued_weight: float
    throughput_weight: float
    queued: float
    mbps: float | None
    closeness: float


def throughput_weight(mbps: float) -> float:
    """Return the weight of a throughput in MB/s: 1 to 2."""
    return next((weight for limit, weight in STEPS if mbps > limit), 1.0)


def closeness_weight(closeness: float) -> float:
    """Return the weight of a closeness: 2 for 0 down to 1 for 11."""
    return 1 + (MAX_CLOSENESS - closeness) / MAX_CLOSENESS


def known_throughput(fresh_to_old: Iterable[float | None], choice: Literal["freshest", "unbroken"]) -> float | None:
    """Return the throughput to use, of the last hour, day or week; None if none is known.

    Args:
        fresh_to_old: MB/s, None is not known. choice: ``freshest``: the most recent known value; ``unbroken``: reading
        from the week to the hour, the last value before the first unknown one (the effect of PanDA's code).
    """
    values = list(fresh_to_old)
    if choice == "freshest":
        return next((value for value in values if value is not None), None)
    last = None
    for value in reversed(values):
        if value is None:
            break
        last = value
    return last


def network_weight(
    metrics: Mapping[str, float],
    *,
    is_nucleus: bool,
    queued_cap: float,
    queue_importance: float,
    choice: Literal["freshest", "unbroken"] = "freshest",
    queued_key: str = QUEUED_KEY,
) -> NetworkWeight:
    """Return the weight of a satellite by the *metrics* of its link to the nucleus.

    Args:
        metrics: numbers by PanDA's names; a missing one is unknown.
        is_nucleus: the satellite is the nucleus.
        queued_cap: ``NQUEUED_SAT_CAP``: number of queued files at which the queued part falls to 1.
        queue_importance: ``NW_QUEUE_IMPORTANCE``: part of the weight that depends on queued files.
        choice: see `known_throughput`.
        queued_key: the metric of queued files, that of express transfers for an express task.
    """
    queued = float(metrics.get(queued_key, 0.0))
    closeness = float(metrics.get(CLOSENESS_KEY, UNKNOWN_CLOSENESS))
    mbps = known_throughput((metrics.get(key) for key in THROUGHPUT_KEYS), choice)
    if is_nucleus:
        by_queued = by_throughput = NUCLEUS_WEIGHT
    else:
        by_queued = 2 - queued / queued_cap
        by_throughput = closeness_weight(closeness) if mbps is None else throughput_weight(mbps)
    weight = queue_importance * by_queued + (1 - queue_importance) * by_throughput
    return NetworkWeight(weight, by_queued, by_throughput, queued, mbps, closeness)


@refuses(
    "link",
    "link check",
    DOWN,
    FULL,
    SHUT,
    BUSY,
    reads=lambda ask: (ask.task.nucleus, ask.is_express) if ask.task.nucleus else None,
)
def link(pool: Pool, name: str, express: bool) -> Refusals:
    """Refuse queues whose link to the nucleus is blocked or has too many queued files.

    A queue whose output is already at the nucleus, or that has no output storage, is exempt. Under the rules
    documented, the cap on all files queued for the nucleus applies to it as well.
    """
    destination, rules = nucleus_of(pool, name), pool.rules
    key = EXPRESS_QUEUED_KEY if express else QUEUED_KEY
    exceeded = rules.link_caps == "exceeded"
    is_over = np.greater if exceeded else np.greater_equal
    tested = ~destination.at_nucleus & ~satellites(pool).are("")
    cap = pool.config.amount("jobbroker.NQUEUED_NUC_CAP_FOR_JOBS")
    output, total = destination.output, destination.totals.get(key, 0)
    is_down = output is not None and not output.is_up("write_wan")
    is_full = bool(is_over(total, cap))

    def link_details(row: int) -> Details:
        return {"nucleus": destination.name, "satellite": satellite_of(pool, row)}

    def capped(row: int, name: str, limit: float, queued: float) -> Details:
        # ``at_most`` is present if a number equal to the cap passes; it selects the words.
        return link_details(row) | {"queued": queued, name: limit, **({"at_most": limit} if exceeded else {})}

    if output is not None and is_down:
        down = {"endpoint": output.rse, "write_wan": output.activities.get("write_wan")}
        yield Refusal(DOWN, tested, lambda row: link_details(row) | down)
    if is_full:
        rows = tested | (not rules.nucleus_cap_spares_nucleus)
        yield Refusal(FULL, rows, lambda row: capped(row, "NQUEUED_NUC_CAP_FOR_JOBS", cap, total))
    if not (is_down or is_full):
        max_queued, queued = pool.config.amount("jobbroker.NQUEUED_SAT_CAP"), link_numbers(pool, destination, key)
        shut = tested & (link_numbers(pool, destination, CLOSENESS_KEY) == BLOCKED)
        yield Refusal(SHUT, shut, lambda row: link_details(row) | {"closeness": BLOCKED})
        busy = tested & is_over(queued, max_queued)
        yield Refusal(BUSY, busy, lambda row: capped(row, "NQUEUED_SAT_CAP", max_queued, float(queued[row])))


@refuses("transferring", "transferring check", TRANSFERRING, reads=lambda ask: (ask.task.nucleus,))
def transferring(pool: Pool, name: str | None) -> Refusals:
    """Refuse queues with more transferring jobs than their limit and than twice their running jobs.

    Under the rules panda, only satellites are tested, and transfers to nuclei that are down do not count.
    """
    running, moving = pool.job_counts(None, "running"), pool.job_counts(None, "transferring")
    limit = pool.unit_numbers_of(
        "transferring limit", lambda unit: unit.transferringlimit or DEFAULT_TRANSFERRING_LIMIT
    )
    if pool.rules.transfers_spare_nucleus:
        by_nucleus, down = pool.world.transferring_by_nucleus, down_nuclei(pool)
        moving = moving - pool.unit_numbers_of(
            ("transfers to down nuclei", pool.rules.every_queue),
            lambda unit: sum(count for nucleus, count in by_nucleus.get(unit.name, {}).items() if nucleus in down),
        )
    max_transferring = np.maximum(limit, 2 * running)
    over = moving > max_transferring
    if pool.rules.transfers_spare_nucleus:
        destination = nucleus_of(pool, name)
        over = over & ~destination.near & ~destination.at_nucleus & ~satellites(pool).are("")

    def figures(row: int) -> Details:
        columns = {"transferring": moving, "transferringlimit": limit, "running": running, "at_most": max_transferring}
        return {key: int(numbers[row]) for key, numbers in columns.items()}

    yield Refusal(TRANSFERRING, over, figures)


def _reads_connectivity(ask: Ask) -> Values | None:
    rules = ask.task.rules
    needed = connectivity_of_rules(rules.get("IP"), rules.get("IK"), ip_stack_of_queue=ask.rules.ip_stack_of_queue)
    return None if ask.is_spared_alone or needed == Connectivity() else (needed,)


@refuses("network", "network check", NO_NETWORK, reads=_reads_connectivity)
def connectivity(pool: Pool, needed: Connectivity) -> Refusals:
    """Refuse queues whose worker nodes lack the network access that the task needs."""
    exact = pool.rules.ip_stack_of_queue
    texts, text_of = pool.different("connectivity", lambda queue: queue.wnconnectivity)
    offered = [read_queue_connectivity(text) for text in texts]
    lacking = np.array([not is_connected(access, needed, ip_stack_of_queue=exact) for access in offered], np.bool_)

    def figures(row: int) -> Details:
        access = offered[text_of[row]]
        details: Details = {"wnconnectivity": texts[text_of[row]], "ipConnectivity": str(needed)}
        if has_network(access, needed):  # only the IP stack differs
            stack = access.ip_stack
            details |= {"ip_stack": stack or "unset", "task_ip_stack": needed.ip_stack or "unset"}
        return details

    yield Refusal(NO_NETWORK, lacking[text_of], figures)


def _is_active(pool: Pool) -> bool:
    return pool.rules.network_weight_always or pool.config.flag("jobbroker.NW_ACTIVE")


def _network_numbers(pool: Pool, name: str, express: bool) -> list[Floats]:
    """Return for each row the network weight towards a nucleus and its terms (see `NetworkWeight`; NaN: unknown)."""

    def make() -> list[Floats]:
        destination, config, output_sites = nucleus_of(pool, name), pool.config, satellites(pool)
        weights = [
            network_weight(
                destination.metrics.get(site, {}),
                is_nucleus=site == name,
                # With a cap of 0 every link is overfull.
                queued_cap=max(config.amount("jobbroker.NQUEUED_SAT_CAP"), 1.0),
                queue_importance=config.amount("jobbroker.NW_QUEUE_IMPORTANCE"),
                choice=pool.rules.throughput,
                queued_key=EXPRESS_QUEUED_KEY if express else QUEUED_KEY,
            )
            for site in output_sites.sites
        ]
        return [
            output_sites.spread([np.nan if number is None else number for number in column])
            for column in zip(*weights, strict=True)
        ]

    return pool.under(("network weight", name, express), make)


@weighs("network", reads=lambda ask: (ask.task.nucleus, ask.is_express) if ask.task.nucleus else None)
def network(pool: Pool, name: str, express: bool) -> tuple[Floats | None, Figures]:
    """Weigh by the network weight of the link from the queue's storage to the nucleus; a negative one counts as 0.

    Its figures are shown whether it counts or not.
    """
    numbers = _network_numbers(pool, name, express)

    def figures(row: int) -> Details:
        weight, by_queued, by_throughput, files, mbps, closeness = (float(column[row]) for column in numbers)
        return {
            "weightNw": weight,
            "weightNwQueued": by_queued,
            "weightNwThroughput": by_throughput,
            "closeness": closeness,
            "nFilesQueued": files,
            "throughputMBps": None if np.isnan(mbps) else mbps,
        }

    return np.maximum(numbers[0], 0.0) if _is_active(pool) else None, figures


def _reads_threshold(ask: Ask) -> Values | None:
    applies = ask.is_express and ask.task.nucleus and _is_active(ask.pool)
    return (ask.task.nucleus, ask.takes_jumbo_jobs) if applies else None


@refuses("network weight", FINAL_STAGE, SLOW, reads=_reads_threshold, phase="after")
def network_threshold(pool: Pool, name: str, jumbo: bool) -> Refusals:
    """Refuse slow links to the nucleus for express tasks; queues for their jumbo jobs are exempt."""
    weight, config = _network_numbers(pool, name, True)[0], pool.config
    threshold = config.amount("jobbroker.NW_THRESHOLD") * config.amount("jobbroker.NW_WEIGHT_MULTIPLIER")
    slow = other_than_jumbo(pool, weight < threshold * (1 - pool.rules.network_tolerance), jumbo)
    yield Refusal(SLOW, slow, lambda row: {"weightNw": float(weight[row]), "threshold": threshold})
