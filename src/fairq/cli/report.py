"""``fairq report``: usage by submitter, group and time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import asdict
from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.figures import counted, duration, local, percent, two_places
from fairq.cli.options import Now, parse_time, valued
from fairq.cli.output import Column, Table, View, emit
from fairq.errors.base import UsageError

if TYPE_CHECKING:
    from fairq.steps.reports.line import Line
    from fairq.steps.reports.report import Report
    from fairq.steps.reports.shortfall import Blocked

app = App()

_MOST_DIMENSIONS = 2
_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


@app.report(
    examples="""
        fairq report                                       # this month, by user
        fairq report --month last --by group               # what to bill
        fairq report --by month --since 2026-01-01         # the year, month by month
        fairq report --by group,day --since -7d --csv > week.csv
        fairq report --by machine --since yesterday --until today
        fairq report --user alice@example.org --by month --since 2026-01-01
        fairq report --fairness --since -7d                # day by day, who got what they were entitled to
    """,
)
def report(
    context: Context,
    by: Annotated[
        list[str] | None,
        valued(
            "--by",
            "One or two of user, submitter, group, slot, machine, hour, day, week, month, year [default: user].",
            "WHAT",
        ),
    ] = None,
    since: Annotated[str | None, valued("--since", "Begin of the time [default: first of this month].", "TIME")] = None,
    until: Annotated[str | None, valued("--until", "End of the time [default: now].", "TIME")] = None,
    month: Annotated[str | None, valued("--month", "Report on this month, or the last one [last].", "YYYY-MM")] = None,
    user: Annotated[str | None, valued("--user", "Report on this submitter only.", "SUBMITTER")] = None,
    group: Annotated[str | None, valued("--group", "Report on this group and its subgroups only.", "GROUP")] = None,
    top: Annotated[int | None, valued("--top", "Show the N largest lines, the rest as others.", "N", min=1)] = None,
    fairness: Annotated[
        bool,
        Option("--fairness", help="Show what was delivered of what users were entitled to [by default by day, user]."),
    ] = False,
    now: Now = None,
) -> None:
    """Show who used what.

    Only use within the time counts; a job counts at its end. SLOT_HOURS is the time that jobs ran on slots. CHARGED is
    the charge of the accountant, in hours of slot weight. With edits and imports, the charges of all time add up to the
    usage in userprio. EDITED and IMPORTED appear if usage was edited or imported. With --by group, BORROWED appears if
    jobs ran above the quotas of their groups, as these are now: it is their time there, in hours of slot weight.

    For the time in which a submitter had idle jobs that it could not run, ENTITLED is the value of its share, in hours
    of slot weight (at most its demand), and MET is the part that was delivered. WAIT is the median time from submission
    to the first start; 95 % of the jobs waited at most WAIT95. CPU is the CPU time that jobs used, as a share of the
    cores that they requested; it needs a launcher. FAILED counts jobs that ended with an exit code other than 0 or by a
    signal.

    --fairness shows this alone. BLOCKED is how long a submitter wanted more than it had. LOST is what jobs had run when
    they were preempted, in hours of slot weight. A second table has the submitters that wait with nothing, or with
    less than their share in the last cycle, and the smallest of their jobs.

    Months, weeks and days are those of the local calendar. Set TZ for another zone.
    """
    from fairq.steps.reports.report import report as step

    invocation, output = context.obj, context.obj.output
    time = invocation.now(now)
    begin, end = _window(since, until, month, time)
    dimensions = _dimensions(by or (["day,user"] if fairness else ["user"]))
    if fairness and set(dimensions) & {"slot", "machine"}:
        raise UsageError(message="--fairness is told of submitters, not of slots; leave out --by slot and --by machine")
    path, settings, is_wanted = invocation.existing_state, invocation.settings, _submitter_test(user, group)
    result = step(path, settings, dimensions, begin, end, top=top, is_wanted=is_wanted)
    for note in result.notes:
        invocation.note(note)
    if fairness:
        from fairq.steps.reports.shortfall import blocked

        emit(fairness_view(result, blocked(path, settings, time, is_wanted)), output)
    else:
        emit(report_view(result), output)


def _dimensions(by: list[str]) -> tuple[str, ...]:
    from fairq.common.periods import KINDS
    from fairq.steps.reports.report import DIMENSIONS

    names = tuple(name.strip() for text in by for name in text.split(","))
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
        if month == "last":
            return month_start(month_start(now) - 1), month_start(now)
        if not _MONTH.fullmatch(month):
            raise UsageError(message=f"--month: {month!r} is not a month; give one such as 2026-10, or last")
        begin = parse_time(f"{month}-01", "--month", now)
        return begin, next_month(begin)
    begin = month_start(now) if since is None else parse_time(since, "--since", now)
    end = now if until is None else parse_time(until, "--until", now)
    if begin >= end:
        raise UsageError(message="--since is not before --until; give an earlier time")
    return begin, end


def _submitter_test(user: str | None, group: str | None) -> Any:
    """Return the test for the submitters of this *user* and *group*."""
    from fairq.steps.userprio.rows import named

    matches_user = None if user is None else named([user])

    def is_wanted(name: str) -> bool:
        in_group = group is None or name == group or name.startswith(f"{group}.")
        return in_group and (matches_user is None or matches_user(name))

    return is_wanted


_NOTHING = "no use is recorded in this period; choose another with --since and --until"


def report_view(report: Report) -> View:
    """Return the lines with all their figures."""
    return View(
        text=_title(report),
        tables=[_table(report, _columns(report))],
        document=_document(report),
        fields=[*report.by, *_figures(report, report.total)],
    )


def fairness_view(report: Report, blocked: Sequence[Blocked]) -> View:
    """Return the delivered parts of all entitlements, and the submitters below their share now."""
    columns = [
        Column("BLOCKED", "wanting_seconds", duration, "right", level=1),
        Column("ENTITLED", "entitled_seconds", _hours),
        Column("DELIVERED", "delivered_seconds", _hours),
        Column("MET", "met", percent, "right"),
        Column("LOST", "lost_seconds", _hours, level=2),
    ]
    blocked_columns = [
        Column("BLOCKED NOW", "submitter"),
        Column("SHARE", "share", percent, "right", level=2),
        Column("ENTITLED", "entitled", two_places),
        Column("IN USE", "in_use", two_places),
        Column("IDLE", "idle", level=4),
        Column("SMALLEST", "job", align="left"),
        Column("CPUS", "cpus", level=1),
        Column("MB", "memory", level=1),
        Column("GPUS", "gpus", level=5),
        Column("STOPPED BY", "stopped", level=3),
    ]
    return View(
        text=_title(report),
        tables=[
            _table(report, columns),
            Table(blocked_columns, [asdict(submitter) for submitter in blocked], key="blocked"),
        ],
        document=_document(report),
        fields=[*report.by, *_figures(report, report.total)],
    )


def _title(report: Report) -> str | None:
    return f"From {_when(report.since)} to {_when(report.until)}, local time" if report.lines else None


def _document(report: Report) -> dict[str, Any]:
    total = _figures(report, report.total)
    return {"since_time": report.since, "until_time": report.until, "by": list(report.by), "total": total}


def _table(report: Report, columns: Sequence[Column]) -> Table:
    rows = [_row(report, line) for line in report.lines]
    footer = {**_figures(report, report.total), report.by[0]: counted(len(rows), "line")}
    keys = (Column(name.upper(), name, align="left") for name in report.by)
    return Table([*keys, *columns], rows, key="rows", footer=footer if rows else None, empty=_NOTHING)


def _when(time: int) -> str:
    return local(time).astimezone().isoformat(" ", "minutes")


def _row(report: Report, line: Line) -> dict[str, Any]:
    keys: dict[str, Any] = dict(zip(report.by, line.keys, strict=True))
    if line.start_time is not None:
        keys["start_time"] = line.start_time
    dominant = {"dominant": report.dominant.get(line.keys[0])} if report.dominant else {}
    return {**keys, **_figures(report, line), **dominant}


def _figures(report: Report, line: Line) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "runs": line.runs,
        "slot_seconds": line.slot_seconds,
        "weighted_seconds": line.weighted_seconds,
    }
    if not report.charged:
        return figures
    median, high = line.wait_quantiles()
    share = line.charged_seconds / report.total.charged_seconds if report.total.charged_seconds else None
    borrowed = {"borrowed_seconds": line.borrowed_seconds} if "group" in report.by else {}
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
        "wanting_seconds": line.wanting_seconds,
        "lost_seconds": line.lost_seconds,
        **borrowed,
        "wait_median": median,
        "wait_95_percent": high,
        "measured": line.measured,
        "cpu_efficiency": line.cpu_efficiency,
    }


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f}"


def _columns(report: Report) -> list[Column]:
    if not report.charged:
        return [
            Column("RUNS", "runs"),
            Column("SLOT_HOURS", "slot_seconds", _hours),
            Column("WEIGHTED", "weighted_seconds", _hours),
        ]
    more = (("EDITED", "edited_seconds", 0), ("IMPORTED", "imported_seconds", 0), ("BORROWED", "borrowed_seconds", 7))
    edited = [
        Column(heading, name, _hours, level=level)
        for heading, name, level in more
        if getattr(report.total, name) or any(getattr(line, name) for line in report.lines)
    ]
    return [
        Column("JOBS", "jobs"),
        Column("FAILED", "failed", level=1),
        Column("SLOT_HOURS", "slot_seconds", _hours, level=5),
        Column("CHARGED", "charged_seconds", _hours),
        Column("SHARE", "share", percent, "right", level=4),
        *edited,
        Column("ENTITLED", "entitled_seconds", _hours, level=1),
        Column("MET", "met", percent, "right", level=1),
        Column("WAIT", "wait_median", duration, "right", level=2),
        Column("WAIT95", "wait_95_percent", duration, "right", level=6),
        Column("CPU", "cpu_efficiency", percent, "right", level=3),
        *([Column("DOMINANT", "dominant", align="left", level=1)] if report.dominant else []),
    ]
