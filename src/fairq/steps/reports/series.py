"""The data of charts: use, priorities and queues over time, and the shares of a period."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.common.past import UsageRow
from fairq.common.periods import bucket_start, day_start, next_day
from fairq.engine.accounting.identity import assigned_group, is_group_name
from fairq.state import usage
from fairq.state.connection import reading
from fairq.steps.cycle.accounting_policy import accounting_policy
from fairq.steps.cycle.samples import POOL

if TYPE_CHECKING:
    from fairq.settings import Settings

WHAT = ("usage", "shares", "priority", "queue")
BY = ("submitter", "group", "pool")
OTHERS = "others"
HOUR, DAY = 3600, 86400
_HOURS = (1, 2, 3, 6, 12)
_DAYS = (1, 2, 3, 4, 7, 14, 28, 91, 364)
_WIDE = 100
_STEPS = (*(HOUR * hours for hours in _HOURS), *(DAY * days for days in _DAYS))


class Line(Struct):
    """One line of a chart: a value for each time step, None if unknown."""

    name: str
    values: list[float | None]

    @property
    def known(self) -> list[float]:
        """The known values."""
        return [value for value in self.values if value is not None]

    @property
    def mean(self) -> float:
        """The mean of the known values; 0 if there are none."""
        return sum(self.known) / len(self.known) if self.known else 0.0

    @property
    def largest(self) -> float:
        """The largest known value; 0 if there are none."""
        return max(self.known, default=0.0)


class Share(Struct):
    """The share of a submitter or group in all use, and its share in the entitlements of those with demand.

    *met* is the delivered use while it had demand, divided by its entitlement; None without an entitlement.
    """

    name: str
    used: float
    entitled: float
    met: float | None


class Series(Struct):
    """*lines* with a value for each time step of *step* seconds.

    Step *n* is the time from *edges* n to n + 1. Steps of days are local days: at a clock change, one is an hour
    shorter or longer. The last step may be shorter.
    """

    edges: list[int]
    step: int
    lines: list[Line]

    @property
    def since(self) -> int:
        """The start of the first step."""
        return self.edges[0]

    @property
    def until(self) -> int:
        """The end of the last step."""
        return self.edges[-1]

    @property
    def wide_from(self) -> float | None:
        """The smallest positive value if the largest one is more than 100 times as large, else None."""
        values = [value for line in self.lines for value in line.known if value > 0]
        return min(values) if values and max(values) > _WIDE * min(values) else None


def series(
    path: Path, settings: Settings, measured: str, by: str, since: int, until: int, *, columns: int, top: int
) -> Series:
    """Return at most *columns* values of each of the *top* lines; others are added up, but omitted for priorities."""
    groups = accounting_policy(settings).group_names
    with reading(path) as state:
        thinned = usage.thinned_until(state)
        since = day_start(since) if since < thinned else bucket_start(since)
        minimum = DAY if since < thinned else HOUR
        rows = usage.between(state, since, until)
    span = max(until - since, HOUR)
    step = next((step for step in _STEPS if step >= minimum and step * columns >= span), _STEPS[-1])
    edges = _edges(since, max(until, since + 1), step)
    lengths = [end - start for start, end in pairwise(edges)]
    cells: dict[str, list[list[UsageRow]]] = defaultdict(lambda: [[] for _ in lengths])
    for row in rows:
        if (name := _line_of(row.name, by, groups)) is not None:
            cells[name][bisect_right(edges, row.start, hi=len(lengths)) - 1].append(row)
    if by == "pool" and measured == "queue":
        pool = cells.get("pool", [])
        lines = [Line(word, list(map(partial(_mean, word), pool, lengths))) for word in ("idle", "running")]
        return Series(edges, step, lines)
    measure = {"usage": "weighted", "priority": "priority", "queue": "idle"}[measured]
    if by == "pool":
        measure = "delivered"
    lines = [
        Line(name, list(map(partial(_mean, measure), rows_by_step, lengths))) for name, rows_by_step in cells.items()
    ]
    lines.sort(key=lambda line: (-line.mean, line.name))
    return Series(edges, step, _limit_lines(lines, top, measured))


def _edges(since: int, until: int, step: int) -> list[int]:
    """Return the starts of the steps from *since* to *until*, and *until*."""
    edges = [since]
    while edges[-1] < until:
        edge = edges[-1]
        if step < DAY:
            edge += step
        else:
            for _ in range(step // DAY):
                edge = next_day(edge)
        edges.append(min(edge, until))
    return edges


def shares(path: Path, settings: Settings, by: str, since: int, until: int, top: int) -> list[Share]:
    """Return the shares from *since* to *until*, the largest first; those after the *top* are combined into one."""
    groups = accounting_policy(settings).group_names
    sums: dict[str, UsageRow] = {}
    with reading(path) as state:
        since = day_start(since) if since < usage.thinned_until(state) else bucket_start(since)
        for name, row in usage.sums(state, since, until).items():
            line = _line_of(name, by, groups)
            if line is not None:
                total = sums.setdefault(line, UsageRow(since, line))
                total.weighted += row.weighted
                total.entitled += row.entitled
                total.delivered += row.delivered
    ranked = sorted(sums.values(), key=lambda row: (-row.weighted, row.name))
    if len(ranked) > top:
        others = UsageRow(since, OTHERS)
        for row in ranked[top:]:
            others.weighted += row.weighted
            others.entitled += row.entitled
            others.delivered += row.delivered
        ranked = [*ranked[:top], others]
    used = sum(row.weighted for row in ranked) or 1.0
    entitled = sum(row.entitled for row in ranked) or 1.0
    return [_share(row, used, entitled) for row in ranked]


def _share(row: UsageRow, used: float, entitled: float) -> Share:
    met = row.delivered / row.entitled if row.entitled else None
    return Share(row.name, row.weighted / used, row.entitled / entitled, met)


def _line_of(name: str, by: str, groups: Sequence[str]) -> str | None:
    """Return the line of a name in the ledger; None if it has none."""
    if by == "pool":
        return "pool" if name == POOL else None
    if is_group_name(name):
        return None
    return name if by == "submitter" else assigned_group(name, groups)


def _mean(measure: str, cell: Sequence[UsageRow], length: int) -> float | None:
    """Return the mean over a step of *length* seconds; charges are known even without cycles."""
    if measure == "weighted":
        return sum(row.weighted for row in cell) / length
    if measure == "priority":
        known_seconds = sum(row.known for row in cell)
        return sum(row.priority for row in cell) / known_seconds if known_seconds else None
    # Values of several submitters add up; the known time is the same for all, so it counts once.
    by_start: dict[int, float] = defaultdict(float)
    for row in cell:
        by_start[row.start] = max(by_start[row.start], row.known)
    known_seconds = sum(by_start.values())
    return sum(getattr(row, measure) for row in cell) / known_seconds if known_seconds else None


def _limit_lines(lines: list[Line], top: int, measured: str) -> list[Line]:
    """Return the first *top* lines; add up the others into one line, except for priorities."""
    if len(lines) <= top:
        return lines
    if measured == "priority":
        return lines[:top]
    columns = zip(*(line.values for line in lines[top:]), strict=True)
    sums = [sum(value for value in column if value is not None) for column in columns]
    return [*lines[:top], Line(OTHERS, list(sums))]
