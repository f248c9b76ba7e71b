"""Events of jobs, recorded in the state and written to the event log that a job names (``log = FILE``).

The layout is that of HTCondor's user log (its manual, "Job Event Log Codes").
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from fairq.common.records import PROC_PLACEHOLDER, Ad, JobEvent, JobRange
from fairq.launch.event_log import locked, write
from fairq.state import job_events, jobs
from fairq.state.connection import State, reading, writing
from fairq.state.idle_connections import kept_open
from fairq.state.location import elsewhere_of
from fairq.steps.launch.launchers import runs_as_owner
from fairq.steps.launch.values import is_given, read_if_usable

if TYPE_CHECKING:
    from fairq.settings import Settings

_AT_ONCE = 100
"""Logs in one batch: each lock needs a descriptor, and each batch one transaction."""

SUBMITTED, EXECUTING, EVICTED, TERMINATED, ABORTED, HELD, RELEASED = 0, 1, 4, 5, 9, 12, 13

_NO_BYTES = "\t0  -  Run Bytes Sent By Job\n\t0  -  Run Bytes Received By Job\n"
_NO_TOTAL = "\t0  -  Total Bytes Sent By Job\n\t0  -  Total Bytes Received By Job\n"


def record(
    state: State, ranges: Iterable[JobRange], number: int, body: Mapping[str, Any], now: int, *, always: bool
) -> None:
    """Record an event of this *number* for jobs at *now*; unless *always*, only for jobs with a log."""
    ranges = list(ranges)
    shared = jobs.ads(state, {job.ad_id for job in ranges})
    events = []
    for job in ranges:
        log = _log(job, shared[job.ad_id], now)
        if log is not None or always:
            procs = (job.schedd, job.cluster, job.first_proc, job.last_proc)
            events.append(JobEvent(0, now, *procs, number, dict(body), log, log is None))
    job_events.add(state, events)


def _log(job: JobRange, shared: Ad, now: int) -> str | None:
    """Return the path of the log, with the placeholder of a template; None without one or for an unusable path."""
    for ad in (job.template or {}, job.own or {}, shared):
        if is_given(ad, "UserLog"):
            return read_if_usable(ad, "UserLog", now) or None
    return None


def flush(path: Path, settings: Settings) -> list[str]:
    """Write the pending events to their logs, in order; return an error message for each log that failed.

    Where jobs run as their owners, do nothing: `fairq.steps.launch.decisions` has them written with the owners' rights.

    The logs are locked meanwhile, so that two processes do not write the same event. After a crash, an event already at
    the end of its log is not written again. Where the state may only be read, nothing is written.
    """
    if elsewhere_of(path) or runs_as_owner(settings):
        return []
    with reading(path) as state:
        pending = _Pending.of(state)
    problems: list[str] = []
    with kept_open():
        for logs in _batches(pending.entries):
            with ExitStack() as locks:
                descriptors: dict[str, int] = {}
                for log in logs:
                    with _noting_problems(log, problems):
                        descriptors[log] = locks.enter_context(locked(log))
                pending = _write(path, pending, descriptors, problems)
    return problems


def _batches(logs: Iterable[str]) -> list[list[str]]:
    """Divide *logs* into batches that are locked together; two names of one file are never in the same batch."""
    parts: list[list[str]] = []
    files: set[str] = set()
    for log in logs:
        file = os.path.realpath(log)
        if not parts or len(parts[-1]) == _AT_ONCE or file in files:
            parts.append([])
            files.clear()
        parts[-1].append(log)
        files.add(file)
    return parts


class _Pending(Struct):
    """The events to be written, by log; *done* counts the logs that already have an event, by its number."""

    ids: set[int]
    entries: dict[str, list[tuple[JobEvent, bytes]]]
    done: Counter[int]

    @classmethod
    def of(cls, state: State) -> _Pending:
        events = job_events.unwritten(state)
        return cls({event.id for event in events}, by_log(events), Counter())


def _write(path: Path, pending: _Pending, descriptors: Mapping[str, int], problems: list[str]) -> _Pending:
    """Write to these locked logs, mark the events that are in all their logs, and return the remaining ones."""
    with reading(path) as state:
        # Another process may have written some before the logs were locked, or have added some.
        if job_events.unwritten_ids(state) != pending.ids:
            pending = replace(_Pending.of(state), done=pending.done)
    written = set()
    for log, descriptor in descriptors.items():
        with _noting_problems(log, problems):
            entries = pending.entries.get(log, [])
            write(descriptor, [entry for _, entry in entries])
            pending.done.update(event.id for event, _ in entries)
            # An event of several jobs may belong to several logs.
            written |= {event.id for event, _ in entries if pending.done[event.id] == len(event)}
    if written:
        with writing(path) as state:
            job_events.mark_written(state, written)
    return replace(pending, ids=pending.ids - written)


@contextmanager
def _noting_problems(log: str, problems: list[str]) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problems.append(f"the event log {log} cannot be written: {error.strerror or error}")


def by_log(events: Iterable[JobEvent]) -> dict[str, list[tuple[JobEvent, bytes]]]:
    """Return *events* as text, by the log that they belong to."""
    texts: dict[str, list[tuple[JobEvent, bytes]]] = {}
    for event in events:
        for proc in range(event.first_proc, event.last_proc + 1):
            log = str(event.log).replace(PROC_PLACEHOLDER, str(proc))
            texts.setdefault(log, []).append((event, text(event, proc).encode("utf-8", "surrogateescape")))
    return texts


def text(event: JobEvent, proc: int) -> str:
    """Return an event of one job as text for the log."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.time))
    head = f"{event.number:03d} ({event.cluster:03d}.{proc:03d}.000) {when} "
    return head + _TEXTS[event.number]({name: _one_line(value) for name, value in event.body.items()}) + "...\n"


def _one_line(value: Any) -> Any:
    # A line break would end the event early.
    return " ".join(value.split()) if isinstance(value, str) else value


def _terminated(body: dict[str, Any]) -> str:
    total = _usage("Total Remote", body["total_user"], body["total_system"]) + _usage("Total Local", 0, 0)
    return "Job terminated.\n" + _ending(body) + _run_usage(body) + total + _NO_BYTES + _NO_TOTAL + _resources(body)


def _ending(body: dict[str, Any]) -> str:
    if body.get("signal") is not None:
        return f"\t(0) Abnormal termination (signal {body['signal']})\n\t(0) No core file\n"
    return f"\t(1) Normal termination (return value {body.get('exit_code')})\n"


def _run_usage(body: dict[str, Any]) -> str:
    return _usage("Run Remote", body.get("user", 0), body.get("system", 0)) + _usage("Run Local", 0, 0)


def _usage(title: str, user: float, system: float) -> str:
    return f"\t\tUsr {_days(user)}, Sys {_days(system)}  -  {title} Usage\n"


def _days(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"{day} {hour:02d}:{minute:02d}:{second:02d}"


def _resources(body: dict[str, Any]) -> str:
    if not body.get("wall"):
        return ""
    cpus = (body["user"] + body["system"]) / body["wall"]
    return (
        "\tPartitionable Resources :    Usage  Request Allocated \n"
        f"\t   Cpus                 : {cpus:8.2f} {body['request_cpus']:8d} {body['request_cpus']:9d} \n"
        f"\t   Memory (MB)          : {body['memory']:8d} {body['request_memory']:8d} {body['allocated_memory']:9d} \n"
    )


def _evicted(body: dict[str, Any]) -> str:
    if body.get("requeued"):
        reason = f"\t{body['reason']}\n" if body.get("reason") else ""
        start = "Job was evicted.\n\t(0) Job terminated and was requeued\n"
        return start + _run_usage(body) + _NO_BYTES + _ending(body) + reason
    reason = f"\tReason: {body['reason']}\n" if body.get("reason") else ""
    return "Job was evicted.\n\t(0) CPU times\n" + _run_usage(body) + _NO_BYTES + reason


def _held(body: dict[str, Any]) -> str:
    code, subcode = body.get("code") or 0, body.get("subcode") or 0
    return f"Job was held.\n\t{body.get('reason') or 'Reason unspecified'}\n\tCode {code} Subcode {subcode}\n"


_TEXTS: dict[int, Callable[[dict[str, Any]], str]] = {
    SUBMITTED: lambda body: f"Job submitted from host: <127.0.0.1:0?alias={body['host']}>\n",
    EXECUTING: lambda body: f"Job executing on host: <127.0.0.1:0>\n\tSlotName: {body['slot']}\n",
    EVICTED: _evicted,
    TERMINATED: _terminated,
    ABORTED: lambda body: f"Job was aborted.\n\t{body.get('reason') or 'removed'}\n",
    HELD: _held,
    RELEASED: lambda body: f"Job was released.\n\t{body.get('reason') or 'released'}\n",
}
