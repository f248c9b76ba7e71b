"""The accounting ads of each view of ``userprio``, with their columns and their order.

The rules are those of condor_userprio (``CollectInfo``, ``ProcessInfo`` and the row part of ``PrintInfo``):
the same ads give the same table. One defect is not copied: in condor_userprio, an attribute missing from one ad
keeps the value of the ad before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from fairq.engine.accounting.identity import ROOT_GROUP, answers_to
from fairq.errors.base import UsageError

COLUMNS = (
    "group_id", "order", "sort_key", "effective_quota", "config_quota", "surplus", "subtree_quota",
    "priority", "real_priority", "factor", "in_use", "usage", "begin", "last", "since", "requested", "floor",
    "ceiling", "dominant",
)  # fmt: skip
"""All possible columns of a table, in their order."""

PRIORITIES = frozenset({"priority", "real_priority", "factor"})
QUOTAS = frozenset({"effective_quota", "config_quota", "subtree_quota", "surplus", "requested"})
USAGE = frozenset({"in_use", "usage", "begin", "last"})
MOST = frozenset(
    {"priority", "factor", "in_use", "usage", "since", "floor", "ceiling", "dominant"}
    | {"config_quota", "surplus", "requested"}
)
ALL = MOST | QUOTAS | PRIORITIES | USAGE

BEYOND_ALL_GROUPS = 3.4028234663852886e38
"""Display order of ``<none>`` without a sort key: the largest 32-bit float."""

NEVER = -1
"""Last use of a record that was never used, where that counts as a time."""

MISSING_USAGE = -1.0
"""Accumulated usage of a record whose ad does not contain it; prints as ``-0.00``."""

_SURPLUS = {"regroup": "Regroup", "byquota": "ByQuota", "no": "no"}


class ViewOptions(Struct, frozen=True):
    """The options of a view.

    *columns*: the requested columns, empty for the default view. *keep_quotas*: quota columns were requested by
    name, so they stay even without data. *layout*: ``hierarchical``, ``flat`` or ``groups first`` if requested,
    else None. *cutoff*: show only records used since then (seconds since 1970), None for all. *without*: columns
    to leave out. *zero_is_time*: a time of use of 0 means 1970, not "never".
    """

    columns: frozenset[str] = frozenset()
    keep_quotas: bool = False
    layout: str | None = None
    cutoff: int | None = None
    without: frozenset[str] = frozenset()
    zero_is_time: bool = False


class Row(Struct):
    """One accounting ad as a line of the table; None for an attribute that the ad lacks.

    *tells_use*: whether *in_use* is printed; the sum always includes it. *share* (0 to 1) and *limit* (slot weight)
    are those of the last cycle, 0 for a submitter without requests.
    """

    index: int
    name: str
    is_group: bool
    group: str
    priority: float
    factor: float | None
    in_use: float
    tells_use: bool
    usage: float | None
    begin: int | None
    last: int | None
    ceiling: float | None
    floor: float | None
    share: float | None
    limit: float | None
    requested: float | None = None
    effective_quota: float | None = None
    config_quota: float | None = None
    subtree_quota: float | None = None
    sort_key: float | None = None
    surplus: str | None = None
    group_id: int = 0
    order: float | None = None
    dominant: str | None = None


class Listing(Struct, frozen=True):
    """A table ready for layout: *rows* and *columns* in order, and the figures of the summary.

    *measured* are all rows, shown or not, whose names determine the width of the name column.
    """

    rows: list[Row]
    measured: list[Row]
    columns: tuple[str, ...]
    hierarchical: bool
    groups_only: bool
    records: int
    users: int
    weight_in_use: float
    usage: float
    surplus: str
    last_update: int
    cutoff: int | None


def row_of(index: int, ad: Mapping[str, Any]) -> Row:
    """Return the line of accounting ad *ad*, the *index*-th of its report."""
    get = ad.get
    usage = get("WeightedAccumulatedUsage")
    used = get("ResourcesUsed")
    weight = get("WeightedResourcesUsed")
    in_use = (used or 0.0) if weight is None else weight
    tells_use = usage is not None or used is not None
    if usage is None and (used is not None or weight is not None):
        usage = MISSING_USAGE
    row = Row(
        index, ad["Name"], get("IsAccountingGroup", False), get("AccountingGroup", ROOT_GROUP),
        _as_sent(ad["Priority"]), get("PriorityFactor"), in_use, tells_use, usage,
        get("BeginUsageTime"), get("LastUsageTime") or None, get("Ceiling"), get("Floor"), get("SubmitterShare"),
        get("SubmitterLimit"),
    )  # fmt: skip
    row.dominant = get("DominantResource")
    if row.is_group:
        row.requested = get("Requested")
        row.effective_quota = get("EffectiveQuota")
        row.config_quota = get("ConfigQuota")
        row.subtree_quota = get("SubtreeQuota")
        row.sort_key = get("GroupSortKey")
        policy = get("SurplusPolicy")
        row.surplus = None if policy is None else _SURPLUS.get(policy.lower(), "n/a")
        row.group_id = 0 if row.name == ROOT_GROUP else -index
    elif row.group != ROOT_GROUP:
        row.group_id = -index
    return row


def _as_sent(value: float) -> float:
    """Return *value* rounded to 16 digits, as in an ad that the negotiator sends to the tool."""
    return float(f"{value:.16g}")


def listing(ads: Sequence[Mapping[str, Any]], options: ViewOptions) -> Listing:
    """Return the table of *ads*, in the order of the report, that *options* ask for."""
    rows = [row_of(index, ad) for index, ad in enumerate(ads, 1)]
    if options.zero_is_time:
        for row in rows:
            row.last = row.last or NEVER
    requested = (options.columns or MOST) - options.without
    columns = _with_data(requested, rows, options)
    policy = _pool_surplus_policy(rows)
    hierarchical = options.layout in (None, "hierarchical")
    hide_groups = False
    if requested <= PRIORITIES:
        hierarchical = options.layout == "hierarchical"
        hide_groups = not hierarchical
    grouped = any(row.group_id < 0 and not row.is_group for row in rows)
    if grouped:
        _number_groups(rows, columns)
    cutoff = options.cutoff
    visible = rows if cutoff is None else [row for row in rows if row.last is not None and row.last >= cutoff]
    only_ungrouped = all(row.group_id <= 0 for row in visible)
    if only_ungrouped:
        hierarchical = False
    if (hide_groups or only_ungrouped) and not options.keep_quotas:
        columns -= QUOTAS
    groups_only = bool(columns) and columns <= QUOTAS
    _sort(visible, columns, hierarchical, options.layout == "groups first", policy == "Regroup")
    users = [row for row in visible if not row.is_group]
    counted = [] if groups_only else users
    return Listing(
        rows=_shown(visible, hierarchical, hide_groups, groups_only, only_ungrouped),
        measured=visible,
        columns=tuple(name for name in COLUMNS if name in columns),
        hierarchical=hierarchical,
        groups_only=groups_only,
        records=len(rows),
        users=len(users),
        weight_in_use=sum(row.in_use for row in counted),
        usage=sum(_usage_seconds(row) for row in counted),
        surplus=policy,
        last_update=ads[0].get("LastUpdate", 0) if ads else 0,
        cutoff=cutoff,
    )


def _with_data(requested: frozenset[str], rows: list[Row], options: ViewOptions) -> frozenset[str]:
    """Return those columns of *requested* for which an ad has data."""
    columns = set(requested)
    if all(row.usage is None for row in rows):
        columns -= {"in_use", "usage"}
    if all(row.dominant is None for row in rows):
        columns.discard("dominant")
    if all(row.factor is None for row in rows):
        columns.discard("factor")
    if all(row.begin is None for row in rows):
        columns.discard("begin")
    if options.cutoff is None and all(row.last is None for row in rows):
        columns -= {"last", "since"}
    if not options.keep_quotas and not any(_has_quotas(row) for row in rows):
        columns -= QUOTAS
    return frozenset(columns)


def _has_quotas(row: Row) -> bool:
    numbers = (row.effective_quota, row.config_quota, row.subtree_quota, row.requested, row.surplus)
    return any(number is not None for number in numbers)


def _pool_surplus_policy(rows: list[Row]) -> str:
    """Return the last surplus policy other than ``no``; it applies to the whole pool."""
    policy = ""
    for row in rows:
        if row.surplus in ("Regroup", "ByQuota"):
            policy = row.surplus
    return policy


def _usage_seconds(row: Row) -> float:
    return MISSING_USAGE if row.usage is None else row.usage


def _number_groups(rows: list[Row], columns: frozenset[str]) -> None:
    """Number the groups by name and set their display order; users get the number and order of their group."""
    groups = sorted((row for row in rows if row.is_group), key=lambda row: (row.group_id == 0, row.name))
    has_sort_key = any(group.sort_key is not None for group in groups)
    for number, group in enumerate(groups, 1):
        if group.group_id:
            group.group_id = number
        if "priority" in columns and has_sort_key:
            group.order = group.sort_key or 0.0
        elif "priority" in columns:
            group.order = group.priority if group.group_id else BEYOND_ALL_GROUPS
        elif "in_use" in columns:
            group.order = _usage_seconds(group) / 3600
        else:
            group.order = float(group.group_id) if group.group_id else BEYOND_ALL_GROUPS
    by_name = {group.name: group for group in groups}
    for row in rows:
        if not row.is_group and row.group in by_name:
            row.group_id = by_name[row.group].group_id
            row.order = by_name[row.group].order


def _sort(rows: list[Row], columns: frozenset[str], hierarchical: bool, groups_first: bool, none_last: bool) -> None:
    member_key: Callable[[Row], Any]
    if "priority" in columns:
        member_key = _by_priority
    elif "in_use" in columns:
        member_key = _usage_seconds
    else:
        member_key = _by_name
    if any(row.group_id > 0 for row in rows):
        # Equal rows stay in the order in which the groups were numbered: groups by name, <none> last.
        rows.sort(key=lambda row: (False, row.group_id == 0, row.name) if row.is_group else (True, False, ""))
    rows.sort(key=member_key)
    if hierarchical:
        by_order = "priority" in columns or "in_use" in columns
        rows.sort(
            key=lambda row: (
                none_last and row.group_id == 0,
                (row.order or 0.0) if by_order else 0.0,
                row.group_id,
                not row.is_group,
            )
        )
    elif groups_first:
        rows.sort(key=lambda row: (0, row.index) if row.is_group else (1, 0))


def _by_priority(row: Row) -> float:
    return row.priority


def _by_name(row: Row) -> str:
    return row.name


def _shown(rows: list[Row], hierarchical: bool, hide_groups: bool, groups_only: bool, hide_root: bool) -> list[Row]:
    """Return the rows to print: a flat table omits ``<none>`` unless another group precedes it."""
    shown = []
    for row in rows:
        if row.is_group:
            if hide_groups or (not hierarchical and hide_root and row.group_id == 0):
                continue
            hide_root = False
        elif groups_only:
            continue
        shown.append(row)
    return shown


def named(names: Sequence[str]) -> Callable[[str], bool]:
    """Return a test whether a record's name is one of *names*.

    A name with ``@`` (or ``<none>``) must be equal, including letter case. A name without ``@`` is a group or a user
    of any group and domain.
    """
    for name in names:
        if not name[:1].isalpha() and name != ROOT_GROUP:
            raise UsageError(message=f"not an option and not a name: {name!r}; see fairq userprio --help")
    return lambda name: any(answers_to(name, word) for word in names)
