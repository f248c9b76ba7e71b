"""The two sets of rules: what the priority schema intends, and what DIRAC computes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

Consolidation = Literal["average", "sum"]
Selection = Literal["dirac", "proportional", "strict"]


@dataclass(frozen=True)
class Rules:
    """Where the schema of 2009 (with the choices of reference dirac 6) and today's DIRAC differ.

    Attributes:
        name: "documented" or "dirac"; every result names it.
        consolidation: how the UserPriorities of a queue's jobs become one weight. Their sum rewards those who
            flood a queue; DIRAC has averaged since 2009.
        users_counted: among how many users a group's share is divided: those with waiting jobs, or all with a
            row in the database, emptied queues included.
        site_families: queues that differ only in sites, banned sites and RAM are given the sum of theirs.
        families_as_listed: the same tags listed in another order make another family.
        whole_numbers: JobShare and the correctors' numbers are integers; any other text is the default.
        checked_settings: bounds below 1, weights that are all zero, slices without a TimeSpan, and a bound
            given under both of its names are refused; otherwise DIRAC's defaults stand in.
        both_bound_names: the bound is read from MaxGlobalCorrectionFactor (the schema's name), too, and not
            only from MaxGlobalCorrection.
        absent_weighted: who has no use in a slice gets the slice's maximum times its weight; otherwise the
            whole maximum.
        failed_report: a slice without report leaves out that slice, or all of its instance.
        weight_of_skipped: the weight of a slice that tells nothing goes to the other slices, or is lost.
        zero_use: an explicit use of 0 counts as absent, or ends in an error as in DIRAC.
        in_group_key: what stands for a user in the history of a group: the name, or the distinguished name,
            which today's queues are not kept by (so that nothing is corrected unless both are the same).
        in_group_statuses: whether only running jobs, or jobs in any status are use inside a group.
        all_is_magic: a user called "all" with more than one queue keeps a full pass from the group's others.
        insertion_shares: by which share a new queue is divided before the first full pass: the configured one,
            or 1000 for every group.
        decimals: how many decimals of a priority are kept; None: all.
        blank_lists: a list of blank values is no requirement, or an error as in DIRAC.
        clamp_submitted: what a job asks for beyond the bounds is set to the bound, not only computed.
        selection: how a queue and a job are drawn, see `choice`.
        candidates: so many of the drawn queues are tried; None: all.
        job_pool: the job is one of so many oldest ones of the drawn priority.
        owner_escapes: a pilot that names an owner and several groups gets queues of all of those groups but
            the last whatever else it asks for.
        negative_values: in a limit on owners, groups or CPU times, any of the values hits; or only one that
            stands alone does, as in DIRAC.
        private_pilots: a pilot that is not generic runs jobs of its own user, or of anyone in its group.
        ce_limits: a running limit of a CE counts the jobs of that CE, or of its whole site.
    """

    name: Literal["documented", "dirac"]
    consolidation: Consolidation
    users_counted: Literal["waiting", "rows"]
    site_families: bool
    families_as_listed: bool
    whole_numbers: bool
    checked_settings: bool
    both_bound_names: bool
    absent_weighted: bool
    failed_report: Literal["slice", "instance"]
    weight_of_skipped: Literal["shared", "lost"]
    zero_use: Literal["absent", "error"]
    in_group_key: Literal["name", "dn"]
    in_group_statuses: Literal["running", "all"]
    all_is_magic: bool
    insertion_shares: Literal["configured", "default"]
    decimals: int | None
    blank_lists: Literal["empty", "error"]
    clamp_submitted: bool
    selection: Selection
    candidates: int | None
    job_pool: int
    owner_escapes: bool
    negative_values: Literal["any", "single"]
    private_pilots: Literal["owner", "group"]
    ce_limits: Literal["ce", "site"]


DOCUMENTED = Rules(
    name="documented",
    consolidation="average",
    users_counted="waiting",
    site_families=True,
    families_as_listed=False,
    whole_numbers=False,
    checked_settings=True,
    both_bound_names=True,
    absent_weighted=True,
    failed_report="slice",
    weight_of_skipped="shared",
    zero_use="absent",
    in_group_key="name",
    in_group_statuses="running",
    all_is_magic=False,
    insertion_shares="configured",
    decimals=None,
    blank_lists="empty",
    clamp_submitted=True,
    selection="proportional",
    candidates=None,
    job_pool=1,
    owner_escapes=False,
    negative_values="any",
    private_pilots="owner",
    ce_limits="ce",
)

DIRAC = Rules(
    name="dirac",
    consolidation="average",
    users_counted="rows",
    site_families=True,
    families_as_listed=True,
    whole_numbers=True,
    checked_settings=False,
    both_bound_names=False,
    absent_weighted=False,
    failed_report="instance",
    weight_of_skipped="lost",
    zero_use="error",
    in_group_key="dn",
    in_group_statuses="all",
    all_is_magic=True,
    insertion_shares="default",
    decimals=4,
    blank_lists="error",
    clamp_submitted=False,
    selection="dirac",
    candidates=10,
    job_pool=50,
    owner_escapes=True,
    negative_values="single",
    private_pilots="group",
    ce_limits="site",
)

RULES = {rules.name: rules for rules in (DOCUMENTED, DIRAC)}


def rules_named(name: str, **points: Any) -> Rules:
    """Return the rules called *name* ("documented" or "dirac"), with single *points* set otherwise."""
    return replace(next(rules for rules in RULES.values() if rules.name == name), **points)
