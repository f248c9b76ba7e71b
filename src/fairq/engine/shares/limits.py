"""Running limits of a site (DIRAC Limiter; docs/dirac.md 6.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from fairq.engine.shares.notes import Note, NoteKind, note
from fairq.engine.shares.options import is_yes
from fairq.engine.shares.rules import Rules
from fairq.errors.shares import ShareCorrectionError, ShareSetting

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
"""Those of them that a task queue decides for all its jobs: a limit or delay on others cannot leave a queue out."""

Counter = Callable[[str, str | None], Mapping[str, int]]
"""Returns the number of running jobs at the site by value, for an attribute and a CE (None: the whole site)."""


class Reached(NamedTuple):
    """A limit that is reached: at most *limit* jobs with this *value* of *attribute* may run, and *running* do."""

    attribute: str
    value: str
    running: int
    limit: int


class SiteLimits(Struct, frozen=True):
    """The effect of a site's limits: those *reached*, and *notes* about limits that are not applied."""

    reached: tuple[Reached, ...] = ()
    notes: tuple[Note, ...] = ()


def running_limits(
    job_scheduling: Mapping[str, Any], site: str, ce: str | None, count: Counter, rules: Rules
) -> SiteLimits:
    """Return the limits at *site* and its *ce* from the options CheckJobLimits and RunningLimit of *job_scheduling*.

    Raises ShareCorrectionError for a limit that is not an integer; under the rules dirac, it disables the limits beside
    it.
    """
    if not is_yes(job_scheduling.get("CheckJobLimits", True)):
        return SiteLimits()
    of_site = _section(job_scheduling, "RunningLimit", site)
    parts = [_reached(f"RunningLimit/{site}", of_site, lambda attribute: count(attribute, None), rules)]
    if ce:
        own = None if rules.ce_limits == "site" else ce
        of_ce = _section(of_site, CES, ce)
        parts.append(_reached(f"RunningLimit/{site}/CEs/{ce}", of_ce, lambda attribute: count(attribute, own), rules))
    return SiteLimits(
        tuple(one for part in parts for one in part.reached), tuple(one for part in parts for one in part.notes)
    )


def by_attribute(kinds: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return attributes with values as a negative condition: the values by attribute."""
    negative: dict[str, list[str]] = {}
    for attribute, value in dict.fromkeys(kinds):
        negative.setdefault(attribute, []).append(value)
    return negative


def _section(options: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    found: Any = options
    for name in path:
        found = found.get(name, {}) if isinstance(found, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def _reached(
    where: str, section: Mapping[str, Any], count: Callable[[str], Mapping[str, int]], rules: Rules
) -> SiteLimits:
    limits: dict[str, dict[str, int]] = {}
    for attribute, options in section.items():
        if not isinstance(options, Mapping):
            continue
        plain = {value: limit for value, limit in options.items() if not isinstance(limit, Mapping)}
        try:
            limits[attribute] = {value: int(str(limit)) for value, limit in plain.items()}
        except ValueError:
            if rules.checked_settings:
                raise ShareCorrectionError(ShareSetting.LIMIT, where=where, attribute=attribute) from None
            return SiteLimits((), (note(NoteKind.LIMIT_NOT_AN_INTEGER, where, name=attribute),))
    reached: list[Reached] = []
    notes = []
    for attribute, of_values in limits.items():
        if attribute not in JOB_ATTRIBUTES:
            if attribute != CES:
                notes.append(note(NoteKind.UNKNOWN_ATTRIBUTE, where, name=attribute))
            continue
        if rules.negative_fields == "any" and attribute not in QUEUE_ATTRIBUTES:
            notes.append(note(NoteKind.NOT_OF_QUEUES, where, name=attribute))
            continue
        running = count(attribute)
        reached += [
            Reached(attribute, value, running.get(value, 0), limit)
            for value, limit in of_values.items()
            if running.get(value, 0) >= limit
        ]
    return SiteLimits(tuple(reached), tuple(notes))
