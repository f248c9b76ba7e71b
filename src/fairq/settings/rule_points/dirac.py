"""The rule points of DIRAC's scheme: the priority schema of 2009 and today's DIRAC differ there (docs/dirac.md).

Each is the setting ``shares.NAME``; all but `CORRECTIONS_STARTED` are fields of the engine's `Rules`. The schema is
the page *DIRAC Priority schema*, revision 3 of 2009-09-07; functions are those of DIRAC 9.1.
"""

from __future__ import annotations

from typing import Any

from fairq.settings.key import Difference, Key, Type, rule_point

CORRECTIONS_STARTED = "enable_shares_correction"
"""The point that is an option of DIRAC's configuration, not a field of the engine's rules."""

_SCHEMA = "DIRAC Priority schema"
_SCENARIO = f"{_SCHEMA}, Scenario"
_PRIORITIES = f"{_SCHEMA}, Priority implementation"
_CORRECTIONS = f"{_SCHEMA}, Dynamic share corrections"
_HISTORY = f"{_SCHEMA}, WMSHistory corrector"


def _point(
    name: str,
    kind: Type,
    documented: Any,
    dirac: Any,
    text: str,
    schema: tuple[str, str],
    program: tuple[str, str],
    **details: Any,
) -> Key:
    """Return a point; *schema* is the schema's statement and its place, *program* DIRAC's action and function."""
    return rule_point("shares", name, kind, documented, dirac, text, Difference(*schema, *program), **details)


SHARE_POINTS = (
    # from the groups' shares to the queues' priorities
    _point("consolidation", "choice", "sum", "average",
        "Weight of a task queue: the sum or the average of its jobs' priorities.",
        ("A queue counts by the sum of the UserPriorities of its jobs, over that of all queues of its group or user.",
         f"{_PRIORITIES}, paragraph 3"),
        ("Takes the average; the number of jobs in a queue does not count.", "TaskQueueDB.__setPrioritiesForEntity")),
    _point("user_priority_weight", "choice", "as_given", "mapped",
        "Weight of a job: as_given, its UserPriority; mapped, DIRAC's weight for it (0: 0.00001; from 10: 1000000).",
        ("Sums the UserPriorities as users give them.", f"{_PRIORITIES}, paragraph 3"),
        ("Cuts off decimals; 0 and less weigh 0.00001, 10 and more a million. Negative ones are refused.",
         "TaskQueueDB.insertJob")),
    _point("bounded_defaults", "boolean", False, True,
        "Keep default_cpu_time and default_priority within their minimum and maximum.",
        ("Does not mention defaults.", f"{_SCENARIO}, paragraph 1"),
        ("Bounds the defaults only; values that jobs state are kept.", "JobManifest.check")),
    _point("users_counted", "choice", "waiting", "rows",
        "Users among whom a group's share is divided: waiting, those with waiting jobs; rows, all that own a queue.",
        ("U is the number of the group's users with waiting jobs.", f"{_PRIORITIES}, list"),
        ("Counts the owners of all queues in its table; an emptied queue stays there for at least five minutes.",
         "TaskQueueDB.recalculateTQSharesForEntity")),
    _point("site_families", "boolean", False, True,
        "Give queues that differ only in sites, banned sites and RAM the sum of their priorities.",
        ("Each queue gets its own part: 1/N of the group's priority, or 1/(N*U).",
         f"{_PRIORITIES}, list"),
        ("Gives each of them the sum, so that work split by site is not diluted; a group can exceed its share.",
         "calculate_priority")),
    _point("families_as_listed", "boolean", False, True,
        "With site_families, the order in which values are listed matters.",
        ("Queues differ by their requirements, whatever the order of the values.", f"{_PRIORITIES}, paragraph 1"),
        ("Compares the lists as its database returns them, unsorted.", "calculate_priority")),
    _point("decimals", "integer", None, 4,
        "Number of decimals of a task queue's priority.",
        ("Computes without rounding.", f"{_PRIORITIES}, paragraph 3"),
        ("Writes four decimals and keeps jobs' priorities in four bytes.", "TaskQueueDB.__setPrioritiesForEntity"),
        minimum=0, maximum=15, unset="all"),
    _point("user_all_bug", "boolean", False, True,
        "If a user named all owns several queues, the group's other users are not recalculated.",
        ("Every queue gets a priority, whatever the name of its user.", f"{_PRIORITIES}, paragraph 2"),
        ("Uses the name all for every user, and mistakes a real user of that name for it.",
         "TaskQueueDB.recalculateTQSharesForEntity")),
    _point("both_sharing_names", "boolean", True, False,
        "Property JOB_SHARING, the schema's spelling, counts as well as JobSharing.",
        ("The property is called JOB_SHARING.", f"{_PRIORITIES}, paragraph 2"),
        ("Knows only JobSharing.", "Properties.JOB_SHARING")),
    _point("blank_lists", "choice", "empty", "error",
        "A job's list that has only blank values: empty, it requires nothing; error, the job is refused.",
        ("Does not mention it; a list without values requires nothing.", f"{_PRIORITIES}, paragraph 1"),
        ("Fails to insert the job.", "TaskQueueDB.insertJob")),
    # share corrections
    _point(CORRECTIONS_STARTED, "boolean", True, False,
        "Correct shares with the correctors of ShareCorrectorsToStart.",
        ("Only ShareCorrectorsToStart defines which correctors work.", f"{_CORRECTIONS}, sentence 5"),
        ("Corrects nothing unless EnableSharesCorrection is set too.", "TaskQueueDB.recalculateTQSharesForAll")),
    _point("both_bound_names", "boolean", True, False,
        "MaxGlobalCorrectionFactor, the schema's name, counts as well as MaxGlobalCorrection.",
        ("The bound of an instance is MaxGlobalCorrectionFactor.", f"{_HISTORY}, example"),
        ("Reads only MaxGlobalCorrection; the schema's own example runs with the default 5.",
         "BaseHistoryCorrector._fillSlices")),
    _point("whole_numbers", "boolean", False, True,
        "Replace shares, weights and bounds that are not whole numbers by their defaults.",
        ("Asks for numbers, not for whole numbers.", f"{_HISTORY}, paragraph 2"),
        ("Reads them as integers; 2.5 counts as the default.", "BaseHistoryCorrector._fillSlices")),
    _point("checked_settings", "boolean", True, False,
        "Refuse bounds below 1, weights of 0, and slices without a TimeSpan. false: use the defaults.",
        ("A correction stays within 1/bound and bound.", f"{_HISTORY}, paragraph 4"),
        ("Checks nothing; zeros end in a division by zero.", "BaseHistoryCorrector._fillSlices")),
    _point("absent_weighted", "boolean", True, False,
        "Weight the MaxCorrection that a slice adds for a group or user who ran nothing in it.",
        ("Every slice adds its correction times its weight.", f"{_HISTORY}, formula"),
        ("Adds the whole MaxCorrection of the slice, unweighted.", "BaseHistoryCorrector.applyCorrection")),
    _point("zero_use", "choice", "absent", "error",
        "A reported use of 0: absent, it counts as no use; error, it is an error.",
        ("A new group or user is boosted.", f"{_HISTORY}, paragraph 4"),
        ("Divides by zero, and the whole recalculation fails.", "BaseHistoryCorrector.applyCorrection")),
    _point("failed_report", "choice", "slice", "instance",
        "What a missing report of recent use leaves out: slice, its time slice; instance, the whole instance.",
        ("Each time span has its own weight.", f"{_HISTORY}, paragraph 2"),
        ("Drops the history of all slices.", "BaseHistoryCorrector.updateHistoryKnowledge")),
    _point("weight_of_skipped", "choice", "shared", "lost",
        "Weight of a slice without use: shared among the other slices, or lost.",
        ("The weights are parts of the whole correction.", f"{_HISTORY}, paragraph 4"),
        ("Drops the weight, which lowers everybody's factor.", "BaseHistoryCorrector.applyCorrection")),
    _point("in_group_key", "choice", "name", "dn",
        "How reports inside a group name users: name, by name; dn, by distinguished name, which matches no owner.",
        ("An instance with a Group keeps the shares between that group's users.", f"{_HISTORY}, paragraph 3"),
        ("Translates users to distinguished names, which queues have not used since 2022: nothing is corrected.",
         "BaseHistoryCorrector._getUsageHistoryForTimeSpan")),
    _point("in_group_statuses", "choice", "running", "all",
        "Jobs that count as use inside a group: running, only running jobs; all, waiting jobs as well.",
        ("Looks at the running jobs of each entity.", f"{_HISTORY}, paragraph 1"),
        ("Loses the condition on the status when it asks for one group's users.",
         "WMSHistoryCorrector._getHistoryData")),
    # matching
    _point("selection", "choice", "proportional", "dirac",
        "How a task queue and a job are drawn: proportional to priority; dirac, DIRAC's way; strict, highest first.",
        ("Priorities keep a fair share between the users; the draw itself is not described.",
         f"{_SCENARIO}, paragraph 2"),
        ("Sorts by U/priority with U uniform in 0 to 1: at 2 to 1 the first one wins 75 % of the draws, not 67 %.",
         "TaskQueueDB.matchAndGetTaskQueue"),
        choices=("dirac", "proportional", "strict")),
    _point("candidates", "integer", None, 10,
        "Number of task queues that a pilot tries after the draw.",
        ("Does not mention it.", _SCENARIO),
        ("Tries the first ten.", "TaskQueueDB.matchAndGetTaskQueue"),
        unit="queues", minimum=1, unset="all"),
    _point("job_pool", "integer", 1, 50,
        "The job is drawn from this number of the oldest jobs with the drawn UserPriority.",
        ("Users say which of their jobs run first; among equal jobs the oldest runs first.",
         f"{_SCENARIO}, paragraph 1"),
        ("Takes one of the 50 oldest at random.", "TaskQueueDB.matchAndGetJob"),
        unit="jobs", minimum=1),
    _point("owner_bypasses_requirements", "boolean", False, True,
        "A pilot for one owner and several groups gets the queues of all groups but the last, whatever they require.",
        ("All jobs of a queue have the same requirements; a pilot must meet them.",
         f"{_PRIORITIES}, paragraph 1"),
        ("Joins the conditions on owner and groups without parentheses; the first ones override all others.",
         "TaskQueueDB.__generateTQMatchSQL")),
    _point("private_pilots", "choice", "owner", "group",
        "Jobs for a pilot that is not generic: owner, those of its own user; group, those of its whole group.",
        ("Outside groups with job sharing, users run jobs on behalf of themselves.", f"{_SCENARIO}, list"),
        ("Sets the pilot's OwnerDN, which task queues no longer have.", "Matcher._checkCredentials")),
    _point("negative_values", "choice", "any", "single",
        "What a limit on several owners, groups or CPU times excludes: any, each of them; single, none of them.",
        ("Does not mention limits.", _SCHEMA),
        ("Joins the values by OR as unequal: two or more exclude nothing.", "TaskQueueDB.__generateNotSQL")),
    _point("ce_limits", "choice", "ce", "site",
        "Jobs that a running limit of a CE counts: ce, those of the CE; site, those of its whole site.",
        ("Does not mention limits.", _SCHEMA),
        ("Counts the jobs of the whole site.", "Limiter.getNegativeCondForSite")),
)  # fmt: skip
