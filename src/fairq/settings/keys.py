"""The table of all settings, in the order of the manual.

Names, defaults and ranges are those of HTCondor's configuration (its manual, "Configuration Macros", and the
parameter table of 25.14); settings without a macro are fairq's own. A *point* is where a scheme's texts and
its program differ: the scheme's rules decide its default, the key itself wins.
"""

from __future__ import annotations

from fairq.settings.broker_keys import BROKER
from fairq.settings.key import HTCONDOR, Key, macro, own
from fairq.settings.rule_points import ACCOUNTING_POINTS, NEGOTIATOR_POINTS, SCHEDD_POINTS
from fairq.settings.share_keys import SHARES

CONCURRENCY_LIMIT_DEFAULT = 2308032.0
LARGEST_QUOTA = 2.0**31 - 1


_ACCOUNTING = (
    macro("accounting", "priority_halflife", "real", 86400.0,
        "Time in which the weight of past usage halves.", unit="seconds", minimum=1e-5),
    macro("accounting", "default_prio_factor", "real", 1000.0,
        "Priority factor a local submitter starts with; below 1 counts as 1.", minimum=0),
    macro("accounting", "nice_user_prio_factor", "real", 1.0e10,
        "Priority factor of submitters whose name starts with nice-user.", minimum=0),
    macro("accounting", "nice_user_accounting_group_name", "string", "nice-user",
        "Accounting group of jobs submitted with nice_user.",
        without_effect="such jobs are always in nice-user"),
    macro("accounting", "remote_prio_factor", "real", 1.0e7,
        "Priority factor of submitters of a foreign domain.", minimum=0),
    macro("accounting", "accountant_local_domain", "string", None,
        "The domain that is local; unset, accounting_domain or uid_domain; all unset, every submitter is local."),
    macro("accounting", "uid_domain", "string", None,
        "Domain of users whose name says none; unset, this host's name."),
    macro("accounting", "accounting_domain", "string", None,
        "Domain of submitters whose name says none; unset, uid_domain."),
    macro("accounting", "negotiator_discount_suspended_resources", "boolean", False,
        "Do not charge slots whose job is suspended."),
)

_NEGOTIATOR = (
    own("negotiator", "rules", "choice", "documented",
        "What holds where they differ: what the manuals promise, or what today's negotiator does.",
        choices=HTCONDOR.choices),
    macro("negotiator", "condor_version", "string", None,
        "HTCondor version that the rules htcondor follow, unless the slots are of a newer one; unset, the newest."),
    own("negotiator", "quota_model", "choice", "hierarchical",
        "Groups as a tree, or the old flat scheme.", choices=("hierarchical", "flat")),
    # slot weights
    macro("negotiator", "negotiator_use_slot_weights", "boolean", True,
        "Measure in slot weights; false: every slot counts 1."),
    macro("negotiator", "slot_weight", "expression", "Cpus",
        "Weight of a slot whose ad has no SlotWeight."),
    macro("negotiator", "force_negotiator_slot_weight", "boolean", False,
        "Use slot_weight even where the ad has a SlotWeight."),
    macro("negotiator", "negotiator_use_weighted_demand", "boolean", True,
        "Measure a group's demand in weights, not in jobs."),
    # what takes part
    macro("negotiator", "negotiator_slot_constraint", "expression", None,
        "Only slots for which this is true take part."),
    macro("negotiator", "negotiator_submitter_constraint", "expression", None,
        "Only submitters for which this is true take part."),
    macro("negotiator", "negotiator_job_constraint", "expression", None,
        "Only jobs for which this is true take part."),
    macro("negotiator", "negotiator_slot_poolsize_constraint", "expression", None,
        "Which slots count towards the size of the pool.",
        macros=("NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", "GROUP_DYNAMIC_MACH_CONSTRAINT")),
    macro("negotiator", "negotiator_trim_shutdown_threshold", "expression", "0",
        "Leave out slots that shut down within so many seconds.", unit="seconds"),
    macro("negotiator", "match_working_cm_slots", "boolean", False,
        "Consider claimed partitionable slots another pool works on."),
    # the submitters
    macro("negotiator", "negotiator_ignore_user_priorities", "boolean", False,
        "No limits by priority; the order of submitters stays."),
    macro("negotiator", "use_global_job_prios", "boolean", False,
        "Job priorities count across schedds among equal user priorities."),
    macro("negotiator", "use_resource_request_counts", "boolean", True,
        "Offer alike jobs as one request with a count."),
    macro("negotiator", "negotiator_resource_request_list_size", "integer", 200,
        "Requests a schedd hands over at a time.", unit="requests", minimum=1,
        without_effect="the jobs are at hand, nothing is sent to and fro"),
    macro("negotiator", "negotiator_depth_first", "boolean", False,
        "Fill a partitionable slot before the next one is looked at."),
    # the order of candidates
    macro("negotiator", "negotiator_pre_job_rank", "expression",
        "(10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED)) - (100000 * Cpus) - Memory",
        "First key of the order of candidate slots, before the job's Rank; more is better."),
    macro("negotiator", "negotiator_post_job_rank", "expression",
        "(RemoteOwner =?= UNDEFINED) * (ifThenElse(isUndefined(KFlops), 1000, KFlops) - SlotID"
        " - 1.0e10*(Offline=?=True))",
        "Key after the job's Rank; more is better."),
    macro("negotiator", "negotiator_ignore_job_ranks", "boolean", False,
        "Leave the jobs' Rank out of the order of candidates."),
    macro("negotiator", "negotiator_matchlist_caching", "boolean", True,
        "Reuse a sorted list of candidates for jobs that are alike."),
    # preemption
    macro("negotiator", "negotiator_consider_preemption", "boolean", True, "Look at slots in use at all."),
    macro("negotiator", "negotiator_consider_early_preemption", "boolean", False,
        "Also at slots whose job has retirement time left."),
    macro("negotiator", "preemption_requirements", "expression", "False",
        "Must be true for priority preemption; unset, no test.", optional=True),
    macro("negotiator", "preemption_requirements_stable", "boolean", True,
        "preemption_requirements keeps its value during a cycle."),
    macro("negotiator", "preemption_rank", "expression",
        "(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRuntime), 0, TotalJobRuntime)",
        "Last key of the order of candidates, among slots in use; more is better."),
    macro("negotiator", "preemption_rank_stable", "boolean", True,
        "preemption_rank keeps its value during a cycle."),
    macro("negotiator", "allow_pslot_preemption", "boolean", False,
        "Preempt dynamic slots to make a partitionable one large enough."),
    # time budgets
    macro("negotiator", "negotiator_max_time_per_submitter", "integer", 60,
        "Time for one submitter in a cycle.", unit="seconds", minimum=0),
    macro("negotiator", "negotiator_max_time_per_schedd", "integer", 120,
        "Time for one schedd in a cycle.", unit="seconds", minimum=0),
    macro("negotiator", "negotiator_max_time_per_piespin", "integer", 120,
        "Time for one spin of a pie.", unit="seconds", minimum=0),
    macro("negotiator", "negotiator_max_time_per_cycle", "integer", 1200,
        "Time for a whole cycle.", unit="seconds", minimum=0),
    own("negotiator", "evaluation_budget", "real", 10.0,
        "CPU time for the expressions of one kind of job in a cycle, beyond what ordinary ones take;"
        " all of a submitter get 2 times it, all in a cycle 6 times. What takes longer counts as ERROR.",
        unit="seconds", minimum=0),
    own("negotiator", "decisions_kept", "integer", 100,
        "Of how many cycles is kept what they decided; matches are always.", unit="cycles", minimum=1),
    # groups
    macro("negotiator", "group_accept_surplus", "boolean", False,
        "Groups take unused quota of others; a group's own key wins."),
    macro("negotiator", "group_autoregroup", "boolean", False,
        "Groups' submitters get a second chance at the end; a group's key wins."),
    macro("negotiator", "group_sort_expr", "expression",
        'ifThenElse(AccountingGroup=?="<none>", 3.4e+38, ifThenElse(GroupQuota>0,'
        ' GroupResourcesInUse/GroupQuota, 3.3e+38))',
        "Order in which groups negotiate; less is earlier."),
    macro("negotiator", "group_quota_max_allocation_rounds", "integer", 3,
        "Rounds of allocation in a cycle.",
        unit="rounds", minimum=1, maximum=1e9,
        macros=("GROUP_QUOTA_MAX_ALLOCATION_ROUNDS", "HFS_MAX_ALLOCATION_ROUNDS")),
    macro("negotiator", "group_quota_round_robin_rate", "real", 1.0e100,
        "Weight a group may take per round-robin step.",
        unit="slot weight", minimum=1, maximum=1.0e100,
        macros=("GROUP_QUOTA_ROUND_ROBIN_RATE", "HFS_ROUND_ROBIN_RATE")),
    macro("negotiator", "negotiator_strict_enforce_quota", "boolean", True,
        "A group that accepts no surplus caps its whole subtree."),
)

_SCHEDD = (
    macro("schedd", "schedd_use_slot_weight", "boolean", True,
        "Weigh idle demand as the slots are weighed."),
    macro("schedd", "schedd_slot_weight", "expression", None,
        "Weight of an idle job; unset, slot_weight on what it requests."),
    macro("schedd", "schedd_enable_per_user_match_limits", "boolean", False,
        "Cap a submitter's matches per turn at max_concurrent_uploads_per_user (HTCondor 25: true)."),
    macro("schedd", "max_concurrent_uploads", "integer", 100,
        "Sets the default of max_concurrent_uploads_per_user.", unit="jobs", minimum=0),
    macro("schedd", "max_concurrent_uploads_per_user", "integer", None,
        "That cap; 0 is none; unset, a fifth of max_concurrent_uploads.", unit="jobs", minimum=0),
    macro("schedd", "max_global_job_prios", "integer", 500,
        "Distinct job priorities per submitter with use_global_job_prios.", unit="priorities", minimum=0),
    macro("schedd", "negotiate_all_jobs_in_cluster", "boolean", False,
        "Go on trying jobs that are alike after one found no match."),
    macro("schedd", "significant_attributes", "list", (),
        "Attributes that tell autoclusters apart; empty: found out."),
    macro("schedd", "add_significant_attributes", "list", (),
        "Attributes that tell autoclusters apart besides."),
    macro("schedd", "remove_significant_attributes", "list",
        ("CpusUsage", "DiskUsage", "GPUsUsage", "MemoryUsage", "ResidentSetSize"),
        "Attributes that do not tell autoclusters apart."),
    macro("schedd", "remove_significant_attributes_regex", "string", "^Slot[0-9]*_",
        "Attributes whose name matches this do not tell autoclusters apart.", optional=True, spaces=True),
)

_SUBMIT = (
    own("submit", "command_timeout", "integer", 120,
        "Time for each command or pipe that a submit description reads.", unit="seconds", minimum=1, maximum=1e9),
)

_GROUPS = (
    macro("groups", "quota", "real", None,
        "Static quota, in slot weight; wins over quota_dynamic.",
        unit="slot weight", minimum=0, maximum=LARGEST_QUOTA, macros=("GROUP_QUOTA_<NAME>",)),
    macro("groups", "quota_dynamic", "real", None,
        "Quota as a fraction of the parent's.", minimum=0, maximum=1, macros=("GROUP_QUOTA_DYNAMIC_<NAME>",)),
    macro("groups", "prio_factor", "real", None,
        "Priority factor the group's submitters start with; 0 is unset.",
        minimum=0, macros=("GROUP_PRIO_FACTOR_<NAME>",)),
    macro("groups", "accept_surplus", "boolean", None,
        "Take unused quota of others; unset, negotiator.group_accept_surplus.",
        macros=("GROUP_ACCEPT_SURPLUS_<NAME>",)),
    macro("groups", "autoregroup", "boolean", None,
        "Second chance at the end; unset, negotiator.group_autoregroup.",
        macros=("GROUP_AUTOREGROUP_<NAME>",)),
)

_LIMITS = (
    macro("limits", "NAME", "real", None,
        "How much of the concurrency limit NAME may be in use at once.", minimum=0, macros=("<NAME>_LIMIT",)),
    macro("limits", "default_PREFIX", "real", None,
        "The same for limits called PREFIX.something that have no entry.",
        minimum=0, macros=("CONCURRENCY_LIMIT_DEFAULT_<PREFIX>",)),
    macro("limits", "default", "real", CONCURRENCY_LIMIT_DEFAULT,
        "The same for all other limits.", minimum=0, macros=("CONCURRENCY_LIMIT_DEFAULT",)),
)

KEYS: tuple[Key, ...] = (
    *_ACCOUNTING,
    *ACCOUNTING_POINTS,
    *_NEGOTIATOR,
    *NEGOTIATOR_POINTS,
    *_SCHEDD,
    *SCHEDD_POINTS,
    *_SUBMIT,
    *_GROUPS,
    *_LIMITS,
    *SHARES,
    *BROKER,
)
SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(key.section for key in KEYS))

SINGLE: dict[str, Key] = {key.full_name: key for key in KEYS if not key.is_pattern}
GROUP_KEYS: dict[str, Key] = {key.name: key for key in _GROUPS}
LIMIT_KEY: Key = _LIMITS[0]
BY_MACRO: dict[str, Key] = {macro: key for key in SINGLE.values() for macro in key.macros}
