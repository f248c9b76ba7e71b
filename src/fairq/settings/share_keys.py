"""The settings of DIRAC's task queues and shares.

Points are named as the fields of the engine's rules; single options and blocks carry DIRAC's own names.
"""

from __future__ import annotations

from fairq.settings.key import DIRAC, Key, own

_POINTS = (
    own("shares", "rules", "choice", "documented",
        "What holds where they differ: what the schema of 2009 intends, or what DIRAC computes today.",
        choices=DIRAC.choices),
    own("shares", "selection", "choice", "proportional",
        "How a pilot's queue and job are drawn: DIRAC's way, which favours the heavy; in proportion; or the first.",
        choices=("dirac", "proportional", "strict"), real="dirac"),
    own("shares", "consolidation", "choice", "average",
        "What of the priorities of a queue's jobs is its weight; the sum rewards who floods a queue.",
        choices=("average", "sum")),
    own("shares", "users_counted", "choice", "waiting",
        "Among whom a group's share is divided: users with waiting jobs, or also those with an emptied queue.",
        choices=("waiting", "rows"), real="rows"),
    own("shares", "site_families", "boolean", True,
        "Queues that differ only in sites, banned sites and RAM get the sum of theirs."),
    own("shares", "families_as_listed", "boolean", False,
        "The same values listed in another order make another family.", real=True),
    own("shares", "candidates", "integer", None,
        "How many of the drawn queues a pilot tries.", unit="queues", minimum=1, unset="all", real=10),
    own("shares", "job_pool", "integer", 1,
        "The job is one of so many oldest ones of the drawn priority.", unit="jobs", minimum=1, real=50),
    own("shares", "decimals", "integer", None,
        "Decimals that are kept of a queue's priority.", minimum=0, maximum=15, unset="all", real=4),
    own("shares", "absent_weighted", "boolean", True,
        "Who did not run in a slice gets its MaxCorrection times the slice's weight; false: not weighted.", real=False),
    own("shares", "failed_report", "choice", "slice",
        "A slice without a report of what ran leaves out that slice, or the whole instance.",
        choices=("slice", "instance"), real="instance"),
    own("shares", "weight_of_skipped", "choice", "shared",
        "The weight of a slice that tells nothing goes to the other slices, or is lost.",
        choices=("shared", "lost"), real="lost"),
    own("shares", "zero_use", "choice", "absent",
        "A reported use of 0 counts as none, or is an error.", choices=("absent", "error"), real="error"),
    own("shares", "in_group_key", "choice", "name",
        "What stands for a user in the use inside a group; dn, distinguished names, meets no queue's owner.",
        choices=("name", "dn"), real="dn"),
    own("shares", "in_group_statuses", "choice", "running",
        "Which jobs are use inside a group: running ones, or those that wait, too.",
        choices=("running", "all"), real="all"),
    own("shares", "both_bound_names", "boolean", True,
        "MaxGlobalCorrectionFactor, the schema's name, is read besides MaxGlobalCorrection.", real=False),
    own("shares", "checked_settings", "boolean", True,
        "Bounds below 1, weights of 0 and slices without TimeSpan are refused; false: defaults stand in.", real=False),
    own("shares", "whole_numbers", "boolean", False,
        "Shares, weights and bounds that are no whole numbers count as not given.", real=True),
    own("shares", "all_is_magic", "boolean", False,
        "A user called all with several queues keeps the group's others from being recalculated.", real=True),
    own("shares", "blank_lists", "choice", "empty",
        "A list of blank values is no requirement, or an error.", choices=("empty", "error"), real="error"),
    own("shares", "owner_escapes", "boolean", False,
        "A pilot for one owner and several groups gets queues of all but the last whatever they ask for.", real=True),
    own("shares", "negative_values", "choice", "any",
        "With a limit on several owners, groups or CPU times any of them hits, or none.",
        choices=("any", "single"), real="single"),
    own("shares", "ce_limits", "choice", "ce",
        "A running limit of a CE counts the jobs of that CE, or of its whole site.",
        choices=("ce", "site"), real="site"),
)

_OPTIONS = (
    own("shares", "enable_shares_correction", "boolean", True,
        "Start what ShareCorrectorsToStart names; false: shares are never corrected.", real=False),
    own("shares", "max_jobs_in_task_queue", "integer", 5000,
        "A task queue that holds so many jobs is full; further jobs make another one.", unit="jobs", minimum=1),
    own("shares", "task_queue_cpu_time_intervals", "string", None,
        "Bounds of the CPU times that share a task queue, rising whole numbers; unset, DIRAC's 360 to 1080000.",
        unit="HS06 seconds", spaces=True),
    own("shares", "default_cpu_time", "integer", 86400,
        "CPU time of a job that names none.", unit="HS06 seconds", minimum=1),
    own("shares", "default_priority", "integer", 1,
        "UserPriority of a job that names none.", minimum=0, maximum=10),
    own("shares", "check_job_limits", "boolean", True, "Heed RunningLimit."),
    own("shares", "check_matching_delay", "boolean", True, "Heed MatchingDelay."),
    own("shares", "usable_sites", "string", None,
        "The sites in use; pilots of any other are given jobs of the type Test alone, or of none.",
        unset="all sites", spaces=True),
)

GROUPS = "shares.groups"
CORRECTIONS, LIMITS, DELAYS = "shares.ShareCorrections", "shares.RunningLimit", "shares.MatchingDelay"

_GROUPS = (
    own(GROUPS, "job_share", "real", 1000.0,
        "The group's weight against the other groups (JobShare).", minimum=0),
    own(GROUPS, "job_sharing", "boolean", False,
        "All queues of the group are one pool, whoever owns them (property JobSharing)."),
    own(GROUPS, "allow_background_tqs", "boolean", False,
        "Queues of UserPriority 0 get next to nothing and leave the share to others (AllowBackgroundTQs)."),
    own(GROUPS, "vo", "string", None, "The virtual organisation that the group belongs to (VO)."),
)

_BLOCKS = (
    own(CORRECTIONS, "ShareCorrectorsToStart", "option", (),
        "The correctors at work, in order: WMSHistory, or one that a plugin brings along."),
    own(CORRECTIONS, "WMSHistory.INSTANCE.Group", "option", None,
        "The group whose users the instance corrects; unset, it corrects groups."),
    own(CORRECTIONS, "WMSHistory.INSTANCE.MaxGlobalCorrection", "option", 5,
        "Corrections stay between 1/bound and bound. The schema's name, MaxGlobalCorrectionFactor, will do as well."),
    own(CORRECTIONS, "WMSHistory.INSTANCE.UpdateHistoryPeriod", "option", 900,
        "Imported reports of what ran are told to be old beyond this; fairq's own records are always read anew.",
        unit="seconds"),
    own(CORRECTIONS, "WMSHistory.INSTANCE.SLICE.TimeSpan", "option", None,
        "How far back the slice looks; under the rules dirac 604800 if not given.", unit="seconds"),
    own(CORRECTIONS, "WMSHistory.INSTANCE.SLICE.Weight", "option", 1,
        "The slice's weight; those of all slices of an instance are scaled to 1."),
    own(CORRECTIONS, "WMSHistory.INSTANCE.SLICE.MaxCorrection", "option", 3,
        "The bound of the slice's own correction, at least 1."),
    own(LIMITS, "SITE.ATTRIBUTE.VALUE", "integer", None,
        "How many jobs with this attribute pilots of the site run at once. ATTRIBUTE is JobType, Owner, OwnerGroup, "
        "or any other of the job; SITE.CEs.CE.ATTRIBUTE.VALUE limits one CE. A name with dots needs quotes.",
        unit="jobs", minimum=0),
    own(DELAYS, "SITE.ATTRIBUTE.VALUE", "real", None,
        "The time between two starts of such jobs at the site; SITE.Burst.ATTRIBUTE.VALUE is how many may start at "
        "once.", unit="seconds", minimum=0),
)  # fmt: skip

SHARES: tuple[Key, ...] = (*_POINTS, *_OPTIONS, *_GROUPS, *_BLOCKS)

SHARE_GROUP_KEYS: dict[str, Key] = {key.name: key for key in _GROUPS}
BLOCK_KEYS: dict[str, tuple[Key, ...]] = {
    section.partition(".")[2]: tuple(key for key in _BLOCKS if key.section == section)
    for section in (CORRECTIONS, LIMITS, DELAYS)
}
"""The blocks with names of their own, by DIRAC's name for each."""
