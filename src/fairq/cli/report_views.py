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


def report_view(found: Report) -> View:
    """Return the lines with all their figures."""
    return View(
        text=_title(found),
        tables=[_table(found, _columns(found))],
        document=_document(found),
        fields=[*found.by, *_figures(found, found.total)],
    )


def fairness_view(found: Report, blocked: Sequence[Blocked]) -> View:
    """Return what was delivered of what everybody was entitled to, and who is below its share now."""
    columns = [
        Column("BLOCKED", "wanting_seconds", duration, "right", level=1),
        Column("ENTITLED", "entitled_seconds", _hours),
        Column("DELIVERED", "delivered_seconds", _hours),
        Column("MET", "met", _share, "right"),
        Column("LOST", "lost_seconds", _hours, level=2),
    ]
    below = [
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
        text=_title(found),
        tables=[_table(found, columns), Table(below, [asdict(one) for one in blocked], key="blocked")],
        document=_document(found),
        fields=[*found.by, *_figures(found, found.total)],
    )


def _title(found: Report) -> str | None:
    return f"From {_when(found.since)} to {_when(found.until)}, local time" if found.lines else None


def _document(found: Report) -> dict[str, Any]:
    total = _figures(found, found.total)
    return {"since_time": found.since, "until_time": found.until, "by": list(found.by), "total": total}


def _table(found: Report, columns: Sequence[Column]) -> Table:
    rows = [_row(found, line) for line in found.lines]
    footer = {**_figures(found, found.total), found.by[0]: counted(len(rows), "line")}
    keys = (Column(name.upper(), name, align="left") for name in found.by)
    return Table([*keys, *columns], rows, key="rows", footer=footer if rows else None, empty=_NOTHING)


def _when(time: int) -> str:
    return local(time).astimezone().isoformat(" ", "minutes")


def _row(found: Report, line: Line) -> dict[str, Any]:
    keys: dict[str, Any] = dict(zip(found.by, line.keys, strict=True))
    if line.start_time is not None:
        keys["start_time"] = line.start_time
    named = {"dominant": found.dominant.get(line.keys[0])} if found.dominant else {}
    return {**keys, **_figures(found, line), **named}


def _figures(found: Report, line: Line) -> dict[str, Any]:
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
        "wanting_seconds": line.wanting_seconds,
        "lost_seconds": line.lost_seconds,
        "wait_median": median,
        "wait_95_percent": high,
        "measured": line.measured,
        "cpu_efficiency": line.cpu_efficiency,
    }


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f}"


def _share(value: float) -> str:
    return f"{100 * value:.1f}%"


def _columns(found: Report) -> list[Column]:
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
        *([Column("DOMINANT", "dominant", align="left", level=1)] if found.dominant else []),
    ]
