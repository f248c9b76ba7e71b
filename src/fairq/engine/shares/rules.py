"""What DIRAC's scheme computes where the priority schema and DIRAC differ.

The two sets of values, and what text and program say of each point, stand once, in `fairq.settings.share_points`;
`fairq.steps.taskqueues.policy` makes `Rules` from them. docs/dirac.md describes the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Selection = Literal["dirac", "proportional", "strict"]


@dataclass(frozen=True)
class Rules:
    """The rules in force; every field but *name* is the setting ``shares.FIELD``.

    Attributes:
        name: "documented" or "dirac"; every result names it.
        consolidation: how the priorities of a queue's jobs become its weight.
        user_priority_weight: a job weighs its UserPriority, or what DIRAC maps it to.
        users_counted: a group's share is divided among the users with waiting jobs, or among all owners of rows,
            those of emptied queues included.
        site_families: queues that differ only in sites, banned sites and RAM get the sum of their priorities.
        families_as_listed: values listed in another order make another family.
        decimals: how many decimals of a priority are kept; None: all.
        user_all_bug: a user named "all" with several queues keeps the group's others from a full pass.
        both_sharing_names: the property JOB_SHARING counts as well as JobSharing.
        blank_lists: a list of blank values is no requirement, or an error.
        both_bound_names: MaxGlobalCorrectionFactor counts as well as MaxGlobalCorrection.
        whole_numbers: shares and the correctors' numbers are integers; any other text is the default.
        checked_settings: bounds below 1, weights that are all zero, slices without a TimeSpan and a bound given
            under both of its names are refused; otherwise DIRAC's defaults stand in.
        absent_weighted: without use in a slice, its maximum is weighted; otherwise the whole maximum is added.
        zero_use: an explicit use of 0 counts as absent, or is an error.
        failed_report: a missing report leaves out its slice, or the whole instance.
        weight_of_skipped: the weight of a slice without use goes to the other slices, or is lost.
        in_group_key: reports inside a group name users by name, or by distinguished name.
        in_group_statuses: running jobs alone are use inside a group, or jobs in any status.
        selection: how a queue and a job are drawn, see `choice`.
        candidates: how many of the drawn queues are tried; None: all.
        job_pool: the job is one of so many oldest ones of the drawn priority.
        owner_bypasses_requirements: a pilot that names an owner and several groups gets queues of all of those
            groups but the last, whatever they require.
        private_pilots: a pilot that is not generic runs jobs of its own user, or of anyone in its group.
        negative_values: a limit on several owners, groups or CPU times excludes each of them, or none.
        ce_limits: a running limit of a CE counts the jobs of that CE, or of its whole site.
    """

    name: Literal["documented", "dirac"]
    consolidation: Literal["average", "sum"]
    user_priority_weight: Literal["as_given", "mapped"]
    users_counted: Literal["waiting", "rows"]
    site_families: bool
    families_as_listed: bool
    decimals: int | None
    user_all_bug: bool
    both_sharing_names: bool
    blank_lists: Literal["empty", "error"]
    both_bound_names: bool
    whole_numbers: bool
    checked_settings: bool
    absent_weighted: bool
    zero_use: Literal["absent", "error"]
    failed_report: Literal["slice", "instance"]
    weight_of_skipped: Literal["shared", "lost"]
    in_group_key: Literal["name", "dn"]
    in_group_statuses: Literal["running", "all"]
    selection: Selection
    candidates: int | None
    job_pool: int
    owner_bypasses_requirements: bool
    private_pilots: Literal["owner", "group"]
    negative_values: Literal["any", "single"]
    ce_limits: Literal["ce", "site"]
