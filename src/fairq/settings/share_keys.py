"""The settings of DIRAC's task queues and shares.

Single options and blocks have DIRAC's own names; the rule points are in `rule_points.dirac`.
"""

from __future__ import annotations

from fairq.settings.key import DIRAC, Key
from fairq.settings.rule_points.dirac import SHARE_POINTS

_RULES = Key(
    "shares", "rules", "choice", "documented",
    "Which rules apply where text and program differ: documented, the schema of 2009; dirac, today's DIRAC.",
    choices=DIRAC.choices,
)  # fmt: skip

_OPTIONS = (
    Key(
        "shares",
        "max_jobs_in_task_queue",
        "integer",
        5000,
        "Maximum number of jobs in a task queue; further jobs form another queue.",
        unit="jobs",
        minimum=1,
    ),
    Key(
        "shares",
        "task_queue_cpu_time_intervals",
        "string",
        None,
        "Bounds of the steps of CPU time, as rising whole numbers. If unset: DIRAC's, from 360 to 1080000.",
        unit="HS06 seconds",
        spaces=True,
    ),
    Key(
        "shares",
        "default_cpu_time",
        "integer",
        86400,
        "CPU time of jobs that state none.",
        unit="HS06 seconds",
        minimum=1,
    ),
    Key(
        "shares",
        "min_cpu_time",
        "integer",
        100,
        "With bounded_defaults, minimum of default_cpu_time (MinCPUTime).",
        unit="HS06 seconds",
        minimum=0,
    ),
    Key(
        "shares",
        "max_cpu_time",
        "integer",
        500000,
        "With bounded_defaults, maximum of default_cpu_time (MaxCPUTime).",
        unit="HS06 seconds",
        minimum=0,
    ),
    Key("shares", "default_priority", "real", 1.0, "UserPriority of jobs that state none.", minimum=0),
    Key(
        "shares",
        "min_priority",
        "integer",
        0,
        "With bounded_defaults, minimum of default_priority (MinPriority).",
        minimum=0,
    ),
    Key(
        "shares",
        "max_priority",
        "integer",
        10,
        "With bounded_defaults, maximum of default_priority (MaxPriority).",
        minimum=0,
    ),
    Key("shares", "check_job_limits", "boolean", True, "Apply RunningLimit."),
    Key("shares", "check_matching_delay", "boolean", True, "Apply MatchingDelay."),
    Key(
        "shares",
        "usable_sites",
        "string",
        None,
        "Sites in use; pilots of other sites get only jobs with JobType Test or none.",
        unset="all sites",
        spaces=True,
    ),
)

GROUPS = "shares.groups"
CORRECTIONS, LIMITS, DELAYS = "shares.ShareCorrections", "shares.RunningLimit", "shares.MatchingDelay"

_GROUPS = (
    Key(GROUPS, "job_share", "real", 1000.0, "The group's weight against the other groups (JobShare).", minimum=0),
    Key(
        GROUPS,
        "job_sharing",
        "boolean",
        False,
        "Divide the share among all task queues, whoever owns them (property JobSharing or JOB_SHARING).",
    ),
    Key(
        GROUPS,
        "allow_background_tqs",
        "boolean",
        False,
        "Queues whose UserPriorities average 0.1 or less get the minimum priority (AllowBackgroundTQs).",
    ),
    Key(GROUPS, "vo", "string", None, "The virtual organisation that the group belongs to (VO)."),
)

_BLOCKS = (
    Key(CORRECTIONS, "ShareCorrectorsToStart", "option", (),
        "Correctors to apply, in order: WMSHistory, or those of plugins."),
    Key(CORRECTIONS, "WMSHistory.INSTANCE.Group", "option", None,
        "Group whose users the instance corrects. If unset: the instance corrects groups."),
    Key(CORRECTIONS, "WMSHistory.INSTANCE.MaxGlobalCorrection", "option", 5,
        "Bound of the instance's correction, which stays between 1/bound and bound. The schema calls it"
        " MaxGlobalCorrectionFactor."),
    Key(CORRECTIONS, "WMSHistory.INSTANCE.UpdateHistoryPeriod", "option", 900,
        "Age above which imported usage reports are called old; fairq's own records are always current.",
        unit="seconds"),
    Key(CORRECTIONS, "WMSHistory.INSTANCE.SLICE.TimeSpan", "option", None,
        "Time span of the slice. If unset under the rules dirac: 604800.", unit="seconds"),
    Key(CORRECTIONS, "WMSHistory.INSTANCE.SLICE.Weight", "option", 1,
        "Weight of the slice; the weights of an instance are scaled to a sum of 1."),
    Key(CORRECTIONS, "WMSHistory.INSTANCE.SLICE.MaxCorrection", "option", 3,
        "Bound of the slice's own correction, at least 1."),
    Key(LIMITS, "SITE.ATTRIBUTE.VALUE", "integer", None,
        "Maximum number of running jobs with this attribute at the site. ATTRIBUTE is JobType, Owner, OwnerGroup, "
        "or another attribute of the job; SITE.CEs.CE.ATTRIBUTE.VALUE limits one CE. Quote a name with dots.",
        unit="jobs", minimum=0),
    Key(DELAYS, "SITE.ATTRIBUTE.VALUE", "real", None,
        "Minimum time between the starts of two of these jobs at the site. SITE.Burst.ATTRIBUTE.VALUE is the number "
        "of jobs that may start at once.", unit="seconds", minimum=0),
)  # fmt: skip

SHARES: tuple[Key, ...] = (_RULES, *SHARE_POINTS, *_OPTIONS, *_GROUPS, *_BLOCKS)

SHARE_GROUP_KEYS: dict[str, Key] = {key.name: key for key in _GROUPS}
BLOCK_KEYS: dict[str, tuple[Key, ...]] = {
    section.partition(".")[2]: tuple(key for key in _BLOCKS if key.section == section)
    for section in (CORRECTIONS, LIMITS, DELAYS)
}
"""The blocks whose options have free names, by DIRAC's name for each block."""
