"""Traces as CSV: a line of headings, then one job per line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime

from fairq.common.quantities import size
from fairq.errors.nearest import nearest
from fairq.errors.pool import InvalidDumpError
from fairq.formats.slurm.sacct import looks_like_sacct, read_sacct
from fairq.formats.source import opened
from fairq.formats.swf import looks_like_swf, read_swf
from fairq.formats.table import SeparatedRows
from fairq.formats.trace import LONGEST, Trace, TraceJob

COLUMNS = ("submit", "run", "user", "group", "cpus", "memory", "limit", "priority", "status", "gpus")
_EPOCH = 946_684_800
_LARGEST = 1 << 31
"""Most characters in a trace."""

_HIGHEST = (1 << 31) - 1
"""The highest job priority."""

_LATEST = 1 << 33
"""The latest time of submission, in seconds since 1970."""

_DATE = 500_000_000
"""A number from here up is a date, in seconds since 1970: no log is older than 1985, and none lasts sixteen years."""


def read_trace(name: str) -> Trace:
    """Read the trace *name*: a log in the Standard Workload Format, sacct's records, or CSV; the first line decides.

    Raises UnreadableDumpError, InvalidDumpError.
    """
    with opened(name, lenient=True) as source:
        text = source.read_all(_LARGEST)
    first = text.lstrip().partition("\n")[0]
    if looks_like_sacct(first):
        return read_sacct(name, text)
    return read_swf(name, text) if looks_like_swf(first) else read_csv(name, text)


def read_csv(name: str, text: str) -> Trace:
    """Read the CSV or TSV *text* of the file *name*; of `COLUMNS`, only submit and run are required.

    Raises InvalidDumpError.
    """
    trace = Trace()
    clock = _Clock(name)
    rows = _rows(name, text)
    heading = _heading(name, *next(rows, (1, [])))
    for number, cells in rows:
        if len(cells) > len(heading) and any(cells[len(heading) :]):
            problem = f"{len(cells)} values under {len(heading)} headings"
            cure = "put values that hold a comma in double quotes"
            raise InvalidDumpError.at_line(name, number, problem, cure)
        job = _job(trace, clock, name, number, dict(zip(heading, cells, strict=False)))
        if job is not None:
            trace.jobs.append(job)
    trace.jobs.sort(key=lambda job: job.submit)
    trace.start = _EPOCH
    if clock.dated:
        trace.start = trace.jobs[0].submit
    else:
        trace.zero = _EPOCH
        trace.jobs = [job._replace(submit=_EPOCH + job.submit) for job in trace.jobs]
    return trace


def _rows(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the values of each line that is not blank; a value ends on the line where it begins."""
    rows = SeparatedRows(text)
    number = 0
    try:
        for number, row in enumerate(rows, 1):
            # A value with a line break is an open quote: it would swallow the jobs up to the next quote.
            if rows.line > number:
                raise _not_csv(name, number, text)
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield number, cells
    except csv.Error as failure:
        raise _not_csv(name, number + 1, text, failure) from None


def _not_csv(name: str, number: int, text: str, failure: csv.Error | None = None) -> InvalidDumpError:
    line = next(line for line_number, line in enumerate(io.StringIO(text, newline=None), 1) if line_number == number)
    limit = csv.field_size_limit()
    if line.count('"') % 2:
        problem, cure = "the quoted value does not end on its line", "close the quotes; write a quote inside as two"
    elif len(line) > limit:
        problem, cure = f"a value has more than {limit} characters", "shorten it"
    else:
        problem, cure = f"not CSV: {failure}", "put the whole value in double quotes; write a quote inside as two"
    return InvalidDumpError.at_line(name, number, problem, cure)


def _heading(name: str, number: int, cells: list[str]) -> list[str]:
    """Return the column of each value; raises InvalidDumpError."""

    def wrong(problem: str, cure: str) -> InvalidDumpError:
        return InvalidDumpError.at_line(name, number, problem, cure)

    heading = [cell.lower() for cell in cells]
    columns = f"the columns are {', '.join(COLUMNS)}"
    if not heading:
        raise wrong("it is empty", "give a log in the Standard Workload Format, or CSV with the columns submit and run")
    if len(heading) == 1 and ";" in heading[0]:
        raise wrong("the values are separated by semicolons", "separate them by commas or tabs")
    for index, column in enumerate(heading):
        if column not in COLUMNS:
            suggestion = nearest(column, COLUMNS)
            raise wrong(f"unknown column {column!r}", columns if suggestion is None else f"perhaps {suggestion}")
        if column in heading[:index]:
            raise wrong(f"the column {column!r} occurs twice", "remove one")
    for column in ("submit", "run"):
        if column not in heading:
            raise wrong(f"no column {column}", columns)
    return heading


class _Clock:
    """Reads the submit times of the trace *name*: all are dates, or all count from the start of the trace."""

    def __init__(self, name: str) -> None:
        self.dated = False
        self._name = name
        self._first = 0
        """The number of the line with the first time."""

    def read(self, text: str, line: int) -> int:
        """Return a time in seconds since 1970 or since the start of the trace; raises InvalidDumpError."""
        seconds, dated = _time(text)
        if seconds is None:
            raise self._wrong(text, line, "", "give seconds, or a time in ISO 8601")
        if not self._first:
            self._first, self.dated = line, dated
        elif dated is not self.dated:
            descriptions = ("counts from the start of the trace", "has a date")
            contrast = ", a date" if dated else ", from the start of the trace"
            cure = "give all times in one of the two ways"
            raise self._wrong(text, line, f"{contrast}, but line {self._first} {descriptions[self.dated]}", cure)
        return seconds

    def _wrong(self, text: str, line: int, addition: str, cure: str) -> InvalidDumpError:
        return InvalidDumpError.at_line(self._name, line, f"submit is {text!r}{addition}", cure)


def _job(trace: Trace, clock: _Clock, name: str, line: int, cells: dict[str, str]) -> TraceJob | None:
    def wrong(column: str, cure: str) -> InvalidDumpError:
        return InvalidDumpError.at_line(name, line, f"{column} is {cells.get(column, '')!r}", cure)

    def number(column: str, default: int | None, minimum: int = 0, maximum: int = 10**15) -> int | None:
        text = cells.get(column, "")
        if not text:
            return default
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not minimum <= value <= maximum:
            raise wrong(column, f"give a number between {minimum} and {maximum}")
        return round(value)

    if cells.get("status") in ("2", "3", "4"):
        trace.skipped["a part of a job that another line sums up"] += 1
        return None
    if cells.get("run", "") in ("", "-1"):
        trace.skipped["never started"] += 1
        return None
    submit = clock.read(cells.get("submit", ""), line)
    run = number("run", None, 0, LONGEST) or 0
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
        gpus=number("gpus", 0) or 0,
    )


def _time(text: str) -> tuple[int | None, bool]:
    """Return the seconds of *text*, None if it is no time, and whether it is a date."""
    try:
        seconds = float(text)
        dated = seconds >= _DATE
    except ValueError:
        try:
            seconds = datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError):
            return None, False
        dated = True
    return (int(seconds) if 0 <= seconds <= _LATEST else None), dated
