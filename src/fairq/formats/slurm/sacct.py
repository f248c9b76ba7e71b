"""The records of Slurm's accounting, from ``sacct -a -X -P -S TIME -o FIELDS``.

Source: sacct(1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fairq.errors.pool import InvalidDumpError
from fairq.formats.slurm.text import moment, resources, table
from fairq.formats.source import Held
from fairq.formats.trace import LONGEST, Trace, TraceJob

FIELDS = (
    ("JobID", "the number of the job"),
    ("User", "whom to charge"),
    ("Account", "the accounting group"),
    ("State", "whether the job has ended"),
    ("Submit", "the order of jobs"),
    ("Start", "when use began"),
    ("ElapsedRaw", "the run time"),
    ("AllocTRES", "cores and memory"),
    ("ReqTRES", "cores and memory of jobs that have none"),
    ("TimelimitRaw", "the limit of the run time"),
)
"""The fields that are read, each with its purpose."""


class Record(NamedTuple):
    """A job in the accounting; times in seconds since 1970 as if in UTC, *run* and *limit* in seconds, *memory* in MB.

    *number* is its number, with that of its task in an array: 17, 139_2. *state* is its state without further words.
    *start* is None if it has not started.
    """

    number: str
    user: str
    account: str
    state: str
    submit: int
    start: int | None
    run: int
    cpus: int
    memory: int
    limit: int | None

    @property
    def has_ended(self) -> bool:
        """Whether it is neither waiting nor running."""
        return self.state not in _NOT_ENDED


_NOT_ENDED = {"PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING"}


def looks_like_sacct(line: str) -> bool:
    """Return whether *line* can be the headings of sacct's table."""
    names = {name.strip() for name in line.split("|")}
    return {"User", "Submit", "ElapsedRaw"} <= names or (line.count("|") > 1 and "JobID" in names)


def read_records(held: Held) -> Iterator[Record]:
    """Yield the records of jobs in *held*; raises InvalidDumpError."""

    def integer(number: int, row: dict[str, str], name: str) -> int | None:
        text = row[name].strip()
        if text in ("", "UNLIMITED", "Partition_Limit", "INVALID"):
            return None
        if not (text.isascii() and text.isdecimal() and len(text) < 13 and int(text) <= LONGEST):
            cure = f"give a whole number up to {LONGEST}"
            raise InvalidDumpError.at_line(held.name, number, f"{name} is {text[:40]!r}", cure)
        return int(text)

    for number, row in table(held, FIELDS):
        submit = moment(row["Submit"])
        if submit is None:
            problem = f"Submit is {row['Submit'][:40]!r}"
            cure = "give a time such as 2026-11-28T09:32:45"
            raise InvalidDumpError.at_line(held.name, number, problem, cure)
        used = resources(row["AllocTRES"] or row["ReqTRES"])
        limit = integer(number, row, "TimelimitRaw")
        yield Record(
            number=row["JobID"].strip(),
            user=row["User"].strip() or "unknown",
            account=row["Account"].strip(),
            state=row["State"].partition(" ")[0],
            submit=submit,
            start=moment(row["Start"]),
            run=integer(number, row, "ElapsedRaw") or 0,
            cpus=max(1, used.cpus),
            memory=used.memory,
            limit=None if limit is None else limit * 60,
        )


def read_sacct(name: str, text: str) -> Trace:
    """Return the trace in the *text* of the file *name*: the jobs that have ended, each as long as it ran.

    Raises InvalidDumpError.
    """
    trace = Trace()
    for record in read_records(Held(name, text.encode())):
        if not record.has_ended:
            trace.skipped["it has not ended"] += 1
        elif record.start is None:
            trace.skipped["never started"] += 1
        else:
            limits = record.memory or None, record.limit or None
            trace.jobs.append(TraceJob(record.submit, record.run, record.user, record.account, record.cpus, *limits))
    trace.jobs.sort(key=lambda job: job.submit)
    trace.start = trace.jobs[0].submit if trace.jobs else 0
    return trace
