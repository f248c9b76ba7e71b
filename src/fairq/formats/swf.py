"""The Standard Workload Format 2.2 of the Parallel Workloads Archive (docs/simulate.md)."""

from __future__ import annotations

import re

from fairq.errors.pool import InvalidDumpError
from fairq.formats.trace import LONGEST, Trace, TraceJob

FIELDS = 18
_EPOCH = 946_684_800
"""The beginning of a log that does not state one: 2000-01-01 UTC."""

_HEADER = re.compile(r";\s*(\w+):\s*(-?\d+)\s*$")
_PARTIAL = {2, 3, 4}
"""Status of one part of a checkpointed job; the job's line with status 0 or 1 covers all parts."""

_CANCELLED = 5
_PRECEDING = 16
"""The index of the field that names the preceding job."""

_LARGEST = 1e10
"""The largest number that is accepted in a field."""


def looks_like_swf(line: str) -> bool:
    """Return whether *line* can be the first line of a log in this format."""
    return line.startswith(";") or len(line.split()) >= FIELDS


def read_swf(name: str, text: str) -> Trace:
    """Read the *text* of the log *name*; users become ``u1``, groups ``g1``.

    Raises InvalidDumpError.
    """
    trace = Trace(start=_EPOCH, zero=_EPOCH)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if line.startswith(";"):
            _read_header(trace, line)
            continue
        job = _job(trace, line.split(), name, number)
        if job is not None:
            trace.jobs.append(job)
    trace.jobs.sort(key=lambda job: job.submit)
    return trace


def _read_header(trace: Trace, line: str) -> None:
    header = _HEADER.match(line)
    if header is None:
        return
    if header[1] == "UnixStartTime" and int(header[2]) > 0:
        trace.start, trace.zero = int(header[2]), None
    elif header[1] == "MaxProcs" and int(header[2]) > 0:
        trace.slots = int(header[2])


def _job(trace: Trace, fields: list[str], name: str, line: int) -> TraceJob | None:
    if len(fields) < FIELDS:
        cure = f"a job of a log in the Standard Workload Format has {FIELDS} numbers"
        raise InvalidDumpError.at_line(name, line, f"{len(fields)} fields", cure)
    try:
        values = [float(field) for field in fields[:FIELDS]]
    except ValueError:
        bad = next(field for field in fields if not re.fullmatch(r"-?\d+(\.\d*)?([eE][+-]?\d+)?", field))
        raise InvalidDumpError.at_line(name, line, f"{bad!r} is not a number", "correct or remove the line") from None
    for field, value in zip(fields, values, strict=False):
        if not -_LARGEST <= value <= _LARGEST:
            raise _out_of_range(name, line, field)
    if values[3] > LONGEST:
        raise _out_of_range(name, line, fields[3], f"a run time is at most {LONGEST} s; ")
    _, submit, _, run, allocated, _, _, requested, limit, memory, status, user, group, *_ = values
    cpus = int(requested if requested > 0 else allocated)
    reason = _reason_to_skip(status, submit, run, cpus)
    if reason is not None:
        trace.skipped[reason] += 1
        return None
    trace.dependent += values[_PRECEDING] > 0
    return TraceJob(
        submit=trace.start + int(submit),
        run=int(run + 0.5),
        user=f"u{int(user)}" if user >= 0 else "unknown",
        group=f"g{int(group)}" if group >= 0 else "",
        cpus=cpus,
        memory=-(-int(memory * cpus) // 1024) if memory > 0 else None,
        limit=int(limit) if limit > 0 else None,
    )


def _out_of_range(name: str, line: int, field: str, rule: str = "") -> InvalidDumpError:
    return InvalidDumpError.at_line(name, line, f"{field!r} is out of range", f"{rule}correct or remove the line")


def _reason_to_skip(status: float, submit: float, run: float, cpus: int) -> str | None:
    """Return why a line is no job to simulate; None if it is one."""
    if status in _PARTIAL:
        return "a part of a job that another line sums up"
    if run < 0:
        return "never started"
    if submit < 0:
        return "time of submission unknown"
    if status == _CANCELLED and run == 0:
        return "cancelled before it started"
    if cpus < 1:
        return "number of processors unknown"
    return None
