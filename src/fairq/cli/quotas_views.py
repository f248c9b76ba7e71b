"""The views of ``quotas``, ready for the renderer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairq.cli.output import Column, Table, View
from fairq.cli.quotas_bars import bar
from fairq.cli.userprio_views import options_of, selected, table_view

if TYPE_CHECKING:
    from fairq.records import Ad
    from fairq.steps.quotas.check import Checked
    from fairq.steps.quotas.compare import Comparison
    from fairq.steps.quotas.tree import QuotaReport

FIELDS = (
    "Name", "ParentGroup", "ConfigQuota", "StaticQuota", "EffectiveQuota", "SubtreeQuota", "SurplusPolicy",
    "AcceptSurplus", "Autoregroup", "GroupSortKey", "Requested", "Allocated", "SurplusAllocated", "Submitters",
    "ResourcesUsed", "WeightedResourcesUsed", "HierWeightedResourcesUsed", "LastUpdate",
)  # fmt: skip
"""What CSV and TSV show of every group."""

ROOT = "<none>"

_WIDE = 100
"""Cells from which on a terminal has room for all columns of the tree."""


def records_view(report: QuotaReport, constraint: str | None) -> View:
    """Return the groups' ads, for the formats that machines read."""
    table = Table(columns=(), records=selected(report.groups, (), constraint), constrained=True)
    return View(tables=[table], fields=FIELDS)


def condor_view(report: QuotaReport, constraint: str | None, *, header: bool) -> View:
    """Return the text of ``condor_userprio -quotas -allusers``."""
    ads = selected([*report.groups, *report.submitters], (), constraint)
    options = options_of(["quotas"], hierarchical=False, flat=False, groups_first=False, cutoff=None)
    return table_view(ads, options, header=header, plain=True, classic=False)


def tree_view(report: QuotaReport, constraint: str | None, title: str, *, width: int | None, blocks: bool) -> View:
    """Return the tree: every group below its parent, with bars of its share of the pool and of its use.

    *width* is that of the terminal, None if it does not matter; *blocks*: it shows block characters.
    """
    groups = sorted(selected(report.groups, (), constraint), key=_depth_first)
    there = {group["Name"].lower() for group in groups}

    def share(group: Any) -> str:
        return bar(_quota(group), report.total, blocks=blocks)

    def use(group: Any) -> str:
        return bar(_used(group), _quota(group), blocks=blocks)

    def column(heading: str, shown: Callable[[Any], str], align: str = "right") -> Column:
        return Column(heading, "Group", shown, "right" if align == "right" else "left")

    few = [
        column("Group", lambda group: _indented(group, there), "left"),
        column("Quota", lambda group: _short(_quota(group))),
        column("Surplus", _surplus, "left"),
        column("Requested", lambda group: _short(group["Requested"])),
        column("In Use", lambda group: _short(_used(group))),
        column("Share of Pool", share, "left"),
        column("Use of Quota", use, "left"),
    ]
    more = {
        1: column("Configured", _configured),
        2: column("Own", lambda group: _short(group["EffectiveQuota"])),
        4: column("Allocated", lambda group: _short(group.get("Allocated", 0.0))),
    }
    columns: list[Column] = []
    for place, each in enumerate(few):
        if place in more and (width is None or width >= _WIDE):
            columns.append(more[place])
        columns.append(each)
    records = [{"Group": group} for group in groups]
    return View(tables=[Table(columns=columns, records=records, title=title, constrained=True)])


def comparison_view(comparison: Comparison, constraint: str | None, what_now: str, what_then: str) -> View:
    """Return two trees side by side; *what_now* and *what_then* say in words which they are."""
    groups = selected(comparison.groups, (), constraint)
    there = {group["Name"].lower() for group in groups}
    columns = [Column("Group", "Name", lambda name: _indented({"Name": name}, there))]
    for heading, attribute in (
        ("Configured", "ConfigQuota"),
        ("Own", "EffectiveQuota"),
        ("Subtree", "SubtreeQuota"),
        ("Allocated", "Allocated"),
    ):
        columns += [
            Column(f"{heading} now", f"{attribute}Now", _short, "right"),
            Column("then", f"{attribute}Then", _short, "right"),
        ]
    sizes = {"Name": "pool", "SubtreeQuotaNow": comparison.size_now, "SubtreeQuotaThen": comparison.size_then}
    table = Table(
        columns=columns,
        records=groups,
        footer=sizes if groups else None,
        title=f"now: {what_now}; then: {what_then}",
        constrained=True,
        empty="no groups are configured, neither now nor then",
    )
    fields = ["Name"]
    for attribute in (
        "ConfigQuota", "StaticQuota", "SurplusPolicy", "EffectiveQuota", "SubtreeQuota", "Requested", "Allocated",
    ):  # fmt: skip
        fields += [f"{attribute}Now", f"{attribute}Then"]
    return View(tables=[table], fields=fields)


def check_view(checked: Checked) -> View:
    """Return the oddities, a line for each, with its cure."""
    records = [
        {"group": one.group, "oddity": one.kind, "problem": one.problem, "cure": one.cure} for one in checked.oddities
    ]
    table = Table(columns=(), records=records, plain=_sentences)
    return View(tables=[table], fields=("group", "oddity", "problem", "cure"))


def _sentences(records: Sequence[Mapping[str, Any]]) -> str:
    from fairq.cli.output.text import escape

    lines = (f"{record['group']}: {record['problem']}; {record['cure']}" for record in records)
    return "".join(f"{escape(line)}\n" for line in lines)


def _depth_first(group: Ad) -> tuple[bool, list[str]]:
    name: str = group["Name"]
    return name == ROOT, name.lower().split(".")


def _indented(group: Mapping[str, Any], there: set[str]) -> str:
    """Return the name as the tree shows it: below its parent, if that is shown, without the parent's name."""
    name: str = group["Name"]
    parts = name.split(".")
    depth = sum(".".join(parts[:length]).lower() in there for length in range(1, len(parts)))
    is_below = ".".join(parts[:-1]).lower() in there
    return "  " * depth + (parts[-1] if is_below else name)


def _quota(group: Mapping[str, Any]) -> float:
    """Return what a group's bars are of: all that it and those below it have; of ``<none>`` just its own."""
    return float(group["EffectiveQuota"] if group["Name"] == ROOT else group["SubtreeQuota"])


def _used(group: Mapping[str, Any]) -> float:
    below = group.get("HierWeightedResourcesUsed")
    return float(group["WeightedResourcesUsed"] if group["Name"] == ROOT or below is None else below)


def _configured(group: Mapping[str, Any]) -> str:
    if group["Name"] == ROOT:
        return ""
    quota = group["ConfigQuota"]
    return _short(quota) if group.get("StaticQuota", True) else f"{100 * quota:.4g}%"


def _surplus(group: Mapping[str, Any]) -> str:
    if group["Name"] == ROOT:
        return "yes"
    return {"regroup": "Regroup", "byquota": "ByQuota"}.get(group["SurplusPolicy"], "no")


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value < 1e12 else f"{value:g}"
