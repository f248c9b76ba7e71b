"""The rule points of HTCondor's scheme: where its manuals and today's negotiator differ.

Manuals are those of HTCondor 8, and of Condor 7 and 6.8 if these say more; functions are those of HTCondor 25.
"""

from __future__ import annotations

from fairq.settings.key import Difference, Key, rule_point

_MANUAL = "HTCondor 8 manual, "


ACCOUNTING_POINTS: tuple[Key, ...] = (
    rule_point("accounting", "remove_idle_records", "boolean", True, False,
        "Remove accounting records automatically once they no longer matter.",
        Difference(
            "Entities that are no longer relevant are removed without an administrator.", _MANUAL + "Group Accounting",
            "No record is ever removed: priorities are lifted to 0.5 before the test asks for less.",
            "Accountant.cpp, UpdateOnePriority")),
    rule_point("accounting", "count_preempted", "boolean", False, True,
        "Count a preempted slot for its former user as well until the next cycle (HTCondor since 25.10).",
        Difference(
            "A user's priority follows the resources that the user has at that time.", _MANUAL + "Priority Calculation",
            "The former user's count falls when the matches are counted anew, at the start of the next cycle.",
            "Accountant.cpp, CheckMatches"), since=(25, 10)),
    rule_point("accounting", "exact_usage", "boolean", True, False,
        "Charge for exactly the time that a slot was held: from the match to the reported end.",
        Difference(
            "Real priority follows the resources in use at each time; no match is unaccounted for.",
            _MANUAL + "Priority Calculation",
            "Use is charged at updates: one that ended before the last update stays charged to it, and a record's "
            "BeginUsageTime and LastUsageTime are those of the first and last update that saw use. After the clock was "
            "set back, the same time decays priorities again.",
            "Accountant.cpp, UpdateOnePriority, RemoveMatch")),
    rule_point("accounting", "edits_at_their_time", "boolean", True, False,
        "Bring the record up to date before an edit of priority or usage. false: only set the value.",
        Difference(
            "A real priority of 10 is 5 one half-life later, and 2.5 after two.", _MANUAL + "Real User Priority (RUP)",
            "The value is set as if at the last update: the next update lets it decay from there.",
            "Accountant.cpp, SetPriority")),
)  # fmt: skip

NEGOTIATOR_POINTS: tuple[Key, ...] = (
    # the pie
    rule_point("negotiator", "pie_slices", "choice", "max_min", "pool_share",
        "What slices are computed from: max_min, the free slots and those in use by submitters with idle jobs;"
        " pool_share, the whole pool less what each submitter uses.",
        Difference(
            "What a user does not take is distributed among the remaining users by the inverse ratio rule; every spin "
            "computes the slices of what is still available anew.",
            _MANUAL + "Effective User Priority (EUP)",
            "Every spin's slices are shares of the same pie, that of all slots, whatever satisfied users took of it.",
            "matchmaker.cpp, calculateSubmitterLimit, calculatePieLeft")),
    rule_point("negotiator", "last_dealing", "boolean", True, False,
        "Hand out what the slices leave over, one match at a time, to the submitter furthest below its share. "
        "false: the first match of a turn may exceed the slice, and the rest stays free.",
        Difference(
            "The pie spins until no machines or no jobs are left.",
            _MANUAL + "The Layperson's Description of the Pie Spin and Pie Slice",
            "Spins end once every slice is smaller than the smallest slot; the first match of a turn may exceed it.",
            "matchmaker.cpp, negotiateWithGroup, SubmitterLimitPermits")),
    rule_point("negotiator", "floor_counts_usage", "boolean", True, False,
        "Count the slots that a submitter already uses towards its floor.",
        Difference(
            "A floor is the minimum that a submitter has in use while it has jobs.",
            "condor_userprio manual, -setfloor",
            "A submitter below its floor may get the whole floor on top of what it has.",
            "matchmaker.cpp, calculateSubmitterLimit")),
    rule_point("negotiator", "count_unusable_slots", "boolean", False, True,
        "Count slots that are drained, draining without a job, offline or absent in the pool and its quotas, and match "
        "jobs to those that are not drained here.",
        Difference(
            "Quotas are shares of the total available size of the pool, which machine failures reduce.",
            _MANUAL + "Accounting Groups with Hierarchical Group Quotas",
            "Every slot that the collector has an ad of counts.", "matchmaker.cpp, sumSlotWeights")),
    rule_point("negotiator", "count_slots_outside", "boolean", True, False,
        "Charge for jobs on slots that negotiator_slot_constraint excludes.",
        Difference(
            "The list of resources has all of them, whatever their state.", _MANUAL + "Negotiation",
            "Slots that the constraint excludes are not fetched: their users count as using nothing.",
            "matchmaker.cpp, obtainAdsFromCollector")),
    # jobs
    rule_point("negotiator", "skip_by", "choice", "cluster", "autocluster",
        "What a turn skips after a job finds no slot: the rest of its cluster, or the rest of its autocluster.",
        Difference(
            "After a job of a cluster that cannot be matched, no more of that cluster are offered in that pass; "
            "SIGNIFICANT_ATTRIBUTES changes what a cluster is.", _MANUAL + "Negotiation",
            "Jobs of the same autocluster are skipped, whatever their cluster; other jobs of the cluster are not.",
            "matchmaker_negotiate.cpp, noMatchFound")),
    rule_point("negotiator", "report_job", "choice", "job", "request",
        "Job that a match names: job, the job that runs; request, the first job of its request.",
        Difference(
            "The job is assigned to the top machine of its list.", _MANUAL + "Negotiation",
            "Matches of a request with a count all name its first job.", "matchmaker.cpp, matchmakingProtocol")),
    rule_point("negotiator", "ads_per_job_priority", "boolean", False, True,
        "With use_global_job_prios, count the demand of a submitter once per priority of its idle jobs.",
        Difference(
            "A group's demand is the number of idle and running jobs of its submitters.",
            _MANUAL + "Accounting Groups with Hierarchical Group Quotas",
            "Each priority of a submitter's idle jobs has an ad with all its idle and running jobs, so that the demand "
            "counts them once per priority; a submitter with running jobs only has no ad.",
            "matchmaker.cpp, obtainAdsFromCollector")),
    # slots
    rule_point("negotiator", "partitionable_slots", "choice", "carve", "whole",
        "What a match takes of a partitionable slot: carve, what the job requests; whole, all of it until its end.",
        Difference(
            "A slot that is not running a job is in the list of slots that may be matched.", _MANUAL + "Negotiation",
            "A partitionable slot without a consumption policy is matched once in a cycle, as a whole.",
            "matchmaker.cpp, negotiate")),
    rule_point("negotiator", "match_claimed_idle", "boolean", False, True,
        "Consider a claimed slot without a running job for preemption.",
        Difference(
            "A machine that is claimed but runs no job is skipped.", _MANUAL + "Negotiation",
            "It has a RemoteUser and may be preempted like a machine that runs a job.",
            "matchmaker.cpp, matchmakingAlgorithm")),
    rule_point("negotiator", "static_ranks", "boolean", False, True,
        "With negotiator_ignore_job_ranks, sort the slots once for all jobs, by their own ads.",
        Difference(
            "The machines that suit a job are sorted for that job.", _MANUAL + "Negotiation",
            "All slots are sorted once, before any job is known.", "matchmaker.cpp, rankSorter")),
    rule_point("negotiator", "tie_break", "choice", "slot_name", "std_sort",
        "Order of slots that rank equally: slot_name, by name; std_sort, as std::sort of the C++ library leaves them.",
        Difference(
            "The manual does not say in which order machines of equal rank come.", _MANUAL + "Negotiation",
            "The order in which the sort of the C++ library leaves them.", "matchmaker.cpp, MatchListType::sort")),
    # preemption
    rule_point("negotiator", "preempt_prio_delta", "real", 0.0, None,
        "How much worse the effective priority of the preempted user must be. 0: any amount; "
        "off: priorities are not compared.",
        Difference(
            "The job's effective priority must be better than that of the running job.", _MANUAL + "Negotiation",
            "Effective priorities are not compared: PREEMPTION_REQUIREMENTS alone decides.",
            "matchmaker.cpp, matchmakingAlgorithm"), minimum=0, unset="off"),
    rule_point("negotiator", "preempt_only_to_share", "boolean", True, False,
        "Preemption by priority stops where one more match brings the submitter no nearer to its entitlement, its "
        "weighted max-min share of the pie. Preemption by the Rank of slots ignores that, so that it is complete after "
        "one cycle. An unchanged pool then preempts nothing more.",
        Difference(
            "Preemption in almost every cycle, so that no job finishes, must be avoided.",
            _MANUAL + "Priorities in Negotiation and Preemption",
            "A turn's first match may exceed the slice by preemption, and so does one more in every cycle.",
            "matchmaker.cpp, SubmitterLimitPermits")),
    rule_point("negotiator", "borrowed_first", "boolean", True, False,
        "Among slots to be preempted that rank equally, those come first whose jobs run above the quota of their "
        "group. No effect with tie_break = std_sort.",
        Difference(
            "The manual does not say in which order machines of equal rank come.", _MANUAL + "Negotiation",
            "The order in which the sort of the C++ library leaves them.", "matchmaker.cpp, MatchListType::sort")),
    rule_point("negotiator", "limit_reasons_add_up", "boolean", False, True,
        "A rejection for a concurrency limit also names the limits of the jobs rejected just before.",
        Difference(
            "The manual does not say how a rejection is explained.", _MANUAL + "Negotiation",
            "The names of limits are collected and not forgotten between jobs.",
            "matchmaker.cpp, rejectForConcurrencyLimits")),
    rule_point("negotiator", "limits_of_slots_stay", "boolean", False, True,
        "A job without concurrency limits counts, in its cycle, towards the limits of the job that it preempts.",
        Difference(
            "A job counts for the limits that it names.", "HTCondor 8 manual, Concurrency Limits",
            "Limits of a job that names none are looked up in the slot's ad, which has those of the former job.",
            "matchmaker.cpp, negotiate")),
    # what expressions may read
    rule_point("negotiator", "remote_group_at_once", "boolean", True, False,
        "Define RemoteGroup in the first cycle of a group as well. false: from its second cycle on.",
        Difference(
            "RemoteGroup is the accounting group of the running job's owner.",
            _MANUAL + "Priorities in Negotiation and Preemption",
            "It is read from the quotas of the last cycle, and undefined in the first one.",
            "matchmaker.cpp, getGroupInfoFromUserId")),
    rule_point("negotiator", "resources_in_use", "choice", "slots", "weight",
        "Unit of the attributes ...ResourcesInUse and ...GroupQuota: slots, a whole number, for groups with a quota "
        "only; weight, slot weight, for every group.",
        Difference(
            "They are the integer number of slots in use, or of the quota; those of groups are defined for members of "
            "a group with a quota.", _MANUAL + "Priorities in Negotiation and Preemption",
            "They are sums of slot weights, real numbers, and also defined for <none> and for groups without a quota.",
            "matchmaker.cpp, getGroupInfoFromUserId, addRemoteUserPrios")),
    rule_point("negotiator", "negotiator_cross_slot_prios", "boolean", True, False,
        "Define Slot<N>_RemoteUserPrio for the other slots of a machine.",
        Difference(
            "Slot<N>_RemoteUserPrio is the priority of the user of that slot of the machine.",
            _MANUAL + "Priorities in Negotiation and Preemption",
            "It is undefined unless this is set.", "matchmaker.cpp, addRemoteUserPrios"),
        macros=("NEGOTIATOR_CROSS_SLOT_PRIOS",)),
    # groups
    rule_point("negotiator", "strict_priority_quotas", "boolean", True, False,
        "Groups whose quota exceeds the pool negotiate first, the largest quota before the others. A configured "
        "group_sort_expr overrides this.",
        Difference(
            "A group whose quota is so large that it is never met always negotiates first; a smaller one that still "
            "exceeds the pool comes next.", _MANUAL + "Accounting Groups with Hierarchical Group Quotas",
            "The fraction of the quota in use alone decides.", "GroupEntry.cpp, hgq_negotiate_with_all_groups")),
    rule_point("negotiator", "negotiator_allow_quota_oversubscription", "boolean", False, True,
        "Let static quotas exceed the pool or the parent's quota. false: scale them down.",
        Difference(
            "Child quotas whose sum exceeds the parent's are scaled down in proportion, unless this is set.",
            _MANUAL + "Accounting Groups with Hierarchical Group Quotas",
            "The setting is true by default, and nothing is scaled.", "GroupEntry.cpp, hgq_assign_quotas"),
        macros=("NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION",)),
    rule_point("negotiator", "integer_group_limits", "boolean", False, True,
        "Truncate the limits of groups, and the weights of their idle jobs, to whole numbers.",
        Difference(
            "A quota may be a fraction of the pool.", _MANUAL + "Accounting Groups with Hierarchical Group Quotas",
            "A group's limit is passed on as an integer and so truncated.",
            "GroupEntry.cpp, hgq_negotiate_with_all_groups")),
    rule_point("negotiator", "remainders_as_computed", "boolean", False, True,
        "Without slot weights, an error of rounding may cost a group, or the pool, a whole slot. false: what is very "
        "near a whole number of slots is that number.",
        Difference(
            "A quota is a number or a part of the slots: 29 % of 100 slots are 29.",
            _MANUAL + "Accounting Groups with Hierarchical Group Quotas",
            "The product is a little below 29 and is cut to 28; three times two thirds of a slot are less than two.",
            "GroupEntry.cpp, hgq_recover_remainders")),
    rule_point("negotiator", "hard_group_caps", "boolean", True, False,
        "No match makes a group that accepts no surplus, or the subtree of such a group, pass its quota by more than "
        "half a slot: not by preemption either. What it cannot take is surplus for others. false: the quota bounds "
        "what the group is dealt at first, and fractions of a slot are rounded up.",
        Difference(
            "A quota without surplus is an upper limit, a hard cap: never more jobs run.",
            _MANUAL + "Accounting Groups with Hierarchical Group Quotas",
            "The quota is the limit of the group's turn. Preemption by the Rank of a slot ignores it.",
            "matchmaker.cpp, SubmitterLimitPermits; GroupEntry.cpp, strict_enforce_quota")),
    rule_point("negotiator", "live_group_caps", "boolean", True, False,
        "Count the matches of a round once in the limit of a subtree. false: twice.",
        Difference(
            "A group that takes no surplus caps what the sum of its children uses.",
            _MANUAL + "Accounting Groups with Hierarchical Group Quotas",
            "What a group got earlier in the round counts in the subtree, but not in its own use.",
            "GroupEntry.cpp, strict_enforce_quota")),
    rule_point("negotiator", "regroup_keeps_quota", "boolean", True, False,
        "With autoregroup, <none> shares surplus by its own quota. false: by the whole pool.",
        Difference(
            "Submitters of such groups get a second chance with all other individual users.",
            "Condor 7 manual, Group Quotas",
            "From the second round on <none> takes part in the shares with the whole pool as its quota.",
            "GroupEntry.cpp, hgq_negotiate_with_all_groups")),
)  # fmt: skip

SCHEDD_POINTS: tuple[Key, ...] = (
    rule_point("schedd", "job_order", "choice", "submission_time", "job_id",
        "Order of jobs of equal job priority: by submission time, or by cluster and proc.",
        Difference(
            "Among jobs of the same priority the older ones go first, by the time of their submission.",
            _MANUAL + "Negotiation",
            "The number of cluster and proc decides; QDate is not read.", "qmgmt.cpp, prio_compar")),
)  # fmt: skip
