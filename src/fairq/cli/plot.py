"""``fairq plot``: usage, shares, priorities and the queue as a picture."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fairq.cli import blocks
from fairq.cli.command import App
from fairq.cli.figures import local, percent
from fairq.cli.invocation import Invocation
from fairq.cli.options import Now, parse_time
from fairq.cli.output import Column, Output, Report, Table, View, emit
from fairq.errors.base import UsageError
from fairq.quantities import shown_duration

if TYPE_CHECKING:
    from fairq.steps.reports.series import Series, Share

app = App()

_WEEK = 7 * 86400
_TITLES = {
    "usage": ("Slot weight in use", "slot weight"),
    "priority": ("Effective priority, lower is better", "effective priority"),
    "queue": ("Idle jobs", "jobs"),
    "shares": ("Shares of use", "share"),
}
_LEAST, _VALUES, _LABEL = 20, 24, 24
_COLUMNS_OF_FILE = 180
_PIPE = 80


@app.command(
    examples="""
        fairq plot usage                                   # the last week, by submitter
        fairq plot shares --by group --since 2026-10-01    # who got what, and what was due
        fairq plot queue --by pool --since -30d            # idle and running jobs
        fairq plot usage --by group --since 2026-01-01 --out usage.svg
    """,
)
def plot(
    invocation: Invocation,
    output: Report,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="usage, shares, priority or queue.")],
    by: Annotated[
        str | None, typer.Option("--by", metavar="WHAT", help="submitter, group or pool [default: submitter].")
    ] = None,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="Begin of the time [such as 2026-10-01].")
    ] = "-7d",
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="End of the time [default: now].")
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Show N lines, the rest as others.")] = 6,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="Write a picture, .svg or .png, with Matplotlib.")
    ] = None,
    ascii_: Annotated[bool, typer.Option("--ascii", help="Use ASCII letters only.")] = False,
    now: Now = None,
) -> None:
    """Draw use, shares, priorities or the queue.

    usage shows the slot weight in use. priority shows the effective priority; lower is better. queue shows idle jobs,
    with --by pool also running jobs. shares compares the use with the entitlement while there was demand.

    Each character is the mean over a step of time. A blank means 0; a dot means unknown, because no cycle ran. All
    lines have the same scale.

    The picture is made of block characters. --out writes an SVG or PNG file instead; that needs Matplotlib, which
    fairq's extra "plot" installs. JSON and CSV have the numbers.
    """
    from fairq.steps.reports.series import BY, WHAT, series, shares

    by = by or "submitter"
    if what not in WHAT or by not in BY or (what in ("shares", "priority") and by == "pool"):
        known = f"{', '.join(WHAT)}; --by takes {', '.join(BY)}, and pool for usage and queue only"
        raise UsageError(message=f"plot {what} --by {by} is not known; give one of {known}")
    if out is not None:
        from fairq.cli import plot_file

        plot_file.check(out)
    time = invocation.now(now)
    begin = parse_time(since, "--since", time)
    end = time if until is None else parse_time(until, "--until", time)
    if begin >= end:
        raise UsageError(message="--since is not before --until; give an earlier time")
    plain = ascii_ or blocks.is_plain()
    title, unit = _TITLES[what]
    title = f"{title}, by {by}, {_day(begin)} to {_day(end)}"
    if what == "shares":
        found = shares(invocation.state_path, invocation.settings, by, begin, end, top)
        if out is not None:
            plot_file.write_shares(out, found, title)
        else:
            emit(_shares_view(found, title, plain, output), output)
        return
    is_picture = out is None and output.format == "table"
    columns = max(_LEAST, _width() - _LABEL - _VALUES) if is_picture else _COLUMNS_OF_FILE
    lines = series(invocation.state_path, invocation.settings, what, by, begin, end, columns=columns, top=top)
    if what == "queue" and by == "pool":
        title = f"Jobs of the pool, {_day(begin)} to {_day(end)}"
    if out is not None:
        plot_file.write_series(out, lines, f"{title}, mean of {shown_duration(lines.step)}", unit)
    else:
        emit(_series_view(lines, title, unit, plain, output), output)


def _width() -> int:
    return min(shutil.get_terminal_size((_PIPE, 24)).columns, 200)


def _day(time: int) -> str:
    return f"{local(time):%Y-%m-%d}"


def _series_view(found: Series, title: str, unit: str, plain: bool, output: Output) -> View:
    largest = max((line.largest for line in found.lines), default=0.0)
    step = shown_duration(found.step)
    rows = [f"{title}", f"a letter is {step}; a full one is {largest:.4g} ({unit})", ""]
    for line, name in zip(found.lines, _labels([line.name for line in found.lines], plain), strict=True):
        picture = blocks.spark(line.values, largest, plain=plain)
        rows.append(f"{name} {picture}  mean {line.mean:<8.4g} max {line.largest:.4g}")
    length = max((len(line.values) for line in found.lines), default=0)
    rows.append(" " * _LABEL + _axis(found, length))
    records = [
        {"name": line.name, "time": found.since + place * found.step, "value": value}
        for line in found.lines
        for place, value in enumerate(line.values)
    ]
    document = {"since_time": found.since, "until_time": found.until, "step": found.step, "unit": unit}
    columns = [Column("NAME", "name"), Column("TIME", "time"), Column("VALUE", "value")]
    text = "\n".join(line.rstrip() for line in rows) if found.lines else "nothing is known of this time"
    return _picture_or_numbers(text, Table(columns, records, key="values"), document, output)


def _picture_or_numbers(text: str, numbers: Table, document: dict[str, Any], output: Output) -> View:
    """Return the picture for people, or the numbers for programs."""
    return View(text=text) if output.format == "table" else View(tables=[numbers], document=document)


def _labels(names: list[str], plain: bool) -> list[str]:
    """Return the names in equal width, without the domain if all have the same one."""
    domains = {name.rpartition("@")[2] for name in names if "@" in name}
    if len(domains) == 1:
        names = [name.rpartition("@")[0] if "@" in name else name for name in names]
    return [blocks.label(name, _LABEL - 1, plain=plain) for name in names]


def _axis(found: Series, length: int) -> str:
    """Return the dates below the first, middle and last character."""
    form = "%m-%d %H:%M" if found.step < 86400 else "%Y-%m-%d"
    texts = [f"{local(found.since + place * found.step):{form}}" for place in (0, length // 2, max(0, length - 1))]
    size = len(texts[0])
    if length < 3 * size + 2:
        return texts[0] + texts[2].rjust(max(0, length - size)) if length >= 2 * size + 1 else texts[0]
    line = texts[0] + " " * (length // 2 - size) + texts[1]
    return line + " " * (length - len(line) - size) + texts[2]


def _shares_view(found: list[Share], title: str, plain: bool, output: Output) -> View:
    largest = max((max(one.used, one.entitled) for one in found), default=0.0) or 1.0
    cells = max(_LEAST, _width() - _LABEL - _VALUES)
    rows = [title, "first bar: used; second bar: entitled to, of what all with demand were", ""]
    for one, name in zip(found, _labels([one.name for one in found], plain), strict=True):
        met = "" if one.met is None else f"  met {percent(one.met)}"
        used = blocks.bar(one.used / largest, cells, plain=plain)
        entitled = blocks.bar(one.entitled / largest, cells, plain=plain)
        rows += (f"{name} {used} {percent(one.used)}", f"{'':{_LABEL}}{entitled} {percent(one.entitled)}{met}")
    records = [{"name": one.name, "used": one.used, "entitled": one.entitled, "met": one.met} for one in found]
    columns = [Column("NAME", "name"), Column("USED", "used"), Column("ENTITLED", "entitled"), Column("MET", "met")]
    text = "\n".join(rows) if found else "nothing is known of this time"
    return _picture_or_numbers(text, Table(columns, records, key="shares"), {}, output)
