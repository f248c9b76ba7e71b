"""Running limits and matching delays of a site, and the task queues that they exclude (DIRAC Limiter; docs/dirac.md 6).

For delays, every attribute and value has a token bucket of at most `burst` starts (default 1). A job start takes one
token, and one is added after each delay. With a burst of 1, the delay is the minimum time between two starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from fairq.engine.shares.columns import Mask
from fairq.engine.shares.options import Note, NoteKind, is_yes, note
from fairq.engine.shares.pilot import SETS, SINGLE, values
from fairq.engine.shares.queues import Requirements, RequirementTable
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import DiracFailure, DiracStopsError, ShareCorrectionError, ShareSetting

CES = "CEs"

JOB_ATTRIBUTES = frozenset(
    (
        *("JobID", "JobName", "JobType", "JobGroup", "Site", "Owner", "OwnerGroup", "VO", "UserPriority"),
        *("Status", "MinorStatus", "ApplicationStatus", "RescheduleCounter", "VerifiedFlag", "AccountedFlag"),
        *("SubmissionTime", "RescheduleTime", "LastUpdateTime", "StartExecTime", "HeartBeatTime", "EndExecTime"),
    )
)
"""Attributes that can be limited: the columns of DIRAC's job table."""

QUEUE_ATTRIBUTES = frozenset(("JobType", "Owner", "OwnerGroup", "Site"))
"""The attributes that all jobs of a task queue share: a limit or delay on others cannot exclude a queue."""

Counter = Callable[[str, str | None], Mapping[str, int]]
"""Returns the number of running jobs at the site by value, for an attribute and a CE (None: the whole site)."""

Negative = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""By field, the values at their limit. If there are several (one per site), all must exclude a queue."""

Test = Callable[[RequirementTable], Mask]
"""Returns which task queues it matches."""

BURST = "Burst"

Kind = tuple[str, str]
"""An attribute of jobs and one of its values."""


class Delay(Struct, frozen=True):
    """The delay of one kind: seconds per start, and the burst."""

    seconds: float
    burst: float = 1.0


class Bucket(NamedTuple):
    """The number of starts left at *time* (seconds since 1970); this is the stored state."""

    left: float
    time: float


class RunningLimit(NamedTuple):
    """At most *limit* jobs with this *value* of *attribute* may run, and *running* do; at *ce* (None: the site)."""

    attribute: str
    value: str
    running: int
    limit: int
    ce: str | None = None

    @property
    def is_reached(self) -> bool:
        """Whether no further job may start."""
        return self.running >= self.limit


class SiteLimits(Struct, frozen=True):
    """The *limits* of a site that are applied, and *notes* about the others."""

    limits: tuple[RunningLimit, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def reached(self) -> tuple[RunningLimit, ...]:
        """The limits that are reached."""
        return tuple(limit for limit in self.limits if limit.is_reached)


def running_limits(
    job_scheduling: Mapping[str, Any], site: str, ce: str | None, count: Counter, rules: Rules
) -> SiteLimits:
    """Return the limits at *site* and its *ce* from the options CheckJobLimits and RunningLimit of *job_scheduling*.

    Raises ShareCorrectionError for a limit that is not an integer; under the rules dirac, it disables the other limits
    of its section.
    """
    if not is_yes(job_scheduling.get("CheckJobLimits", True)):
        return SiteLimits()
    site_options = _section(job_scheduling, "RunningLimit", site)
    parts = [_read_limits(f"RunningLimit/{site}", site_options, lambda attribute: count(attribute, None), rules)]
    if ce:
        counted_ce = None if rules.ce_limits == "site" else ce
        ce_options = _section(site_options, CES, ce)
        where = f"RunningLimit/{site}/CEs/{ce}"
        parts.append(_read_limits(where, ce_options, lambda attribute: count(attribute, counted_ce), rules, ce))
    return SiteLimits(
        tuple(limit for part in parts for limit in part.limits), tuple(text for part in parts for text in part.notes)
    )


def by_attribute(kinds: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return attributes with values as a negative condition: the values by attribute."""
    negative: dict[str, list[str]] = {}
    for attribute, value in dict.fromkeys(kinds):
        negative.setdefault(attribute, []).append(value)
    return negative


def _section(options: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    section: Any = options
    for name in path:
        section = section.get(name, {}) if isinstance(section, Mapping) else {}
    return section if isinstance(section, Mapping) else {}


def _read_limits(
    where: str,
    section: Mapping[str, Any],
    count: Callable[[str], Mapping[str, int]],
    rules: Rules,
    ce: str | None = None,
) -> SiteLimits:
    limits: dict[str, dict[str, int]] = {}
    for attribute, options in section.items():
        if not isinstance(options, Mapping):
            continue
        plain_limits = {value: limit for value, limit in options.items() if not isinstance(limit, Mapping)}
        try:
            limits[attribute] = {value: int(str(limit)) for value, limit in plain_limits.items()}
        except ValueError:
            if rules.checked_settings:
                raise ShareCorrectionError(ShareSetting.LIMIT, where=where, attribute=attribute) from None
            return SiteLimits((), (note(NoteKind.LIMIT_NOT_AN_INTEGER, where, name=attribute),))
    applied: list[RunningLimit] = []
    notes = []
    for attribute, value_limits in limits.items():
        if attribute not in JOB_ATTRIBUTES:
            if attribute != CES:
                notes.append(note(NoteKind.UNKNOWN_ATTRIBUTE, where, name=attribute))
            continue
        if not _is_applied(attribute, rules):
            notes.append(note(NoteKind.NOT_OF_QUEUES, where, name=attribute))
            continue
        running = count(attribute)
        applied += [
            RunningLimit(attribute, value, running.get(value, 0), limit, ce) for value, limit in value_limits.items()
        ]
    return SiteLimits(tuple(applied), tuple(notes))


def _is_applied(attribute: str, rules: Rules) -> bool:
    """Return whether a limit or delay on *attribute* is applied; most attributes are not those of task queues."""
    return attribute in QUEUE_ATTRIBUTES or rules.negative_fields == "all"


def excluded(negative: Negative, rules: Rules) -> Test:
    """Return a test that returns which task queues *negative* excludes.

    One dictionary excludes a queue if a field matches; with negative_fields = all, if every field matches. Unknown
    fields never match; under the rules dirac they are ignored, and raise DiracStopsError if all fields are unknown.
    """
    if isinstance(negative, Mapping):
        return _excluded_by(negative, rules) if negative else _MATCHES_NOTHING
    return _all_of([_excluded_by(condition, rules) for condition in negative]) if negative else _MATCHES_NOTHING


def excludes(negative: Negative, queue: Requirements, rules: Rules) -> bool:
    """Return whether *negative* excludes one queue; raises as `excluded`."""
    return bool(excluded(negative, rules)(RequirementTable.of([queue])).all())


def _all_of(tests: Sequence[Test]) -> Test:
    """Return the test that matches what all *tests* match."""
    return lambda table: reduce(np.logical_and, (test(table) for test in tests), np.ones(len(table), bool))


def _any_of(tests: Sequence[Test]) -> Test:
    """Return the test that matches what any of *tests* matches."""
    return lambda table: reduce(np.logical_or, (test(table) for test in tests), np.zeros(len(table), bool))


_MATCHES_NOTHING = _any_of(())


def _excluded_by(negative: Mapping[str, Any], rules: Rules) -> Test:
    dirac = rules.negative_values == "single"
    unknown = [field for field in negative if field not in SETS and field not in SINGLE]
    if dirac and len(unknown) == len(negative):
        failure = DiracFailure.UNKNOWN_LIMIT if unknown else DiracFailure.LIMIT_ON_NOTHING
        raise DiracStopsError(failure, fields=", ".join(unknown), known=", ".join((*SETS, *SINGLE)))
    tests = [
        _field_test(field, values_at_limit, rules)
        for field, values_at_limit in negative.items()
        if field not in unknown
    ]
    if rules.negative_fields == "any":
        return _any_of(tests)
    return _MATCHES_NOTHING if unknown and not dirac else _all_of(tests)


def _field_test(field: str, at_limit: Any, rules: Rules) -> Test:
    if field in SETS:
        field_name, excluded_names = SETS[field], frozenset(values(at_limit))
        if field == "Site" and rules.negative_fields == "any":
            # Jobs run at the pilot's site, even those of a queue that names no site.
            return lambda table: table.sites.where(lambda names: not names or not excluded_names.isdisjoint(names))
        return lambda table: ~getattr(table, field_name).where(excluded_names.isdisjoint)
    excluded_values = set(values(at_limit))
    if rules.negative_values == "single" and len(excluded_values) > 1:
        return _MATCHES_NOTHING
    return lambda table: getattr(table, SINGLE[field]).where(lambda value: str(value) in excluded_values)


def applied_delays(
    job_scheduling: Mapping[str, Any], site: str, rules: Rules
) -> tuple[dict[Kind, Delay], tuple[Note, ...]]:
    """Return the delays of *site* (CheckMatchingDelay, MatchingDelay) that are applied, and notes about the others.

    Raises ShareCorrectionError for a delay that is not a number or a burst below 1. Under the rules dirac, the former
    disables all delays of the site, and the latter counts as 1.
    """
    if not is_yes(job_scheduling.get("CheckMatchingDelay", True)):
        return {}, ()
    section = (job_scheduling.get("MatchingDelay") or {}).get(site) or {}
    bursts = section.get(BURST) or {}
    delays: dict[Kind, Delay] = {}
    where, notes = f"MatchingDelay/{site}", []
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
                        ShareSetting.DELAY, where=where, attribute=attribute, value=value, text=text
                    )
                return {}, ()
            if _is_applied(attribute, rules):
                delays[attribute, value] = Delay(seconds, burst)
        if not _is_applied(attribute, rules):
            notes.append(note(NoteKind.NOT_OF_QUEUES, where, name=attribute))
    return delays, tuple(notes)


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def starts_left(delay: Delay, bucket: Bucket | None, now: float) -> float:
    """Return the number of starts left at *now*."""
    if bucket is None or not delay.seconds:
        return delay.burst
    return min(delay.burst, bucket.left + max(0.0, now - bucket.time) / delay.seconds)


def delayed(delays: Mapping[Kind, Delay], buckets: Mapping[Kind, Bucket], now: float) -> dict[Kind, float]:
    """Return the kinds of jobs that may not start at *now*, with the seconds until the next start."""
    starts = {kind: starts_left(delay, buckets.get(kind), now) for kind, delay in delays.items()}
    return {kind: round((1 - count) * delays[kind].seconds, 6) for kind, count in starts.items() if count < 1 - 1e-9}


def started(
    delays: Mapping[Kind, Delay], buckets: Mapping[Kind, Bucket], job: Mapping[str, Collection[str]], now: float
) -> dict[Kind, Bucket]:
    """Return the buckets that change when a *job* with these values of its attributes starts at *now*."""
    return {
        kind: Bucket(max(0.0, starts_left(delay, buckets.get(kind), now) - 1), now)
        for kind, delay in delays.items()
        if kind[1] in job.get(kind[0], ()) and delay.seconds
    }
