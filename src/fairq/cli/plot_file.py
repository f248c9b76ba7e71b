"""Pictures in files, by Matplotlib: readable in print, in grey, and for colour-blind people."""

from __future__ import annotations

import importlib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairq import files
from fairq.errors.base import UsageError
from fairq.errors.report import PlotPackageError, ReportFileError
from fairq.quantities import local

if TYPE_CHECKING:
    from fairq.steps.reports.series import Series, Share

_SIZE = (6.9, 3.9)
"""Inches: 17.5 by 10 cm."""

_STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))
_COLOURS = ("#006BA4", "#FF800E", "#595959", "#5F9ED1", "#C85200", "#898989", "#A2C8EC")
"""Matplotlib's palette for colour-blind people."""

_HATCHES = ("", "///")
_KINDS = (".svg", ".png")


def check(name: str) -> None:
    """Raise UsageError or PlotPackageError if no picture can be written to a file with this name."""
    if Path(name).suffix.lower() not in _KINDS:
        raise UsageError(message=f"--out: {name!r} is neither .svg nor .png; give a file that ends so")
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise PlotPackageError from error


def write_series(name: str, found: Series, title: str, unit: str) -> None:
    """Draw lines over time as steps: a value holds for its whole step."""
    figure, axes = _figure(title)
    times: list[datetime] = [local(found.since + place * found.step) for place in range(_length(found) + 1)]
    for place, line in enumerate(found.lines):
        values = [float("nan") if value is None else value for value in line.values]
        axes.step(
            times, [*values, values[-1] if values else 0.0], where="post", label=line.name, linewidth=1.4,
            color=_COLOURS[place % len(_COLOURS)], linestyle=_STYLES[place % len(_STYLES)],
        )  # fmt: skip
    axes.set_ylabel(unit)
    axes.set_xlabel("local time")
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    dates = importlib.import_module("matplotlib.dates")
    locator = dates.AutoDateLocator(minticks=3, maxticks=7)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    _finish(name, figure, axes)


def write_shares(name: str, found: list[Share], title: str) -> None:
    """Draw two bars for each share: the usage, and the entitlement."""
    figure, axes = _figure(title)
    places = range(len(found))
    for which, (label, values) in enumerate(
        (("used", [one.used for one in found]), ("entitled", [one.entitled for one in found]))
    ):
        axes.bar(
            [place + 0.4 * which for place in places], [100 * value for value in values], 0.4, label=label,
            color=_COLOURS[which], hatch=_HATCHES[which], edgecolor="black", linewidth=0.5,
        )  # fmt: skip
    axes.set_xticks([place + 0.2 for place in places], [one.name for one in found], rotation=30, ha="right")
    axes.set_ylabel("share (%)")
    axes.set_ylim(bottom=0)
    _finish(name, figure, axes)


def _length(found: Series) -> int:
    return max((len(line.values) for line in found.lines), default=0)


def _figure(title: str) -> tuple[Any, Any]:
    # Not pyplot: it would choose a backend from the environment.
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=_SIZE, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, fontsize=9)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8)
    return figure, axes


def _finish(name: str, figure: Any, axes: Any) -> None:
    """Put the legend beside the data, and write the complete file; the same picture has the same bytes."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=7, frameon=False)
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
