"""The weight of the link between a satellite and the nucleus of the output (docs/panda.md, Network weight)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

NUCLEUS_WEIGHT = 2.5
"""Both parts of the weight where the satellite is the nucleus itself."""

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


class NetworkWeight(Struct, frozen=True):
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
