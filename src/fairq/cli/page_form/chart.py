"""Charts of the page: stacked bars as SVG, with the same figures as a table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from fairq.cli.figures import local
from fairq.cli.plot_views import short_names

if TYPE_CHECKING:
    from fairq.steps.reports.series import Series

WIDTH, HEIGHT = 720, 180
"""Size of the bars in the units of the drawing."""

_GAP = 0.15
"""Part of a step that is left blank."""


class Bar(Struct, frozen=True):
    """One piece of a bar: its place in the drawing and the number of its line."""

    x: float
    y: float
    width: float
    height: float
    line: int


class Chart(Struct, frozen=True):
    """A chart: its *bars*, the names of its lines, dates below them, and a row of figures for each step.

    *largest* is the value of the full height, in slot weight.
    """

    name: str
    title: str
    bars: list[Bar]
    lines: list[str]
    dates: list[str]
    rows: list[tuple[str, list[float]]]
    largest: float
    width: int = WIDTH
    height: int = HEIGHT


def chart(name: str, title: str, series: Series, form: str) -> Chart:
    """Return the chart of *series*: mean slot weight in use in each step; *form* is that of its dates."""
    steps = [[line.values[step] or 0.0 for line in series.lines] for step in range(len(series.edges) - 1)]
    largest = max(map(sum, steps), default=0.0)
    span = max(1, series.until - series.since)
    bars: list[Bar] = []
    rows = []
    for (start, end), values in zip(pairwise(series.edges), steps, strict=True):
        x = (start - series.since) / span * WIDTH
        width = (end - start) / span * WIDTH * (1 - _GAP)
        top = float(HEIGHT)
        for line, value in enumerate(values):
            height = value / largest * HEIGHT if largest else 0.0
            top -= height
            if height:
                bars.append(Bar(round(x, 2), round(top, 2), round(width, 2), round(height, 2), line))
        rows.append((f"{local(start):{form}}", values))
    dates = [f"{local(series.since + span * part // 3):{form}}" for part in range(4)]
    return Chart(name, title, bars, short_names([line.name for line in series.lines]), dates, rows, largest)
