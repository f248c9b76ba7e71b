"""The table of all settings, in the order of the manual.

Names, defaults and ranges are those of HTCondor's configuration (its manual, "Configuration Macros", and the
parameter table of 25.14); settings without a macro are fairq's own. At a *point*, a scheme's texts and its
program differ: the scheme's rules decide its default, and a value set for the point itself wins.
"""

from __future__ import annotations

from fairq.settings.broker_keys import BROKER
from fairq.settings.key import HTCONDOR, Key, macro
from fairq.settings.launch_keys import ENGINES, LAUNCH
from fairq.settings.pool_keys import POOL
from fairq.settings.rule_points.htcondor import ACCOUNTING_POINTS, NEGOTIATOR_POINTS, SCHEDD_POINTS
from fairq.settings.share_keys import SHARES
from fairq.settings.submit_keys import SUBMIT, SUBMIT_GROUP_KEY

CONCURRENCY_LIMIT_DEFAULT = 2308032.0
LARGEST_QUOTA = 2.0**31 - 1


_ACCOUNTING = (
    macro("accounting", "priority_halflife", "real", 86400.0,
        "Half-life of past usage.", unit="seconds", minimum=1e-5),
    macro("accounting", "default_prio_factor", "real", 1000.0,
        "Priority factor of a new local submitter. Values below 1 count as 1.", minimum=0),
    macro("accounting", "nice_user_prio_factor", "real", 1.0e10,
        "Priority factor of new submitters whose name starts with nice-user.", minimum=0),
    macro("accounting", "nice_user_accounting_group_name", "string", "nice-user",
        "Accounting group of jobs submitted with nice_user.",
        without_effect="the group of these jobs is always nice-user"),
    macro("accounting", "remote_prio_factor", "real", 1.0e7,
        "Priority factor of new submitters from other domains.", minimum=0),
    macro("accounting", "accountant_local_domain", "string", None,
        "Domain of local submitters. If unset: accounting_domain, then uid_domain. If all are unset, every submitter"
        " is local."),
    macro("accounting", "uid_domain", "string", None,
        "Domain added to user names that have none. If unset: the name of this host."),
    macro("accounting", "accounting_domain", "string", None,
        "Domain added to submitter names that have none. If unset: uid_domain."),
    macro("accounting", "negotiator_discount_suspended_resources", "boolean", False,
        "Do not charge for slots whose job is suspended."),
)  # fmt: skip

_NEGOTIATOR = (
    Key("negotiator", "rules", "choice", "documented",
        "Which rules apply where manual and program differ: documented, the manuals; htcondor, today's negotiator.",
        choices=HTCONDOR.choices),
    macro("negotiator", "condor_version", "string", None,
        "HTCondor version that the rules htcondor follow, unless a slot names a newer one. If neither names one: the"
        " newest."),
    Key("negotiator", "quota_model", "choice", "hierarchical",
        "Hierarchical group quotas, or the flat quotas of old versions.", choices=("hierarchical", "flat")),
    # slot weights
    macro("negotiator", "negotiator_use_slot_weights", "boolean", True,
        "Count slots by their weight. false: each slot counts as 1."),
    macro("negotiator", "slot_weight", "expression", "Cpus",
        "Weight of a slot whose ad has no SlotWeight. dominant: a match weighs as much as its largest share of any"
        " resource of the pool, times the pool's cores."),
    Key("negotiator", "dominant_resources", "list", (),
        "Resources that dominant weights count besides cores. If unset: memory, GPUs and custom ones of the slots."),
    Key("negotiator", "resource_prices", "list", (),
        "Values of resources on some slots for dominant weights, as GPUs = 8 if GPUs_DeviceName == \"A100\". The first"
        " that applies counts; otherwise 1.",
        holds="prices from 1e-9 to 1e9, as GPUs = 8 if GPUs_DeviceName == \"A100\""),
    macro("negotiator", "force_negotiator_slot_weight", "boolean", False,
        "Use slot_weight also for slots whose ad has a SlotWeight."),
    macro("negotiator", "negotiator_use_weighted_demand", "boolean", True,
        "Measure the demand of a group in slot weight. false: in jobs."),
    # what takes part
    macro("negotiator", "negotiator_slot_constraint", "expression", None,
        "Use only slots for which this is true."),
    macro("negotiator", "negotiator_submitter_constraint", "expression", None,
        "Negotiate only for submitters for which this is true."),
    macro("negotiator", "negotiator_job_constraint", "expression", None,
        "Negotiate only for jobs for which this is true."),
    macro("negotiator", "negotiator_slot_poolsize_constraint", "expression", None,
        "Count only slots for which this is true in the size of the pool.",
        macros=("NEGOTIATOR_SLOT_POOLSIZE_CONSTRAINT", "GROUP_DYNAMIC_MACH_CONSTRAINT")),
    macro("negotiator", "negotiator_trim_shutdown_threshold", "expression", "0",
        "Skip slots that shut down within this time.", unit="seconds"),
    macro("negotiator", "match_working_cm_slots", "boolean", False,
        "Consider claimed partitionable slots that another central manager uses."),
    # the submitters
    macro("negotiator", "negotiator_ignore_user_priorities", "boolean", False,
        "Do not limit submitters by priority. Priority still decides their order."),
    macro("negotiator", "use_global_job_prios", "boolean", False,
        "Compare job priorities across schedds among submitters of equal priority."),
    macro("negotiator", "use_resource_request_counts", "boolean", True,
        "Combine identical jobs into one request with a count."),
    macro("negotiator", "negotiator_resource_request_list_size", "integer", 200,
        "Number of requests that a schedd sends at a time.", unit="requests", minimum=1,
        without_effect="fairq reads all requests from its state file"),
    macro("negotiator", "negotiator_depth_first", "boolean", False,
        "Fill one partitionable slot before using the next."),
    macro("negotiator", "modify_request_expr_requestcpus", "expression", "quantize(RequestCpus, {1})",
        "Cores that a job takes of a partitionable slot, in whole ones."),
    macro("negotiator", "modify_request_expr_requestmemory", "expression", "quantize(RequestMemory, {128})",
        "Memory that is carved for a job, if so much is left and the job still matches.", unit="MB"),
    macro("negotiator", "modify_request_expr_requestdisk", "expression", "quantize(RequestDisk, {1024})",
        "Disk space that is carved for a job, if so much is left and the job still matches.", unit="KB"),
    # the order of candidates
    macro("negotiator", "negotiator_pre_job_rank", "expression",
        "(10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED)) - (100000 * Cpus) - Memory",
        "Slot preference, compared before the job's Rank; higher is better. If unset, none.", optional=True),
    macro("negotiator", "negotiator_post_job_rank", "expression",
        "(RemoteOwner =?= UNDEFINED) * (ifThenElse(isUndefined(KFlops), 1000, KFlops) - SlotID"
        " - 1.0e10*(Offline=?=True))",
        "Slot preference, compared after the job's Rank; higher is better. If unset, none.", optional=True),
    macro("negotiator", "negotiator_ignore_job_ranks", "boolean", False,
        "Ignore the Rank of jobs."),
    macro("negotiator", "negotiator_matchlist_caching", "boolean", True,
        "Reuse the sorted list of candidate slots for identical jobs."),
    # preemption
    macro("negotiator", "negotiator_consider_preemption", "boolean", True,
        "Allow preemption. false: use only unclaimed slots."),
    macro("negotiator", "negotiator_consider_early_preemption", "boolean", False,
        "Also preempt jobs that have retirement time left."),
    macro("negotiator", "preemption_requirements", "expression", "False",
        "Condition for preemption by priority. If unset, there is no condition.", optional=True),
    macro("negotiator", "preemption_requirements_stable", "boolean", True,
        "Evaluate preemption_requirements once per cycle and slot."),
    macro("negotiator", "preemption_rank", "expression",
        "(RemoteUserPrio * 1000000) - ifThenElse(isUndefined(TotalJobRuntime), 0, TotalJobRuntime)",
        "Preference among slots in use, compared last; higher is better. If unset, none.", optional=True),
    macro("negotiator", "preemption_rank_stable", "boolean", True,
        "Evaluate preemption_rank once per cycle and slot."),
    macro("negotiator", "allow_pslot_preemption", "boolean", False,
        "Preempt dynamic slots to free resources of their partitionable slot."),
    # time budgets
    macro("negotiator", "negotiator_max_time_per_submitter", "integer", 60,
        "Longest time for one submitter in a cycle.", unit="seconds", minimum=0),
    macro("negotiator", "negotiator_max_time_per_schedd", "integer", 120,
        "Longest time for one schedd in a cycle.", unit="seconds", minimum=0),
    macro("negotiator", "negotiator_max_time_per_piespin", "integer", 120,
        "Longest time for one spin.", unit="seconds", minimum=0),
    macro("negotiator", "negotiator_max_time_per_cycle", "integer", 1200,
        "Longest time for a whole cycle.", unit="seconds", minimum=0),
    Key("negotiator", "large_job_patience", "real", None,
        "How long a job waits for room on any machine until a machine is promised to it. Others then start there only"
        " if their limits end them in time. off: no machine is promised.", unit="seconds", minimum=0, unset="off"),
    Key("negotiator", "large_job_machines", "integer", 1,
        "Most machines that are promised to large jobs at a time.", minimum=1),
    Key("negotiator", "max_preemptions_per_cycle", "integer", None,
        "Most jobs that a cycle preempts. off: no maximum.", minimum=0, unset="off"),
    Key("negotiator", "max_preemptions_per_hour", "integer", None,
        "Most jobs that cycles preempt in an hour. off: no maximum.", minimum=0, unset="off"),
    Key("negotiator", "max_preemptions_per_submitter", "integer", None,
        "Most jobs that a cycle preempts for one submitter. off: no maximum.", minimum=0, unset="off"),
    Key("negotiator", "evaluation_budget", "real", 10.0,
        "CPU time that the expressions of one autocluster may use in a cycle. All expressions of one submitter may"
        " use twice this time, all of a cycle six times. An expression that needs more evaluates to ERROR.",
        unit="seconds", minimum=0),
    Key("negotiator", "decisions_kept", "integer", 100,
        "Number of cycles whose decisions are kept. Matches are always kept.", unit="cycles", minimum=1),
    # groups
    macro("negotiator", "group_accept_surplus", "boolean", False,
        "Let groups use the unused quota of other groups. The setting of a group overrides this."),
    macro("negotiator", "group_autoregroup", "boolean", False,
        "Let submitters of groups also negotiate with <none> at the end. The setting of a group overrides this."),
    macro("negotiator", "group_sort_expr", "expression",
        'ifThenElse(AccountingGroup=?="<none>", 3.4e+38, ifThenElse(GroupQuota>0,'
        ' GroupResourcesInUse/GroupQuota, 3.3e+38))',
        "Order in which groups negotiate; lower is earlier."),
    macro("negotiator", "group_quota_max_allocation_rounds", "integer", 3,
        "Largest number of allocation rounds in a cycle.",
        unit="rounds", minimum=1, maximum=1e9,
        macros=("GROUP_QUOTA_MAX_ALLOCATION_ROUNDS", "HFS_MAX_ALLOCATION_ROUNDS")),
    macro("negotiator", "group_quota_round_robin_rate", "real", 1.0e100,
        "Slot weight that a group may take per round-robin step.",
        unit="slot weight", minimum=1, maximum=1.0e100,
        macros=("GROUP_QUOTA_ROUND_ROBIN_RATE", "HFS_ROUND_ROBIN_RATE")),
    macro("negotiator", "negotiator_strict_enforce_quota", "boolean", True,
        "The quota of a group without surplus also limits the sum of its subgroups."),
)  # fmt: skip

_SCHEDD = (
    macro("schedd", "schedd_use_slot_weight", "boolean", True,
        "Measure the demand of idle jobs in slot weight. false: in jobs."),
    macro("schedd", "schedd_slot_weight", "expression", None,
        "Weight of an idle job. If unset: slot_weight, applied to what the job requests."),
    macro("schedd", "schedd_enable_per_user_match_limits", "boolean", False,
        "Limit the matches of a submitter per turn to max_concurrent_uploads_per_user (true in HTCondor 25)."),
    macro("schedd", "max_concurrent_uploads", "integer", 100,
        "Used for the default of max_concurrent_uploads_per_user.", unit="jobs", minimum=0),
    macro("schedd", "max_concurrent_uploads_per_user", "integer", None,
        "Largest number of matches of a submitter per turn. 0: no limit. If unset: a fifth of max_concurrent_uploads.",
        unit="jobs", minimum=0),
    macro("schedd", "max_jobs_per_owner", "integer", None,
        "Most jobs of an owner in the queue; alike ones of a cluster count once. If unset: 100000 in a host's pool,"
        " else no limit.", unit="jobs", minimum=0),
    macro("schedd", "max_jobs_per_submission", "integer", None,
        "Most jobs of one submission; alike ones count once. If unset: 20000 in the pool of a host, else no limit.",
        unit="jobs", minimum=0),
    macro("schedd", "max_jobs_submitted", "integer", None,
        "Most jobs in the queue, each one counted.", unit="jobs", minimum=0),
    macro("schedd", "max_global_job_prios", "integer", 500,
        "Largest number of distinct job priorities per submitter with use_global_job_prios.",
        unit="priorities", minimum=0),
    macro("schedd", "negotiate_all_jobs_in_cluster", "boolean", False,
        "After a job finds no match, still try the other jobs of its autocluster."),
    macro("schedd", "significant_attributes", "list", (),
        "Attributes that define an autocluster. If empty: those that the expressions in use read."),
    macro("schedd", "add_significant_attributes", "list", (),
        "More attributes that define an autocluster."),
    macro("schedd", "remove_significant_attributes", "list",
        ("CpusUsage", "DiskUsage", "GPUsUsage", "MemoryUsage", "ResidentSetSize"),
        "Attributes that do not define an autocluster."),
    macro("schedd", "remove_significant_attributes_regex", "string", "^Slot[0-9]*_",
        "Attributes whose name matches this pattern do not define an autocluster.", optional=True, spaces=True),
)  # fmt: skip

_GROUPS = (
    macro("groups", "quota", "real", None,
        "Static quota; overrides quota_dynamic.",
        unit="slot weight", minimum=0, maximum=LARGEST_QUOTA, macros=("GROUP_QUOTA_<NAME>",)),
    macro("groups", "quota_dynamic", "real", None,
        "Quota as a fraction of the parent's quota.", minimum=0, maximum=1, macros=("GROUP_QUOTA_DYNAMIC_<NAME>",)),
    macro("groups", "prio_factor", "real", None,
        "Priority factor of new submitters of the group. 0 means unset.",
        minimum=0, macros=("GROUP_PRIO_FACTOR_<NAME>",)),
    macro("groups", "accept_surplus", "boolean", None,
        "Use the unused quota of other groups. If unset: negotiator.group_accept_surplus.",
        macros=("GROUP_ACCEPT_SURPLUS_<NAME>",)),
    macro("groups", "autoregroup", "boolean", None,
        "Also negotiate with <none> at the end. If unset: negotiator.group_autoregroup.",
        macros=("GROUP_AUTOREGROUP_<NAME>",)),
    Key("groups", "members", "list", (),
        "Users, and Unix groups as %GROUP, that may submit to the group and its subgroups. If empty: those of the group"
        " above; at the top, everybody."),
    Key("groups", "submit_for_others", "list", (),
        "Users, and Unix groups as %GROUP, that may submit to the group with accounting_group_user set to others."),
)  # fmt: skip

_LIMITS = (
    macro("limits", "NAME", "real", None,
        "Largest number of units of the limit NAME in use at the same time.", minimum=0, macros=("<NAME>_LIMIT",)),
    macro("limits", "default_PREFIX", "real", None,
        "Default for limits named PREFIX.NAME that have no setting of their own.",
        minimum=0, macros=("CONCURRENCY_LIMIT_DEFAULT_<PREFIX>",)),
    macro("limits", "default", "real", CONCURRENCY_LIMIT_DEFAULT,
        "Default for all other limits.", minimum=0, macros=("CONCURRENCY_LIMIT_DEFAULT",)),
)  # fmt: skip

KEYS: tuple[Key, ...] = (
    *_ACCOUNTING,
    *ACCOUNTING_POINTS,
    *_NEGOTIATOR,
    *NEGOTIATOR_POINTS,
    *_SCHEDD,
    *SCHEDD_POINTS,
    *SUBMIT,
    SUBMIT_GROUP_KEY,
    *LAUNCH,
    *ENGINES,
    *POOL,
    *_GROUPS,
    *_LIMITS,
    *SHARES,
    *BROKER,
)
SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(key.section for key in KEYS))

SINGLE: dict[str, Key] = {key.full_name: key for key in KEYS if not key.is_pattern}
TABLES: frozenset[tuple[str, ...]] = frozenset(key.path[:-1] for key in SINGLE.values())
"""The paths of the tables that hold single settings, such as ``launch.slurm``."""
GROUP_KEYS: dict[str, Key] = {key.name: key for key in _GROUPS}
LIMIT_KEY: Key = _LIMITS[0]
BY_MACRO: dict[str, Key] = {macro: key for key in SINGLE.values() for macro in key.macros}
MACROS_WITH_NAME: dict[str, Key] = {macro: key for key in (*_GROUPS, *_LIMITS) for macro in key.macros}
"""The macros of groups and limits, with ``<NAME>`` where the name is."""
