"""``fairq report``: usage by submitter, group and time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.figures import counted, duration, local
from fairq.cli.options import Now, parse_time
from fairq.cli.output import Column, Table, View, emit
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.steps.reports.line import Line
    from fairq.steps.reports.report import Report as Figures

app = App()

_MOST_DIMENSIONS = 2
_NOTHING = "no use is recorded in this period; choose another with --since and --until"
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


@app.report(
    examples="""
        fairq report                                       # this month, by user
        fairq report --month 2026-10 --by group            # what to bill
        fairq report --by month --since 2026-01-01         # the year, month by month
        fairq report --by group,day --since -7d --csv > week.csv
        fairq report --by machine --since yesterday --until today
        fairq report --user alice@example.org --by month --since 2026-01-01
    """,
)
def report(
    context: Context,
    by: Annotated[
        list[str] | None,
        Option(
            "--by",
            metavar="WHAT",
            help="One or two of user, submitter, group, slot, machine, hour, day, week, month, year [default: user].",
        ),
    ] = None,
    since: Annotated[
        str | None, Option("--since", metavar="TIME", help="Begin of the time [default: first of this month].")
    ] = None,
    until: Annotated[str | None, Option("--until", metavar="TIME", help="End of the time [default: now].")] = None,
    month: Annotated[str | None, Option("--month", metavar="YYYY-MM", help="Report on this month.")] = None,
    user: Annotated[str | None, Option("--user", metavar="SUBMITTER", help="Report on this submitter only.")] = None,
    group: Annotated[
        str | None, Option("--group", metavar="GROUP", help="Report on this group and its subgroups only.")
    ] = None,
    top: Annotated[
        int | None, Option("--top", metavar="N", min=1, help="Show the N largest lines, the rest as others.")
    ] = None,
    now: Now = None,
) -> None:
    """Show who used what.

    Only use within the time counts; a job counts at its end. SLOT_HOURS is the time that jobs ran on slots. CHARGED is
    the charge of the accountant, in hours of slot weight. With edits and imports, the charges of all time add up to the
    usage in userprio. EDITED and IMPORTED appear if usage was edited or imported.

    For the time in which a submitter had idle jobs that it could not run, ENTITLED is the value of its share, in hours
    of slot weight (at most its demand), and MET is the part that was delivered. WAIT is the median time from submission
    to the first start; 95 % of the jobs waited at most WAIT95. CPU is the CPU time that jobs used, as a share of the
    cores that they requested; it needs a launcher. FAILED counts jobs that ended with an exit code other than 0 or by a
    signal.

    Months, weeks and days are those of the local calendar. Set TZ for another zone.
    """
    from fairq.steps.reports.report import report as step

    invocation, output = context.obj, context.obj.output
    time = invocation.now(now)
    begin, end = _window(since, until, month, time)
    found = step(
        invocation.existing_state,
        invocation.settings,
        _dimensions(by),
        begin,
        end,
        top=top,
        wanted=_wanted(user, group),
    )
    for note in found.notes:
        invocation.note(note)
    emit(_view(found), output)


def _dimensions(by: list[str] | None) -> tuple[str, ...]:
    from fairq.common.periods import KINDS
    from fairq.steps.reports.report import DIMENSIONS

    names = tuple(name.strip() for text in by or ["user"] for name in text.split(","))
    for name in names:
        if name not in DIMENSIONS:
            raise UsageError(message=f"--by: {name!r} is not known; give one or two of {', '.join(DIMENSIONS)}")
    if len(names) > _MOST_DIMENSIONS or len(set(names)) < len(names) or sum(name in KINDS for name in names) > 1:
        raise UsageError(message="--by takes at most two different names, and at most one of them a time")
    return names


def _window(since: str | None, until: str | None, month: str | None, now: int) -> tuple[int, int]:
    from fairq.common.periods import month_start, next_month

    if month is not None:
        if since is not None or until is not None:
            raise UsageError(message="--month excludes --since and --until; give only one of them")
        if not _MONTH.fullmatch(month):
            raise UsageError(message=f"--month: {month!r} is not a month; give one such as 2026-10")
        begin = parse_time(f"{month}-01", "--month", now)
        return begin, next_month(begin)
    begin = month_start(now) if since is None else parse_time(since, "--since", now)
    end = now if until is None else parse_time(until, "--until", now)
    if begin >= end:
        raise UsageError(message="--since is not before --until; give an earlier time")
    return begin, end


def _wanted(user: str | None, group: str | None) -> Any:
    from fairq.steps.userprio.rows import named

    is_user = None if user is None else named([user])

    def wanted(name: str) -> bool:
        in_group = group is None or name == group or name.startswith(f"{group}.")
        return in_group and (is_user is None or is_user(name))

    return wanted


def _view(found: Figures) -> View:
    rows = [_row(found, line) for line in found.lines]
    document = {
        "since_time": found.since,
        "until_time": found.until,
        "by": list(found.by),
        "total": _figures(found, found.total),
    }
    title = f"From {_when(found.since)} to {_when(found.until)}, local time"
    footer = {**_figures(found, found.total), found.by[0]: counted(len(rows), "line")}
    columns = [*(Column(name.upper(), name, align="left") for name in found.by), *_columns(found)]
    table = Table(columns=columns, records=rows, key="rows", footer=footer if rows else None, empty=_NOTHING)
    return View(
        text=title if rows else None,
        tables=[table],
        document=document,
        fields=[*found.by, *_figures(found, found.total)],
    )


def _when(time: int) -> str:
    return local(time).astimezone().isoformat(" ", "minutes")


def _row(found: Figures, line: Line) -> dict[str, Any]:
    keys: dict[str, Any] = dict(zip(found.by, line.keys, strict=True))
    if line.start_time is not None:
        keys["start_time"] = line.start_time
    return {**keys, **_figures(found, line)}


def _figures(found: Figures, line: Line) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "runs": line.runs,
        "slot_seconds": line.slot_seconds,
        "weighted_seconds": line.weighted_seconds,
    }
    if not found.charged:
        return figures
    median, high = line.wait_quantiles()
    share = line.charged_seconds / found.total.charged_seconds if found.total.charged_seconds else None
    return {
        "jobs": line.jobs,
        "failed": line.failed,
        "removed": line.removed,
        **figures,
        "charged_seconds": line.charged_seconds,
        "share": share,
        "edited_seconds": line.edited_seconds,
        "imported_seconds": line.imported_seconds,
        "entitled_seconds": line.entitled_seconds,
        "delivered_seconds": line.delivered_seconds,
        "met": line.met,
        "wait_median": median,
        "wait_95_percent": high,
        "measured": line.measured,
        "cpu_efficiency": line.cpu_efficiency,
    }


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f}"


def _share(value: float) -> str:
    return f"{100 * value:.1f}%"


def _columns(found: Figures) -> list[Column]:
    if not found.charged:
        return [
            Column("RUNS", "runs"),
            Column("SLOT_HOURS", "slot_seconds", _hours),
            Column("WEIGHTED", "weighted_seconds", _hours),
        ]
    edited = [
        Column(heading, name, _hours)
        for heading, name in (("EDITED", "edited_seconds"), ("IMPORTED", "imported_seconds"))
        if getattr(found.total, name) or any(getattr(line, name) for line in found.lines)
    ]
    return [
        Column("JOBS", "jobs"),
        Column("FAILED", "failed", level=1),
        Column("SLOT_HOURS", "slot_seconds", _hours, level=5),
        Column("CHARGED", "charged_seconds", _hours),
        Column("SHARE", "share", _share, "right", level=4),
        *edited,
        Column("ENTITLED", "entitled_seconds", _hours, level=1),
        Column("MET", "met", _share, "right", level=1),
        Column("WAIT", "wait_median", duration, "right", level=2),
        Column("WAIT95", "wait_95_percent", duration, "right", level=6),
        Column("CPU", "cpu_efficiency", _share, "right", level=3),
    ]
