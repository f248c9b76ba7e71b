"""The text tables of ``userprio``, identical to those of condor_userprio (its ``PrintInfo``)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from fairq.cli.output.text import escape, filled, folded, width
from fairq.steps.userprio.rows import QUOTAS, Listing, Row

_WIDEST_NAME = 99
_NO_SORT_KEY = 3.40282001e38


class _Column(Struct, frozen=True):
    """A column: its width, its heading in condor_userprio; on a terminal its title and level, see `Column`."""

    width: int
    heads: tuple[str, str]
    title: str
    level: int = 0


_COLUMNS = {
    "group_id": _Column(5, ("Group", "Id"), "Id", 11),
    "order": _Column(9, ("Group", "Order"), "Order", 12),
    "sort_key": _Column(9, ("Group", "Sort Key"), "Sort Key", 13),
    "effective_quota": _Column(9, ("Effective", "Quota"), "Quota", 1),
    "config_quota": _Column(9, ("Config", "Quota"), "Config", 6),
    "surplus": _Column(7, ("Use", "Surplus"), "Surplus", 7),
    "subtree_quota": _Column(9, ("Subtree", "Quota"), "Subtree", 8),
    "priority": _Column(12, ("Effective", "Priority"), "Priority"),
    "real_priority": _Column(8, ("Real", "Priority"), "Real", 9),
    "factor": _Column(9, ("Priority", "Factor"), "Factor", 2),
    "in_use": _Column(6, ("Wghted", "In Use"), "In Use"),
    "usage": _Column(12, ("Total Usage", "(wghted-hrs)"), "Usage (h)", 1),
    "begin": _Column(16, ("Usage", "Start Time"), "First Use", 10),
    "last": _Column(16, ("Last", "Usage Time"), "Last Use", 9),
    "since": _Column(10, ("Time Since", "Last Usage"), "Idle", 3),
    "requested": _Column(10, ("Weighted", "Requested"), "Requested", 4),
    "floor": _Column(9, ("Submitter", "Floor"), "Floor", 5),
    "ceiling": _Column(9, ("Submitter", "Ceiling"), "Ceiling", 5),
    "dominant": _Column(9, ("Dominant", "Resource"), "Dominant", 2),
}

_NO_DATA = "n/d"

_OF_GROUPS = QUOTAS | {"sort_key"}
"""Columns in which a group without data shows this."""


def title_and_level(name: str) -> tuple[str, int]:
    """Return the heading of column *name* on a terminal, short and in one line, and its level there."""
    return _COLUMNS[name].title, _COLUMNS[name].level


def lay_out(listing: Listing) -> Iterator[str]:
    """Yield the lines of the table: update time, headings, rows and summary, including trailing blanks.

    Without records, nothing is printed. Times are local.
    """
    if not listing.records:
        return
    size = _name_width(listing)
    columns = listing.columns
    heads = ("Group" if listing.hierarchical else "", _name_head(listing))
    dashes = " ".join(["-" * size, *("-" * _COLUMNS[name].width for name in columns)])
    yield update_line(listing)
    for line, name_head in enumerate(heads):
        cells = [_centred(_COLUMNS[name].heads[line], _COLUMNS[name].width) for name in columns]
        yield " ".join([filled(name_head, size), *cells])
    yield dashes
    for row in listing.rows:
        cells = [_aligned(name, cell_text(name, row, listing)) for name in columns]
        yield " ".join([filled(next(folded(name_of(row, listing), size)), size), *cells])
    yield dashes
    cells = [_aligned(name, summary_text(name, listing)) for name in columns]
    yield " ".join([filled(f"Number of users: {listing.users}", size), *cells])


def update_line(listing: Listing) -> str:
    """Return the first line: the time up to which everybody is charged."""
    return f"Last Priority Update: {short_time(listing.last_update) if listing.last_update else 'never'}"


def cell_text(name: str, row: Row, listing: Listing) -> str:
    """Return the text of *row* in column *name*, without padding."""
    return _CELLS[name](row, listing) or (_NO_DATA if row.is_group and name in _OF_GROUPS else "")


def short_time(moment: int) -> str:
    """Return *moment* as local ``m/d  hh:mm``, month and day padded to two, the month on the left."""
    local = time.localtime(moment)
    return f"{local.tm_mon:2d}/{local.tm_mday:<2d} {local.tm_hour:02d}:{local.tm_min:02d}"


def long_time(moment: int | None) -> str:
    """Return *moment* as local `` m/dd/yyyy hh:mm``, empty if there is none."""
    if moment is None or moment <= 0:
        return ""
    local = time.localtime(moment)
    return f"{local.tm_mon:2d}/{local.tm_mday:02d}/{local.tm_year:<4d} {local.tm_hour:02d}:{local.tm_min:02d}"


def without_year(text: str) -> str:
    """Return a text of `long_time` without the year."""
    return re.sub(r"(/\d+)/\d+ *", r"\1 ", text)


def elapsed(seconds: int) -> str:
    """Return a duration as ``ddd+hh:mm``, ``<now>`` if it is not positive."""
    if seconds <= 0:
        return "<now>"
    minutes = seconds // 60
    return f"{minutes // 1440:3d}+{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def number(value: float | None, width: int, decimals: int) -> str:
    """Return *value* with *decimals*; fewer significant digits if it is wider than *width*."""
    if value is None:
        return ""
    text = f"{value:.{decimals}f}"
    if len(text) > width:
        text = f"{value:.{max(0, width - 6)}g}"[:width]
    return text


def _aligned(name: str, text: str) -> str:
    width = _COLUMNS[name].width
    return text.ljust(width) if name == "surplus" and text != _NO_DATA else text.rjust(width)


def _centred(head: str, width: int) -> str:
    left_blanks = (width - len(head)) // 2
    return (" " * left_blanks + head).ljust(width)


def _name_width(listing: Listing) -> int:
    size = 10
    for row in listing.measured:
        length = width(escape(row.name))
        if listing.hierarchical and not row.is_group:
            length += 2 - (width(escape(row.group)) if row.group_id else 0)
        size = max(size, length)
    size = max(min(size, _WIDEST_NAME), len(f"Number of users: {listing.records}"))
    return size + 2 if listing.hierarchical else size


def _name_head(listing: Listing) -> str:
    if listing.groups_only:
        return "Name" if listing.hierarchical else "Group Name"
    return "  User Name" if listing.hierarchical else "User Name"


def name_of(row: Row, listing: Listing) -> str:
    """Return the name of *row* in the table: below its group, a user is indented and has no prefix."""
    if row.is_group or not listing.hierarchical:
        return escape(row.name)
    return "  " + escape(row.name[len(row.group) + 1 :] if row.group_id > 0 else row.name)


def summary_text(name: str, listing: Listing) -> str:
    """Return the text of the summary row in column *name*, without padding."""
    width = _COLUMNS[name].width
    if name == "surplus":
        return listing.surplus
    if name == "in_use":
        return number(listing.weight_in_use, width, 0)
    if name == "usage":
        return number(listing.usage / 3600, width, 2)
    if name == "last":
        return long_time(listing.cutoff)
    if name == "since" and listing.cutoff is not None:
        return elapsed(listing.last_update - listing.cutoff)
    return ""


def _since(row: Row, listing: Listing) -> str:
    return "" if row.last is None else elapsed(listing.last_update - row.last)[: _COLUMNS["since"].width]


def _sort_key(row: Row) -> str:
    if row.sort_key is None:
        return ""
    return number(row.sort_key, 9, 2) if row.sort_key < _NO_SORT_KEY else "<last>"


def _surplus(row: Row) -> str:
    if row.surplus is None:
        return ""
    return row.surplus if row.group_id else "yes"


_CELLS: dict[str, Callable[[Row, Listing], str]] = {
    "group_id": lambda row, _: number(row.group_id or None, 5, 0),
    "order": lambda row, _: number(row.order, 9, 2),
    "sort_key": lambda row, _: _sort_key(row),
    "effective_quota": lambda row, _: number(row.effective_quota, 9, 2),
    "config_quota": lambda row, _: number(row.config_quota, 9, 2),
    "surplus": lambda row, _: _surplus(row),
    "subtree_quota": lambda row, _: number(row.subtree_quota, 9, 2),
    "priority": lambda row, _: "" if row.is_group else number(row.priority, 12, 2),
    "real_priority": lambda row, _: number(row.priority / row.factor, 8, 2) if row.factor else "",
    "factor": lambda row, _: number(row.factor or None, 9, 2),
    "in_use": lambda row, _: number(row.in_use if row.tells_use else None, 6, 0),
    "usage": lambda row, _: number(None if row.usage is None else row.usage / 3600, 12, 2),
    "begin": lambda row, _: long_time(row.begin),
    "last": lambda row, _: long_time(row.last),
    "since": _since,
    "requested": lambda row, _: number(row.requested, 10, 0),
    "floor": lambda row, _: number(row.floor, 9, 2) if row.floor is not None and row.floor > 0 else "",
    "ceiling": lambda row, _: number(row.ceiling, 9, 2) if row.ceiling is not None and row.ceiling > -1 else "",
    "dominant": lambda row, _: row.dominant or "",
}


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
_CLASSIC_COLUMNS = {
    "default": ("priority",),
    "all": ("priority", "real_priority", "factor", "in_use", "usage", "begin", "last"),
    "usage": ("usage", "begin", "last"),
}
"""The columns of each view by their names in the current layout."""


def as_listing(listing: Listing, view: str) -> Listing:
    """Return the rows and columns of the old table as a listing, for a terminal that may be too narrow for its text."""
    return replace(listing, rows=_rows(listing, view), columns=_CLASSIC_COLUMNS[view], hierarchical=False)


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
