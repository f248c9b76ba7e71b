"""The settings of DIRAC's scheme, and the groups that were imported, as the engine wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairq.engine.shares.cpu_time import read_segments
from fairq.engine.shares.groups import JOB_SHARING, SCHEMA_JOB_SHARING, read_group
from fairq.engine.shares.job_needs import JobDefaults
from fairq.engine.shares.model import OwnerGroup
from fairq.engine.shares.options import names
from fairq.engine.shares.rules import Rules
from fairq.settings.key import DIRAC
from fairq.settings.rule_points.dirac import CORRECTIONS_STARTED, SHARE_POINTS
from fairq.state import share_groups
from fairq.state.connection import State

if TYPE_CHECKING:
    from fairq.settings import Settings

POINTS = tuple(key for key in SHARE_POINTS if key.name != CORRECTIONS_STARTED)
"""The rule points that are fields of the engine's rules."""


@dataclass(frozen=True, slots=True)
class SharePolicy:
    """What decides about task queues.

    Args:
        rules: what is computed.
        groups: the configured and imported groups, by name.
        job_defaults: how jobs are read.
        capacity: how many jobs a queue takes.
        corrections: the block ShareCorrections; empty if nothing is to be corrected.
        job_scheduling: DIRAC's options of limits and delays.
        usable_sites: pilots of all other sites get test jobs alone; None: every site is in use.
    """

    rules: Rules
    groups: Mapping[str, OwnerGroup]
    job_defaults: JobDefaults
    capacity: int
    corrections: Mapping[str, Any] = field(default_factory=dict)
    job_scheduling: Mapping[str, Any] = field(default_factory=dict)
    usable_sites: tuple[str, ...] | None = None


def share_policy(settings: Settings, state: State, rules_name: str | None = None) -> SharePolicy:
    """Return the policy that *settings* describe, with the groups that were imported into *state*.

    *rules_name* goes before the rules of the settings.

    Raises:
        SettingValueError: the intervals of CPU time are no rising whole numbers.
        ShareCorrectionError: a group's share cannot be meant.
    """
    if rules_name is not None:
        settings = settings.under(rules_name, scheme=DIRAC)
    rules = share_rules(settings)
    intervals = settings["shares.task_queue_cpu_time_intervals"]
    segments = read_segments(intervals, rules)
    if intervals and rules.checked_settings and ",".join(map(str, segments)) != ",".join(names(intervals)):
        raise settings.refusal("shares.task_queue_cpu_time_intervals")
    return SharePolicy(
        rules=rules,
        groups=read_groups(settings, {one.name: one.properties for one in share_groups.load_all(state)}, rules),
        job_defaults=JobDefaults(
            rules,
            segments,
            settings["shares.default_cpu_time"],
            _whole_if_it_is(settings["shares.default_priority"]),
        ),
        capacity=settings["shares.max_jobs_in_task_queue"],
        corrections=settings.block("ShareCorrections") if settings["shares.enable_shares_correction"] else {},
        job_scheduling={
            "CheckJobLimits": settings["shares.check_job_limits"],
            "CheckMatchingDelay": settings["shares.check_matching_delay"],
            "RunningLimit": settings.block("RunningLimit"),
            "MatchingDelay": settings.block("MatchingDelay"),
        },
        usable_sites=None if (usable := settings["shares.usable_sites"]) is None else names(usable),
    )


def share_rules(settings: Settings, name: str | None = None) -> Rules:
    """Return the rules that *settings* choose, or those called *name*; points that somebody set count either way."""
    if name is not None:
        settings = settings.under(name, scheme=DIRAC)
    return preset(settings[DIRAC.rules], **{key.name: settings[key.full_name] for key in POINTS})


def preset(name: str, **points: Any) -> Rules:
    """Return the rules called *name* ("documented" or "dirac") as the table of settings has them.

    Single *points* may be set otherwise.
    """
    return Rules(**{"name": name, **{key.name: key.default_under(name) for key in POINTS}, **points})


def _whole_if_it_is(number: float) -> float:
    return int(number) if number.is_integer() else number


def read_groups(settings: Settings, imported: Mapping[str, Mapping[str, Any]], rules: Rules) -> dict[str, OwnerGroup]:
    """Return the groups with the options *imported* of them and what *settings* say laid over.

    Raises ShareCorrectionError: a group's share cannot be meant.
    """
    configured = settings.share_groups
    options = {name: _over(imported.get(name, {}), configured.get(name, {})) for name in (*imported, *configured)}
    return {name: read_group(name, options[name], rules) for name in options}


def _over(imported: Mapping[str, Any], configured: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group's options by DIRAC's names: as imported, with what is configured laid over it."""
    options = dict(imported)
    if "job_share" in configured:
        share = configured["job_share"]
        options["JobShare"] = _whole_if_it_is(float(share))
    if "job_sharing" in configured:
        others = [name for name in names(options.get("Properties")) if name not in (JOB_SHARING, SCHEMA_JOB_SHARING)]
        options["Properties"] = [*others, JOB_SHARING] if configured["job_sharing"] else others
    if "allow_background_tqs" in configured:
        options["AllowBackgroundTQs"] = configured["allow_background_tqs"]
    if configured.get("vo"):
        options["VO"] = configured["vo"]
    return options
