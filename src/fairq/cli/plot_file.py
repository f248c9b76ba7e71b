"""Pictures in files, by Matplotlib: readable in print, in grey, and for colour-blind people."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq.cli.plot_views import short_names
from fairq.common import files
from fairq.common.quantities import local, shown_duration
from fairq.errors.base import UsageError
from fairq.errors.report import PlotPackageError, ReportFileError
from fairq.steps.reports.series import OTHERS

if TYPE_CHECKING:
    from fairq.steps.reports.series import Series, Share
    from fairq.steps.reports.simulation_charts import Wait

_SIZE = (6.9, 3.9)
"""Inches: 17.5 by 10 cm."""

_STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))
_COLOURS = ("#006BA4", "#FF800E", "#595959", "#5F9ED1", "#C85200", "#898989", "#A2C8EC")
"""Matplotlib's palette for colour-blind people."""

_GREY = "#ABABAB"
_HATCHES = ("", "///", "...", "xxx", "\\\\\\\\")
_KINDS = (".svg", ".png")
_ROW = 0.16
"""Inches of a bar."""

_WAITS = (0, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 28 * 86400)
"""Seconds with a mark on the axis of waits."""


def check(name: str) -> None:
    """Raise UsageError or PlotPackageError if no picture can be written to a file with this name."""
    if Path(name).suffix.lower() not in _KINDS:
        raise UsageError(message=f"--out: {name!r} is neither .svg nor .png; give a file that ends so")
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise PlotPackageError from error


def write_series(name: str, series: Series, title: str, unit: str, log_from: float | None = None) -> None:
    """Draw lines over time as steps: a value holds for its whole step; with *log_from*, on a logarithmic scale."""
    figure, axes = _figure(title)
    times = list(map(local, series.edges))
    names = short_names([line.name for line in series.lines])
    for index, (line, name_of_line) in enumerate(zip(series.lines, names, strict=True)):
        style = _style(index, is_others=line.name == OTHERS)
        values = [float("nan") if value is None else value for value in line.values]
        axes.step(
            times, [*values, values[-1] if values else 0.0], where="post", label=name_of_line, linewidth=1.4, **style
        )
    axes.set_ylabel(unit if log_from is None else f"{unit} (log scale)")
    axes.set_xlabel("local time")
    if log_from is None:
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log")
        axes.set_ylim(bottom=log_from / 1.5)
    axes.margins(x=0)
    dates = importlib.import_module("matplotlib.dates")
    locator = dates.AutoDateLocator(minticks=3, maxticks=7)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    _finish(name, figure, axes)


def _style(index: int, *, is_others: bool) -> dict[str, Any]:
    """Return colour and line style of the line with this *index*; the line of the others is grey."""
    if is_others:
        return {"color": _GREY, "linestyle": "-"}
    return {"color": _COLOURS[index % len(_COLOURS)], "linestyle": _STYLES[index % len(_STYLES)]}


def write_shares(name: str, shares: Sequence[Share], title: str) -> None:
    """Draw two bars for each share: the usage, and the entitlement."""
    bars = {
        "used": [100 * share.used for share in shares],
        "entitled": [100 * share.entitled for share in shares],
    }
    figure, axes = _bars([share.name for share in shares], bars, title)
    axes.set_xlabel("share (%)")
    axes.set_xlim(left=0)
    _finish(name, figure, axes)


def write_waits(name: str, waits: Sequence[Wait], title: str) -> None:
    """Draw the mean wait of each name, one bar for each policy; the scale is logarithmic from a minute on."""
    names = list(dict.fromkeys(wait.name for wait in waits))
    policies = list(dict.fromkeys(wait.policy for wait in waits))
    seconds = {(wait.name, wait.policy): wait.seconds or 0.0 for wait in waits}
    bars = {policy: [seconds.get((wait, policy), 0.0) for wait in names] for policy in policies}
    figure, axes = _bars(names, bars, title)
    largest = max(seconds.values(), default=0.0)
    axes.set_xscale("symlog", linthresh=_WAITS[1], linscale=0.5)
    ticks = [tick for tick in _WAITS if tick <= max(largest, _WAITS[1])]
    axes.set_xticks(ticks, [shown_duration(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(0, max(largest, _WAITS[1]) * 1.2)
    axes.set_xlabel("mean wait (logarithmic)")
    _finish(name, figure, axes)


def _bars(names: Sequence[str], bars: Mapping[str, Sequence[float]], title: str) -> tuple[Any, Any]:
    """Draw a horizontal bar for each name and each label of *bars*; the first name is at the top."""
    figure, axes = _figure(title, rows=len(names) * len(bars))
    height = 0.8 / max(1, len(bars))
    for bar_index, (label, values) in enumerate(bars.items()):
        axes.barh(
            [row + height * bar_index for row in range(len(names))], values, height, label=label,
            color=_COLOURS[bar_index % len(_COLOURS)], hatch=_HATCHES[bar_index % len(_HATCHES)], edgecolor="black",
            linewidth=0.5,
        )  # fmt: skip
    middle = height * (len(bars) - 1) / 2
    axes.set_yticks([row + middle for row in range(len(names))], short_names(names))
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    return figure, axes


def _figure(title: str, rows: int = 0) -> tuple[Any, Any]:
    """Return a figure with its axes; it is high enough for a number of *rows* of bars."""
    # Do not use pyplot: it would choose a backend from the environment.
    size = _SIZE[0], max(_SIZE[1], 0.8 + _ROW * rows)
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=size, layout="constrained")
    axes = figure.add_subplot()
    # Centre the title above the whole figure: a long one beside the legend would overlap it.
    figure.suptitle(title, fontsize=9)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)
    return figure, axes


def _finish(name: str, figure: Any, axes: Any) -> None:
    """Put the legend beside the data, and write the complete file; the same picture has the same bytes."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_size(9)
        axis.offsetText.set_size(8)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize=7, frameon=False)
    matplotlib = importlib.import_module("matplotlib")
    kind = Path(name).suffix.lower().removeprefix(".")
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    try:
        with (
            matplotlib.rc_context({"svg.hashsalt": "fairq", "font.size": 9}),
            files.replacing(files.followed(Path(name)), 0o644) as stream,
        ):
            figure.savefig(stream, format=kind, dpi=200, metadata=metadata)
    except OSError as error:
        raise ReportFileError(target=name, reason=error.strerror or error) from error
