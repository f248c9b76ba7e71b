"""``userprio --classic``: the tables of condor_userprio 6.8 to 7.4."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from fairq.cli.output.text import escape, filled, folded, width
from fairq.cli.userprio_layout import long_time, update_line
from fairq.steps.userprio.rows import Listing, Row

_NAME = 30
_LONGEST_NAME = 29
_PRIORITY_HEADS = (
    ("Effective", "  Real  ", "  Priority  ", "Res ", "Total Usage", "      Usage     ", "      Last      "),
    ("Priority ", "Priority", "   Factor   ", "Used", "(wghted-hrs)", "   Start Time   ", "   Usage Time   "),
    ("-" * 9, "-" * 8, "-" * 12, "-" * 4, "-" * 11, "-" * 16, "-" * 16),
)
_PRIORITY_WIDTHS = (14, 8, 12, 4, 12, 14, 14)
_USAGE_HEADS = (
    ("Total Usage", "     Usage    ", "     Last     "),
    ("(wghted-hrs)", "  Start Time  ", "  Usage Time  "),
    ("-" * 11, "-" * 16, "-" * 16),
)
_USAGE_WIDTHS = (12, 14, 14)
_COLUMNS = {
    "default": ("priority",),
    "all": ("priority", "real_priority", "factor", "in_use", "usage", "begin", "last"),
    "usage": ("usage", "begin", "last"),
}
"""The columns of each view by their names in the current layout."""


def as_listing(listing: Listing, view: str) -> Listing:
    """Return the rows and columns of the old table as a listing, for a terminal that may be too narrow for its text."""
    return replace(listing, rows=_rows(listing, view), columns=_COLUMNS[view], hierarchical=False)


def lay_out_classic(listing: Listing, view: str) -> Iterator[str]:
    """Yield the lines of the old table; *view* is ``default`` (one column), ``all`` or ``usage``.

    Group records are listed among the users, without ``<none>``, which those versions did not have. Names longer than
    30 letters are cut to 29.
    """
    heads, widths = (_USAGE_HEADS, _USAGE_WIDTHS) if view == "usage" else (_PRIORITY_HEADS, _PRIORITY_WIDTHS)
    shown = 1 if view == "default" else len(widths)
    rows = _rows(listing, view)
    yield update_line(listing)
    yield _line("", heads[0][:shown], widths)
    yield _line("User Name", heads[1][:shown], widths)
    yield _line("-" * _NAME, heads[2][:shown], widths)
    for row in rows:
        name = escape(row.name)
        name = name if width(name) <= _NAME else next(folded(name, _LONGEST_NAME))
        yield _line(name, _cells(row, view)[:shown], widths)
    yield _line("-" * _NAME, heads[2][:shown], widths)
    usage = f"{sum(row.usage or 0.0 for row in rows) / 3600:.2f}"
    begins = [row.begin for row in rows if row.begin]
    times = (long_time(min(begins, default=None)), long_time(listing.cutoff))
    if view == "usage":
        totals: tuple[str, ...] = (usage, *times)
    else:
        totals = ("", "", "", f"{sum(row.in_use for row in rows):.0f}", usage, *times)
    count = "Number of users shown: " if view == "default" else "Number of users: "
    yield count + _line(str(len(rows)), totals[:shown], widths, 13)


def _rows(listing: Listing, view: str) -> list[Row]:
    rows = [row for row in listing.measured if row.group_id or not row.is_group]
    return sorted(rows, key=(lambda row: row.usage or 0.0) if view == "usage" else (lambda row: row.priority))


def _cells(row: Row, view: str) -> tuple[str, ...]:
    hours = f"{(row.usage or 0.0) / 3600:.2f}"
    times = (long_time(row.begin), long_time(row.last))
    if view == "usage":
        return (hours, *times)
    factor = row.factor or 1.0
    priorities = (f"{row.priority:.2f}", f"{row.priority / factor:.2f}", f"{factor:.2f}")
    return (*priorities, f"{row.in_use:.0f}", hours, *times)


def _line(name: str, cells: tuple[str, ...], widths: tuple[int, ...], name_width: int = _NAME) -> str:
    aligned = [cell.rjust(size) for cell, size in zip(cells, widths, strict=False)]
    return " ".join([filled(name, name_width), *aligned])
