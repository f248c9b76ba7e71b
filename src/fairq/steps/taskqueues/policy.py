"""The settings of DIRAC's scheme and imported groups, converted to input of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from fairq.engine.shares.groups import JOB_SHARING, SCHEMA_JOB_SHARING, OwnerGroup, read_group
from fairq.engine.shares.needs import JobDefaults, default_within, read_segments
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


class SharePolicy(Struct, frozen=True):
    """The policy of task queues.

    Args:
        rules: the rules in use.
        groups: the configured and imported groups, by name.
        job_defaults: rules and defaults for reading jobs.
        capacity: maximum number of jobs of a queue.
        corrections: the block ShareCorrections; empty for no corrections.
        job_scheduling: DIRAC's options of limits and delays.
        usable_sites: pilots of other sites get only test jobs; None: every site is in use.
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

    *rules_name* overrides the rules of the settings.

    Raises:
        SettingValueError: the intervals of CPU time are not rising whole numbers.
        ShareCorrectionError: a group's share is invalid.
    """
    if rules_name is not None:
        settings = settings.under(rules_name, scheme=DIRAC)
    rules = share_rules(settings)
    intervals = settings["shares.task_queue_cpu_time_intervals"]
    segments = read_segments(intervals, rules)
    if intervals and rules.checked_settings and ",".join(map(str, segments)) != ",".join(names(intervals)):
        raise settings.refusal("shares.task_queue_cpu_time_intervals")
    cpu_time_bounds = settings["shares.min_cpu_time"], settings["shares.max_cpu_time"]
    priority_bounds = settings["shares.min_priority"], settings["shares.max_priority"]
    return SharePolicy(
        rules=rules,
        groups=read_groups(settings, {group.name: group.properties for group in share_groups.load_all(state)}, rules),
        job_defaults=JobDefaults(
            rules,
            segments,
            int(default_within(settings["shares.default_cpu_time"], *cpu_time_bounds, rules)),
            _integer_if_whole(float(default_within(settings["shares.default_priority"], *priority_bounds, rules))),
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
    """Return the rules that *settings* choose, or those called *name*; explicitly set rule points are kept."""
    if name is not None:
        settings = settings.under(name, scheme=DIRAC)
    return preset(settings[DIRAC.rules], **{key.name: settings[key.full_name] for key in POINTS})


def preset(name: str, **points: Any) -> Rules:
    """Return the rules called *name* ("documented" or "dirac") as in the table of settings.

    *points* override single rule points.
    """
    return Rules(**{"name": name, **{key.name: key.default_under(name) for key in POINTS}, **points})


def _integer_if_whole(number: float) -> float:
    return int(number) if number.is_integer() else number


def read_groups(settings: Settings, imported: Mapping[str, Mapping[str, Any]], rules: Rules) -> dict[str, OwnerGroup]:
    """Return the groups with their *imported* options, overridden by *settings*.

    Raises ShareCorrectionError: a group's share is invalid.
    """
    configured = settings.share_groups
    options = {
        name: _merged_options(imported.get(name, {}), configured.get(name, {})) for name in (*imported, *configured)
    }
    return {name: read_group(name, options[name], rules) for name in options}


def _merged_options(imported: Mapping[str, Any], configured: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group's options by DIRAC's names: imported options, overridden by configured ones."""
    options = dict(imported)
    if "job_share" in configured:
        share = configured["job_share"]
        options["JobShare"] = _integer_if_whole(float(share))
    if "job_sharing" in configured:
        properties = [
            name for name in names(options.get("Properties")) if name not in (JOB_SHARING, SCHEMA_JOB_SHARING)
        ]
        options["Properties"] = [*properties, JOB_SHARING] if configured["job_sharing"] else properties
    if "allow_background_tqs" in configured:
        options["AllowBackgroundTQs"] = configured["allow_background_tqs"]
    if configured.get("vo"):
        options["VO"] = configured["vo"]
    return options
