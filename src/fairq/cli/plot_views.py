"""The pictures of ``fairq plot`` on a terminal and in a pipe, and their numbers for programs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairq.cli import blocks
from fairq.cli.figures import local, percent
from fairq.cli.output import Column, Output, Table, View
from fairq.cli.output.text import escape, filled, width
from fairq.common.quantities import shown_duration

if TYPE_CHECKING:
    from fairq.steps.reports.series import Series, Share
    from fairq.steps.reports.simulation_charts import Wait

_PIPE = 80
_MIN_CELLS = 8
"""Minimum number of cells of a picture."""

_NARROW = 72
_DOMAIN = re.compile(r"@[^@,]*(?=$|,)")
_EMPTY_TEXT = "nothing is recorded in this period; choose another with --since and --until"


def _width() -> int:
    return min(shutil.get_terminal_size((_PIPE, 24)).columns, 200)


def _label() -> int:
    """Return the number of cells of a name, with the gap after it."""
    return max(12, min(_width() // 5, 24))


def cells(values: int | None = None) -> int:
    """Return the number of cells of a picture beside its name and *values*, by default the mean and the maximum."""
    if values is None:
        values = len("  mean 1.235e+05  max 1.235e+05") if _width() >= _NARROW else len("  max 1.235e+05")
    return max(_MIN_CELLS, _width() - _label() - values)


def series_view(
    series: Series, title: str, unit: str, plain: bool, output: Output, log_from: float | None = None
) -> View:
    """Show lines over time, one character for each step; with *log_from*, on a logarithmic scale from there."""
    largest = max((line.largest for line in series.lines), default=0.0)
    scale = f"a full one is {largest:.4g}"
    if log_from is not None:
        scale = f"log scale from {log_from:.4g} to {largest:.4g}"
    rows = [title, f"a character is {shown_duration(series.step)}; {scale} ({unit})", ""]
    means = _width() >= _NARROW
    for line, name in zip(series.lines, _labels([line.name for line in series.lines], plain), strict=True):
        mean = f"  mean {line.mean:<9.4g}" if means else " "
        rows.append(
            f"{name} {blocks.spark(line.values, largest, plain=plain, log_from=log_from)}{mean} max {line.largest:.4g}"
        )
    length = max((len(line.values) for line in series.lines), default=0)
    rows.append(" " * _label() + _axis(series, length))
    records = [
        {"name": line.name, "time": series.edges[index], "value": value}
        for line in series.lines
        for index, value in enumerate(line.values)
    ]
    document = {"since_time": series.since, "until_time": series.until, "step": series.step, "unit": unit}
    columns = [Column("NAME", "name"), Column("TIME", "time"), Column("VALUE", "value")]
    return _view(rows if series.lines else [_EMPTY_TEXT], Table(columns, records, key="values"), document, output)


def shares_view(shares: Sequence[Share], title: str, plain: bool, output: Output) -> View:
    """Show two bars for each share: the use, and the entitlement."""
    largest = max((max(share.used, share.entitled) for share in shares), default=0.0) or 1.0
    size = cells(len(" 100.0%  met 100.0%"))
    rows = [title, "first bar: used; second bar: entitled to, of what all with demand were", ""]
    for share, name in zip(shares, _labels([share.name for share in shares], plain), strict=True):
        met = "" if share.met is None else f"  met {percent(share.met)}"
        used = blocks.bar(share.used / largest, size, plain=plain)
        entitled = blocks.bar(share.entitled / largest, size, plain=plain)
        rows += (f"{name} {used} {percent(share.used)}", f"{'':{_label()}}{entitled} {percent(share.entitled)}{met}")
    records = [
        {"name": share.name, "used": share.used, "entitled": share.entitled, "met": share.met} for share in shares
    ]
    columns = [Column("NAME", "name"), Column("USED", "used"), Column("ENTITLED", "entitled"), Column("MET", "met")]
    return _view(rows if shares else [_EMPTY_TEXT], Table(columns, records, key="shares"), {}, output)


def waits_view(waits: Sequence[Wait], title: str, plain: bool, output: Output) -> View:
    """Show a bar for the mean wait of each name under each policy."""
    largest = max((wait.seconds or 0.0 for wait in waits), default=0.0) or 1.0
    size = cells(len("   100d23h59m59s"))
    rows = [title, f"a full bar is {shown_duration(round(largest))}", ""]
    names = _labels([wait.name for wait in waits], plain)
    policies = [escape(wait.policy) for wait in waits]
    longest = max(map(width, policies), default=0)
    for index, (wait, name, policy) in enumerate(zip(waits, names, policies, strict=True)):
        first = index == 0 or waits[index - 1].name != wait.name
        seconds = wait.seconds or 0.0
        bar = blocks.bar(seconds / largest, max(_MIN_CELLS, size - longest), plain=plain)
        value = "none ended" if wait.seconds is None else shown_duration(round(seconds))
        rows.append(f"{name if first else '':{_label() - 1}} {filled(policy, longest)} {bar} {value}")
    records = [{"name": wait.name, "policy": wait.policy, "wait": wait.seconds} for wait in waits]
    columns = [Column("NAME", "name"), Column("POLICY", "policy"), Column("WAIT", "wait")]
    return _view(rows if waits else ["no job has ended"], Table(columns, records, key="waits"), {}, output)


def _view(rows: list[str], numbers: Table, document: dict[str, Any], output: Output) -> View:
    """Return the picture for people, or the numbers for programs."""
    if output.format == "table":
        return View(text="\n".join(row.rstrip() for row in rows))
    return View(tables=[numbers], document=document)


def short_names(names: Sequence[str]) -> list[str]:
    """Return the names without the domain if all have the same one; a policy may follow, as in ``ann@x, fifo``."""
    if len({domain[0] for name in names if (domain := _DOMAIN.search(name))}) != 1:
        return list(names)
    return [_DOMAIN.sub("", name) for name in names]


def _labels(names: Sequence[str], plain: bool) -> list[str]:
    """Return the short names in equal width."""
    return [blocks.label(escape(name), _label() - 1, plain=plain) for name in short_names(names)]


def _axis(series: Series, length: int) -> str:
    """Return the dates below the first, middle and last character, if there is enough space."""
    if not length:
        return ""
    form = "%m-%d %H:%M" if series.step < 86400 else "%Y-%m-%d"
    texts = [f"{local(series.edges[index]):{form}}" for index in (0, length // 2, length - 1)]
    size = len(texts[0])
    if length // 2 < size + 1 or length - length // 2 < 2 * size + 1:
        return texts[0] + texts[2].rjust(length - size) if length >= 2 * size + 1 else texts[0]
    line = texts[0] + " " * (length // 2 - size) + texts[1]
    return line + " " * (length - len(line) - size) + texts[2]
