"""Traces as CSV: a line of names, then one job per line."""

from __future__ import annotations

import csv
import difflib
from datetime import datetime

from fairq.dumps.source import opened
from fairq.dumps.swf import looks_like_swf, read_swf
from fairq.dumps.trace import LONGEST, Trace, TraceJob
from fairq.errors.pool import InvalidDumpError
from fairq.quantities import size

COLUMNS = ("submit", "run", "user", "group", "cpus", "memory", "limit", "priority", "status")
_EPOCH = 946_684_800
_LARGEST = 1 << 31
"""Most characters in a trace."""

_HIGHEST = (1 << 31) - 1
"""The highest job priority."""

_LATEST = 1 << 33
"""The latest time of submission, in seconds since 1970."""

_ABSOLUTE = 100_000_000
"""A submit time from this number up is in seconds since 1970; a smaller one, since the beginning of the trace."""


def read_trace(name: str) -> Trace:
    """Read the trace *name*: a log in the Standard Workload Format, or CSV; the first line decides.

    Raises UnreadableDumpError, InvalidDumpError.
    """
    with opened(name, lenient=True) as source:
        text = source.whole(_LARGEST)
    first = text.lstrip("\r\n").partition("\n")[0]
    return read_swf(name, text) if looks_like_swf(first) else read_csv(name, text)


def read_csv(name: str, text: str) -> Trace:
    """Read the CSV *text* of the file *name*; of `COLUMNS`, only submit and run are required."""
    rows = csv.reader(text.splitlines())
    heading = [cell.strip().lower() for cell in next(rows, [])]
    _check_heading(name, heading)
    trace = Trace()
    for number, cells in enumerate(rows, 2):
        if not any(cell.strip() for cell in cells):
            continue
        job = _job(trace, name, number, dict(zip(heading, (cell.strip() for cell in cells), strict=False)))
        if job is not None:
            trace.jobs.append(job)
    trace.jobs.sort(key=lambda job: job.submit)
    if trace.jobs and trace.jobs[0].submit < _ABSOLUTE:
        trace.jobs = [job._replace(submit=_EPOCH + job.submit) for job in trace.jobs]
        trace.start = _EPOCH
    else:
        trace.start = trace.jobs[0].submit if trace.jobs else _EPOCH
    return trace


def _check_heading(name: str, heading: list[str]) -> None:
    for column in heading:
        if column not in COLUMNS:
            near = difflib.get_close_matches(column, COLUMNS, 1)
            cure = f"perhaps {near[0]}" if near else f"the columns are {', '.join(COLUMNS)}"
            raise InvalidDumpError(source=name, where="line 1", problem=f"unknown column {column!r}", cure=cure)
    for column in ("submit", "run"):
        if column not in heading:
            raise InvalidDumpError(
                source=name, where="line 1", problem=f"no column {column}", cure=f"the columns are {', '.join(COLUMNS)}"
            )


def _job(trace: Trace, name: str, line: int, cells: dict[str, str]) -> TraceJob | None:
    def wrong(column: str, cure: str) -> InvalidDumpError:
        problem = f"{column} is {cells.get(column, '')!r}"
        return InvalidDumpError(source=name, where=f"line {line}", problem=problem, cure=cure)

    def number(column: str, default: int | None, least: int = 0, most: int = 10**15) -> int | None:
        text = cells.get(column, "")
        if not text:
            return default
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise wrong(column, f"give a number between {least} and {most}")
        return round(value)

    if cells.get("status") in ("2", "3", "4"):
        trace.skipped["a part of a job that another line sums up"] += 1
        return None
    if cells.get("run", "") in ("", "-1"):
        trace.skipped["never started"] += 1
        return None
    submit, run = _time(cells.get("submit", "")), number("run", None, 0, LONGEST)
    if submit is None or run is None:
        raise wrong("submit", "give seconds, or a time in ISO 8601")
    memory = size(cells["memory"], 1 << 20) if cells.get("memory") else None
    if cells.get("memory") and (memory is None or memory < 0):
        raise wrong("memory", "give a size, such as 2G")
    return TraceJob(
        submit=submit,
        run=run,
        user=cells.get("user") or "unknown",
        group=cells.get("group", ""),
        cpus=number("cpus", 1, 1) or 1,
        memory=memory,
        limit=number("limit", None) or None,
        priority=number("priority", 0, -_HIGHEST, _HIGHEST) or 0,
    )


def _time(text: str) -> int | None:
    """Seconds since 1970 or since the beginning of the trace; None if *text* is no time."""
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError):
            return None
    return int(seconds) if 0 <= seconds <= _LATEST else None
