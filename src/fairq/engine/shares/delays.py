"""Matching delays of a site: the minimum time between starts of jobs of one kind (DIRAC Limiter; docs/dirac.md 6.2).

Every attribute and value has a bucket of at most `burst` starts (default 1). A job start takes one out, and one returns
after each delay. With a burst of 1, the delay is the minimum time between two starts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from fairq.engine.shares.options import is_yes
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import ShareCorrectionError, ShareSetting

BURST = "Burst"

Kind = tuple[str, str]
"""An attribute of jobs and one of its values."""


class Delay(Struct, frozen=True):
    """The delay of one kind: seconds per start, and the burst."""

    seconds: float
    burst: float = 1.0


class Bucket(NamedTuple):
    """Number of starts left at a time (seconds since 1970); this is the stored state."""

    left: float
    time: float


def read_delays(job_scheduling: Mapping[str, Any], site: str, rules: Rules) -> dict[Kind, Delay]:
    """Return the delays of *site* in the options CheckMatchingDelay and MatchingDelay.

    Raises ShareCorrectionError for a delay that is not a number or a burst below 1. Under the rules dirac, the former
    disables all delays of the site, and the latter counts as 1.
    """
    if not is_yes(job_scheduling.get("CheckMatchingDelay", True)):
        return {}
    section = (job_scheduling.get("MatchingDelay") or {}).get(site) or {}
    bursts = section.get(BURST) or {}
    found = {}
    for attribute, options in section.items():
        if attribute == BURST or not isinstance(options, Mapping):
            continue
        for value, text in options.items():
            seconds = _number(text)
            burst = _number((bursts.get(attribute) or {}).get(value, 1))
            if burst < 1 and not rules.checked_settings:
                burst = 1.0
            if not (seconds >= 0 and burst >= 1):
                if rules.checked_settings:
                    raise ShareCorrectionError(
                        ShareSetting.DELAY, where=f"MatchingDelay/{site}", attribute=attribute, value=value, text=text
                    )
                return {}
            found[attribute, value] = Delay(seconds, burst)
    return found


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def left(delay: Delay, bucket: Bucket | None, now: float) -> float:
    """Return the number of starts left at *now*."""
    if bucket is None or not delay.seconds:
        return delay.burst
    return min(delay.burst, bucket.left + max(0.0, now - bucket.time) / delay.seconds)


def delayed(delays: Mapping[Kind, Delay], buckets: Mapping[Kind, Bucket], now: float) -> dict[Kind, float]:
    """Return the kinds of jobs that may not start at *now*, each with the seconds until the next start."""
    starts = {kind: left(delay, buckets.get(kind), now) for kind, delay in delays.items()}
    return {kind: round((1 - count) * delays[kind].seconds, 6) for kind, count in starts.items() if count < 1 - 1e-9}


def started(
    delays: Mapping[Kind, Delay], buckets: Mapping[Kind, Bucket], job: Mapping[str, Collection[str]], now: float
) -> dict[Kind, Bucket]:
    """Return the buckets that change when a *job* with these values of its attributes starts at *now*."""
    return {
        kind: Bucket(max(0.0, left(delay, buckets.get(kind), now) - 1), now)
        for kind, delay in delays.items()
        if kind[1] in job.get(kind[0], ()) and delay.seconds
    }
