"""The views of ``userprio``, ready for the renderer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from fairq.cli.figures import SLOT, share_colour
from fairq.cli.output import Column, Form, Table, View
from fairq.cli.output.constraint import matching
from fairq.cli.output.long import long_texts
from fairq.cli.output.text import escape, filled
from fairq.cli.userprio_layout import (
    cell_text,
    lay_out,
    name_of,
    short_time,
    summary_text,
    title_and_level,
    update_line,
    without_year,
)
from fairq.common.quantities import shown_time
from fairq.common.records import Ad
from fairq.errors.base import UsageError
from fairq.steps.userprio.rows import (
    ALL,
    MOST,
    PRIORITIES,
    QUOTAS,
    USAGE,
    Listing,
    Row,
    ViewOptions,
    listing,
    named,
)

_VIEWS = {"all": ALL, "most": MOST, "priority": PRIORITIES, "usage": USAGE, "quotas": QUOTAS}
"""The columns of the views that have several, or whose column has another name."""

FIELDS = (
    "Name", "AccountingGroup", "IsAccountingGroup", "Priority", "RealPriority", "PriorityFactor",
    "ResourcesUsed", "WeightedResourcesUsed", "AccumulatedUsage", "WeightedAccumulatedUsage",
    "BeginUsageTime", "LastUsageTime", "Ceiling", "Floor", "SubmitterShare", "SubmitterLimit", "LastUpdate",
)  # fmt: skip
"""The columns of every record in CSV and TSV, for groups and submitters."""

_HEADING_LINES = 4

_TIMES = ("begin", "last")
"""Columns that lose the year on a narrow terminal."""


def selected(ads: Sequence[Ad], names: Sequence[str], constraint: str | None) -> list[Ad]:
    """Return the ads of the *names* (all if none is given) that satisfy *constraint*, in their order."""
    if names:
        is_named = named(names)
        ads = [ad for ad in ads if is_named(ad["Name"])]
    return list(matching(ads, constraint))


def missing(ads: Sequence[Ad], names: Sequence[str]) -> list[str]:
    """Return the *names* that no ad has."""
    return [name for name in names if not any(map(named([name]), (ad["Name"] for ad in ads)))]


def absence(ads: Sequence[Ad], cutoff: int | None) -> list[str]:
    """Return a line that says why nobody is shown, if that is so."""
    if active(ads, cutoff):
        return []
    if ads:
        return ["nobody was active in this time; --allusers shows everybody"]
    return ["there are no accounting records yet; the first cycle with jobs makes them"]


def leases(ads: Sequence[Ad], now: int) -> list[str]:
    """Return a line for every lease of the *ads* that is active at *now*; condor_userprio's table shows no leases."""
    lines = []
    for ad in ads:
        for name, noun in (("PriorityFactor", "priority factor"), ("Ceiling", "ceiling"), ("Floor", "floor")):
            until = ad.get(f"{name}LeaseExpiration")
            if until is not None and until > now:
                former = ad[f"{name}PreLeaseValue"]
                lines.append(f"{ad['Name']}: {noun} {ad[name]:g} until {shown_time(until)}, then {former:g} again")
    return lines


def active(ads: Sequence[Ad], cutoff: int | None) -> list[Ad]:
    """Return the ads with usage since *cutoff*, all if it is None."""
    if cutoff is None:
        return list(ads)
    # The htcondor rules leave the time out of records that were never used.
    return [ad for ad in ads if (last := ad.get("LastUsageTime")) and last >= cutoff]


def midnight(month: int, day: int, year: int) -> int:
    """Return the start of a day, local time, in seconds since 1970; years 0 to 49 are 2000 to 2049.

    Raises UsageError for an invalid day.
    """
    full = year + 2000 if year < 50 else year + 1900 if year <= 1900 else year
    try:
        return int(datetime(full, month, day).timestamp())
    except (ValueError, OverflowError):
        message = f"--activefrom: there is no day {month} {day} {year}; give month day year, as 11 20 2026"
        raise UsageError(message=message) from None


def options_of(
    views: Sequence[str], *, hierarchical: bool, flat: bool, groups_first: bool, cutoff: int | None
) -> ViewOptions:
    """Return the combined options of the named *views* and the layout options."""
    columns: set[str] = set()
    for view in views:
        columns |= _VIEWS.get(view, {view})
    layout = "groups first" if groups_first else "flat" if flat else "hierarchical" if hierarchical else None
    return ViewOptions(frozenset(columns), bool({"quotas", "surplus"} & {*views}), layout, cutoff)


def records_view(ads: Sequence[Ad], cutoff: int | None) -> View:
    """Return the ads with usage since *cutoff*, for machine formats."""
    table = Table(columns=(), records=active(ads, cutoff), constrained=True)
    return View(tables=[table], fields=FIELDS)


def long_view(ads: Sequence[Ad]) -> View:
    """Return the ads in the long form, attribute by attribute, with a blank line after each."""
    return View(text=long_texts(ads))


def table_view(ads: Sequence[Ad], options: ViewOptions, *, header: bool, plain: bool, classic: bool) -> View:
    """Return the table; *plain*: condor_userprio's text even on a terminal; *classic*: the table of 6.8 to 7.4."""
    table = listing(ads, options)
    if not table.records:
        return View()
    if classic:
        from fairq.cli.userprio_layout import as_listing, lay_out_classic

        view = _classic_view(options.columns)
        lines = list(lay_out_classic(table, view))
        table = as_listing(table, view)
        return _with_text(table, lines, header, () if plain else _terminal_columns(table))
    return _with_text(table, list(lay_out(table)), header, () if plain else _terminal_columns(table))


def _classic_view(columns: frozenset[str]) -> str:
    if columns >= ALL:
        return "all"
    return "usage" if columns >= USAGE else "default"


def _with_text(listing: Listing, lines: list[str], header: bool, columns: Sequence[Column]) -> View:
    if not header:
        lines = lines[_HEADING_LINES:]
    text = "".join(f"{line}\n" for line in lines)
    if not columns:
        return View(text=[text])
    table = Table(
        columns=columns,
        # The terminal's cells are made from the row when drawn; a pipe does not use them.
        records=[{"Row": row} for row in listing.rows],
        title=update_line(listing),
        footer={"Row": listing},
        plain=lambda _: text,
        constrained=True,
    )
    return View(tables=[table])


def _terminal_columns(listing: Listing) -> list[Column]:
    def column(name: str, heading: str, level: int = 0) -> Column:
        colour = (lambda record: _use_colour(record["Row"], listing)) if name == "in_use" else None
        shown = Form(lambda row: _cell(name, row, listing), lambda row: without_year(_cell(name, row, listing)))
        return Column(heading, "Row", shown if name in _TIMES else shown.full, _side(name), colour, level)

    return [column("name", "Name"), *(column(name, *title_and_level(name)) for name in listing.columns)]


def _use_colour(row: Row, listing: Listing) -> str:
    """Return the colour of use compared with the share in the last cycle; for a group, with its quota.

    A share is a fraction of all slots in use. In a hierarchical listing it is a fraction of a group's slots; then only
    the limit counts.
    """
    if row.is_group:
        wants_more = (row.requested or 0.0) > row.in_use
        return share_colour(row.in_use, row.effective_quota, wants_more=wants_more) if row.effective_quota else ""
    if not row.share:
        return ""
    entitled = max(row.limit or 0.0, 0.0 if listing.hierarchical else row.share * listing.weight_in_use)
    return share_colour(row.in_use, entitled, wants_more=True, slack=SLOT)


def _side(name: str) -> Literal["left", "right"]:
    return "left" if name in ("name", "surplus", "dominant") else "right"


def _cell(name: str, row: Row | Listing, listing: Listing) -> str:
    """Return the text of one cell; of the summary, if *row* is the whole listing."""
    if name == "name":
        return f"Number of users: {listing.users}" if isinstance(row, Listing) else name_of(row, listing)
    return summary_text(name, listing) if isinstance(row, Listing) else cell_text(name, row, listing)


def resources_view(resources: Sequence[Ad], now: int, *, long: bool) -> View:
    """Return the slots of one submitter, as ``-getreslist`` prints them; *long*: as one numbered ad."""
    if long:
        numbered: Ad = {}
        for number, resource in enumerate(resources, 1):
            numbered[f"Name{number}"] = resource["Name"]
            numbered[f"StartTime{number}"] = resource["StartTime"]
        return long_view([numbered])
    lines = [
        _resource_line("Resource Name", " Start Time", " Match Time"),
        _resource_line("-" * 13, " " + "-" * 10, " " + "-" * 10),
        *(
            _resource_line(
                resource["Name"], short_time(resource["StartTime"]), _match_time(now - resource["StartTime"])
            )
            for resource in resources
        ),
        _resource_line("-" * 13, " " + "-" * 12, " " + "-" * 12),
        f"Number of Resources Used: {len(resources)}",
    ]
    text = "".join(f"{line}\n" for line in lines)
    columns = (
        Column("Resource Name", "Name"),
        Column("Start Time", "StartTime", short_time),
        Column("Match Time", "StartTime", lambda start: _match_time(now - start)),
    )
    table = Table(
        columns=columns,
        records=resources,
        footer={"Name": lines[-1]},
        plain=lambda _: text,
        constrained=True,
    )
    return View(tables=[table], fields=("Name", "StartTime", "SlotWeight"))


def _resource_line(name: str, start: str, match: str) -> str:
    return f"{filled(escape(name), 30)} {start:>12} {match:>12}"


def _match_time(seconds: int) -> str:
    minutes, second = divmod(max(0, seconds), 60)
    return f"{minutes // 1440:3d}+{minutes // 60 % 24:02d}:{minutes % 60:02d}:{second:02d}"
