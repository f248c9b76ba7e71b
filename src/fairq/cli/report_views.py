"""The views of ``report``, ready for the renderer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from fairq.cli.figures import counted, duration, local, percent, two_places
from fairq.cli.output import Column, Table, View

if TYPE_CHECKING:
    from fairq.steps.reports.line import Line
    from fairq.steps.reports.report import Report
    from fairq.steps.reports.shortfall import Blocked

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
        Column("MET", "met", _share, "right"),
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


def _share(value: float) -> str:
    return f"{100 * value:.1f}%"


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
        Column("SHARE", "share", _share, "right", level=4),
        *edited,
        Column("ENTITLED", "entitled_seconds", _hours, level=1),
        Column("MET", "met", _share, "right", level=1),
        Column("WAIT", "wait_median", duration, "right", level=2),
        Column("WAIT95", "wait_95_percent", duration, "right", level=6),
        Column("CPU", "cpu_efficiency", _share, "right", level=3),
        *([Column("DOMINANT", "dominant", align="left", level=1)] if report.dominant else []),
    ]
