"""How well a satellite reaches the nucleus that output is gathered at (docs/panda.md, Network weight)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

NUCLEUS_WEIGHT = 2.5
"""Both parts of the weight where the satellite is the nucleus itself."""

MAX_CLOSENESS = 11.0
BLOCKED = -1
"""The closeness of a link that must not be used; 0 is best, 11 is worst."""

UNKNOWN_CLOSENESS = MAX_CLOSENESS * 0.7
"""What a link of unknown closeness counts as."""

STEPS = ((200.0, 2.0), (100.0, 1.9), (75.0, 1.8), (50.0, 1.6), (20.0, 1.5), (10.0, 1.3), (2.0, 1.2), (1.0, 1.1))
"""Throughputs in MB/s and the weight of what is above each of them; all else weighs 1."""

CLOSENESS_KEY = "AGIS_closeness"
QUEUED_KEY = "Production Output_queued"
EXPRESS_QUEUED_KEY = "Express_queued"
THROUGHPUT_KEYS = ("dashb_mbps_1h", "dashb_mbps_1d", "dashb_mbps_1w")
"""Names under which the metrics of a link are published, throughput from the freshest on."""


@dataclass(frozen=True, slots=True)
class NetworkWeight:
    """The weight of one satellite and what it was made of.

    Args:
        weight: the weight itself; *queued_weight* and *throughput_weight* are its parts.
        queued: files queued on the link.
        mbps: the throughput that counted in MB/s; None: none is known, and closeness counts.
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
    """Return the throughput that counts of those of the last hour, day and week, None if none is known.

    Args:
        fresh_to_old: MB/s, None is not known.
        choice: ``freshest``: the first that is known; ``unbroken``: from the week on towards the hour, the last one
            before the first that is not known (what PanDA's code comes to).
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
        metrics: numbers by PanDA's names; what is missing is not known.
        is_nucleus: the satellite is the nucleus.
        queued_cap: ``NQUEUED_SAT_CAP``: files queued at which the queued part comes down to 1.
        queue_importance: ``NW_QUEUE_IMPORTANCE``: part of the weight that is by queued files.
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
