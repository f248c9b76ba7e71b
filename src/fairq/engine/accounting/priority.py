"""Real and effective priority, and how a record is charged for a stretch of time.

Rules: the manual's formula of the real user priority; HTCondor's ``UpdateOnePriority``. Values keep full
floating-point precision: HTCondor's log rounds every number to six decimals each time it is written, which
makes many small steps differ from one large one.
"""

from __future__ import annotations

from fairq.common.records import AccountingRecord

MINIMUM_PRIORITY = 0.5
"""The best real priority; no priority decays below it."""

LOGGED_DECIMALS = 6
"""Decimals of a number in the log of HTCondor's accountant."""

MAXIMUM_EFFECTIVE_PRIORITY = 1e300
"""The worst effective priority: finite, and small enough that sums and ratios of it stay finite."""


def decay(seconds: float, half_life: float) -> float:
    """Return the fraction of a priority that remains after *seconds*: one half after *half_life* seconds."""
    return float(0.5 ** (seconds / half_life))


def real_priority(record: AccountingRecord) -> float:
    """Return the real priority of *record*, at least 0.5."""
    return max(MINIMUM_PRIORITY, record.priority)


def effective_priority(record: AccountingRecord, factor: float) -> float:
    """Return the effective priority of *record*: real priority times *factor*. Lower is better."""
    return min(real_priority(record) * factor, MAXIMUM_EFFECTIVE_PRIORITY)


def correct_usage(record: AccountingRecord, seconds: float, slots: int, weight: float) -> tuple[float, float]:
    """Add the usage of *slots* with that *weight* in the *seconds* before the last update, which did not count them.

    With negative numbers, subtract what the update charged too much. Return the change of usage, plain and weighted.
    """
    before = record.accumulated_usage, record.weighted_accumulated_usage
    record.accumulated_usage = max(0.0, record.accumulated_usage + slots * seconds)
    record.weighted_accumulated_usage = max(0.0, record.weighted_accumulated_usage + weight * seconds)
    return record.accumulated_usage - before[0], record.weighted_accumulated_usage - before[1]


def correct_priority(record: AccountingRecord, seconds: float, weight: float, half_life: float) -> None:
    """Correct the priority for *weight* in use in the *seconds* before the last update, which did not count it."""
    increase = weight * (1.0 - decay(seconds, half_life))
    record.priority = max(MINIMUM_PRIORITY, real_priority(record) + increase)


def charge(record: AccountingRecord, seconds: float, remaining: float, now: int) -> tuple[float, float]:
    """Charge *record* for its use during the *seconds* up to *now*, and move its priority towards that use.

    *remaining* is `decay` over these seconds. The priority moves towards the mean weight of the slots in use in
    this time; uncharged time, in slot-seconds, corrects for matches made or ended within it. The priority of a group
    follows the use of its whole subtree. Real priority never falls below 0.5, and usage never shrinks. Return the
    slot-seconds charged, plain and weighted.
    """
    used = max(0.0, record.resources_used * seconds + record.uncharged_time)
    weighted = max(0.0, record.weighted_resources_used * seconds + record.weighted_uncharged_time)
    recent = weighted / seconds
    if record.hier_weighted_resources_used > 0:
        recent = record.hier_weighted_resources_used
    record.priority = max(MINIMUM_PRIORITY, real_priority(record) * remaining + recent * (1.0 - remaining))
    record.accumulated_usage += used
    record.weighted_accumulated_usage += weighted
    record.uncharged_time = 0.0
    record.weighted_uncharged_time = 0.0
    if record.accumulated_usage > 0 and record.begin_usage_time == 0:
        record.begin_usage_time = now
    if used > 0:
        record.last_usage_time = now
    return used, weighted
