"""The rules of DIRAC's scheme where the priority schema and DIRAC differ.

The two sets of values, with text and program of each point, are in `fairq.settings.rule_points.dirac`;
`fairq.steps.taskqueues.policy` makes `Rules` from them. docs/dirac.md describes the rules.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Selection = Literal["dirac", "proportional", "strict"]


class Rules(Struct, frozen=True):
    """The rules of one run: a field is the setting ``shares.FIELD``.

    The settings' table of rule points holds what each field decides, what the schema and the program say about it, and
    its value under both sets of rules (docs/dirac.md). ``name`` is ``documented`` or ``dirac``; every result names it.
    """

    name: Literal["documented", "dirac"]
    consolidation: Literal["average", "sum"]
    user_priority_weight: Literal["as_given", "mapped"]
    bounded_defaults: bool
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
    negative_fields: Literal["any", "all"]
    ce_limits: Literal["ce", "site"]
