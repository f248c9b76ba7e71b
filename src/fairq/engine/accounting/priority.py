"""Real and effective priority, and how a record is charged for a stretch of time.

Rules: the manual's formula of the real user priority; HTCondor's ``UpdateOnePriority``. Values keep full
floating-point precision: HTCondor's log rounds every number to six decimals each time it is written, which
makes many small steps differ from one large one.
"""

from __future__ import annotations

from fairq.common.records import AccountingRecord

MINIMUM_PRIORITY = 0.5
"""The best real priority there is; nobody's decays below it."""

LOGGED_DECIMALS = 6
"""Decimals of a number in the log of HTCondor's accountant."""

MAXIMUM_EFFECTIVE_PRIORITY = 1e300
"""The worst effective priority: finite, and so far below the largest real that ratios of it add up."""


def decay(seconds: float, half_life: float) -> float:
    """Return the share of a priority that is left after *seconds*: one half after *half_life* seconds."""
    return float(0.5 ** (seconds / half_life))


def real_priority(record: AccountingRecord) -> float:
    """Return the real priority of *record*, at least 0.5."""
    return max(MINIMUM_PRIORITY, record.priority)


def effective_priority(record: AccountingRecord, factor: float) -> float:
    """Return the effective priority of *record*: real priority times *factor*. Lower is better."""
    return min(real_priority(record) * factor, MAXIMUM_EFFECTIVE_PRIORITY)


def correct_usage(record: AccountingRecord, seconds: float, slots: int, weight: float) -> tuple[float, float]:
    """Add what *slots* of that *weight* used in *seconds* before the last update, which did not count them.

    Negative numbers take off what it charged too much. Return by how much the usage changed, plain and weighted.
    """
    before = record.accumulated_usage, record.weighted_accumulated_usage
    record.accumulated_usage = max(0.0, record.accumulated_usage + slots * seconds)
    record.weighted_accumulated_usage = max(0.0, record.weighted_accumulated_usage + weight * seconds)
    return record.accumulated_usage - before[0], record.weighted_accumulated_usage - before[1]


def correct_priority(record: AccountingRecord, seconds: float, weight: float, half_life: float) -> None:
    """Make the priority what it would be, had the last update known of *weight* in use in the *seconds* before it."""
    moved = weight * (1.0 - decay(seconds, half_life))
    record.priority = max(MINIMUM_PRIORITY, real_priority(record) + moved)


def charge(record: AccountingRecord, seconds: float, left: float, now: int) -> tuple[float, float]:
    """Charge *record* for its use during the *seconds* up to *now* and let its priority follow that use.

    *left* is `decay` over these seconds. The priority moves towards the weighted slots in use, each counted
    for the part of the stretch it was in use (uncharged time, in slot-seconds, corrects for matches made or
    ended within it). A group's follows the use of the whole subtree below it. Real priority never falls
    below 0.5, and usage never shrinks. Return the slot-seconds charged, plain and weighted.
    """
    used = max(0.0, record.resources_used * seconds + record.uncharged_time)
    weighted = max(0.0, record.weighted_resources_used * seconds + record.weighted_uncharged_time)
    recent = weighted / seconds
    if record.hier_weighted_resources_used > 0:
        recent = record.hier_weighted_resources_used
    record.priority = max(MINIMUM_PRIORITY, real_priority(record) * left + recent * (1.0 - left))
    record.accumulated_usage += used
    record.weighted_accumulated_usage += weighted
    record.uncharged_time = 0.0
    record.weighted_uncharged_time = 0.0
    if record.accumulated_usage > 0 and record.begin_usage_time == 0:
        record.begin_usage_time = now
    if used > 0:
        record.last_usage_time = now
    return used, weighted
