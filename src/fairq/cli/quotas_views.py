"""The views of ``quotas``, ready for the renderer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from fairq.cli.blocks import bar_with_percentage
from fairq.cli.figures import share_colour
from fairq.cli.output import Column, Record, Table, View
from fairq.cli.userprio_views import options_of, selected, table_view

if TYPE_CHECKING:
    from fairq.common.records import Ad
    from fairq.steps.quotas.check import Checked
    from fairq.steps.quotas.compare import Comparison
    from fairq.steps.quotas.tree import QuotaReport

ROOT = "<none>"

_BARS = ("Share of Pool", "Use of Quota")


def records_view(report: QuotaReport, constraint: str | None) -> View:
    """Return the groups' records, for machine formats."""
    from fairq.steps.quotas.tree import MEMBERS

    table = Table(columns=(), records=_matching_records(report, constraint), constrained=True)
    return View(tables=[table], fields=tuple(MEMBERS))


def condor_view(report: QuotaReport, constraint: str | None, *, header: bool) -> View:
    """Return the text of ``condor_userprio -quotas -allusers``."""
    ads = [*report.groups, *report.submitters]
    if constraint is not None:
        names = {record["group"] for record in _matching_records(report, constraint)}
        ads = [ad for ad in report.groups if ad["Name"] in names]
    options = options_of(["quotas"], hierarchical=False, flat=False, groups_first=False, cutoff=None)
    return table_view(ads, options, header=header, plain=True, classic=False)


def _matching_records(report: QuotaReport, constraint: str | None) -> list[Ad]:
    """Return the records of the groups that satisfy *constraint*."""
    from fairq.steps.quotas.tree import group_record

    return selected([group_record(ad) for ad in report.groups], (), constraint)


def tree_view(report: QuotaReport, constraint: str | None, title: str, *, blocks: bool) -> View:
    """Return the tree: every group below its parent, with bars for its share of the pool and for its use.

    *blocks*: the terminal shows block characters.
    """
    groups = sorted(_matching_records(report, constraint), key=_depth_first)
    shown_names = {group["group"].lower() for group in groups}

    def share(group: Any) -> str:
        return bar_with_percentage(group["quota"], report.total, blocks=blocks)

    def use(group: Any) -> str:
        return bar_with_percentage(group["in_use"], group["quota"], blocks=blocks)

    def column(
        heading: str,
        shown: Callable[[Any], str],
        align: str = "right",
        colour: Callable[[Record], str] | None = None,
        level: int = 0,
    ) -> Column:
        side: Literal["left", "right"] = "right" if align == "right" else "left"
        return Column(heading, "Group", shown, side, colour, level, "keep" if heading in _BARS else "wrap")

    columns = [
        column("Group", lambda group: _indented(group, shown_names), "left"),
        column("Configured", _configured, level=5),
        column("Quota", lambda group: _short(group["quota"])),
        column("Own", lambda group: _short(group["own"]), level=6),
        column("Surplus", _surplus, "left", level=3),
        column("Requested", lambda group: _short(group["requested"]), level=2),
        column("Allocated", lambda group: _short(group["allocated"] or 0.0), level=4),
        column("In Use", lambda group: _short(group["in_use"]), colour=_use_colour),
        *([column("Borrowed", _borrowed, level=5)] if any(group["borrowed"] for group in groups) else []),
        column("Share of Pool", share, "left", level=1),
        column("Use of Quota", use, "left", _use_colour),
    ]
    records = [{"Group": group} for group in groups]
    return View(tables=[Table(columns=columns, records=records, title=title, constrained=True)])


def _use_colour(record: Record) -> str:
    """Return the colour of a group's use compared with its quota."""
    group = record["Group"]
    wants_more = (group["requested"] or 0.0) > group["own_in_use"]
    return share_colour(group["in_use"], group["quota"] or 0.0, wants_more=wants_more)


def comparison_view(comparison: Comparison, constraint: str | None, what_now: str, what_then: str) -> View:
    """Return two trees side by side; *what_now* and *what_then* name them in words."""
    groups = selected(comparison.groups, (), constraint)
    shown_names = {group["group"].lower() for group in groups}
    columns = [Column("Group", "group", lambda name: _indented({"group": name}, shown_names))]
    for heading, level in (("Configured", 3), ("Quota", 0), ("Own", 2), ("Allocated", 1)):
        columns += [
            Column(f"{heading} now", f"{heading.lower()}_now", _short, "right", level=level),
            Column("then", f"{heading.lower()}_then", _short, "right", level=level),
        ]
    sizes = {"group": "pool", "quota_now": comparison.size_now, "quota_then": comparison.size_then}
    table = Table(
        columns=columns,
        records=groups,
        footer=sizes if groups else None,
        title=f"now: {what_now}; then: {what_then}",
        constrained=True,
        empty="no groups are configured, neither now nor then",
    )
    fields = ["group"]
    for member in ("configured", "static", "quota", "own", "surplus_policy", "requested", "allocated"):
        fields += [f"{member}_now", f"{member}_then"]
    return View(tables=[table], fields=fields)


def check_view(checked: Checked) -> View:
    """Return the problems, one per line, with their cures."""
    records = [
        {"group": oddity.group, "oddity": oddity.kind, "problem": oddity.problem, "cure": oddity.cure}
        for oddity in checked.oddities
    ]
    table = Table(columns=(), records=records, plain=_sentences)
    return View(tables=[table], fields=("group", "oddity", "problem", "cure"))


def _sentences(records: Sequence[Mapping[str, Any]]) -> str:
    from fairq.cli.output.text import escape

    lines = (f"{record['group']}: {record['problem']}; {record['cure']}" for record in records)
    return "".join(f"{escape(line)}\n" for line in lines)


def _depth_first(group: Ad) -> tuple[bool, list[str]]:
    name: str = group["group"]
    return name == ROOT, name.lower().split(".")


def _indented(group: Mapping[str, Any], shown_names: set[str]) -> str:
    """Return the name for the tree: below its parent, if that is shown, without the parent's name."""
    name: str = group["group"]
    parts = name.split(".")
    depth = sum(".".join(parts[:length]).lower() in shown_names for length in range(1, len(parts)))
    is_below = ".".join(parts[:-1]).lower() in shown_names
    return "  " * depth + (parts[-1] if is_below else name)


def _configured(group: Mapping[str, Any]) -> str:
    if group["group"] == ROOT:
        return ""
    quota = group["configured"]
    return _short(quota) if group["static"] else f"{100 * quota:.4g}%"


def _borrowed(group: Mapping[str, Any]) -> str:
    return _short(group["borrowed"]) if group["borrowed"] else ""


def _surplus(group: Mapping[str, Any]) -> str:
    if group["group"] == ROOT:
        return "yes"
    return {"regroup": "Regroup", "byquota": "ByQuota"}.get(group["surplus_policy"], "no")


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value < 1e12 else f"{value:g}"
