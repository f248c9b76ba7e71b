"""A dump of DIRAC's task queues in several files: the results of queries, as CSV, and parts of the configuration."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from fairq.common.inputs import STANDARD_INPUT
from fairq.errors.shares import TaskQueueDumpError
from fairq.formats.bundle import files_of, is_tar, left_out
from fairq.formats.source import Source, opened
from fairq.formats.table import Table, parse_table, records_of
from fairq.formats.task_queues import COLUMNS, TaskQueueDump, read_document, read_task_queues

_MEMBERS = {
    "task": "task_queues", "taskqueues": "task_queues", "queues": "task_queues", "jobs": "jobs", "groups": "groups",
    "history": "history", "share": "share_corrections", "time": "time",
}  # fmt: skip
"""The member of a dump that a file holds, by the first word of the file's name."""

_HISTORY = ("group", "timespan", "entity", "average")
_JOBS = ("jobid", "tqid", "userpriority", "realpriority")


def read_dump(name: str) -> TaskQueueDump:
    """Return the dump *name*: one file (``-``: the standard input), or a directory or archive of files.

    Raises the errors of `read_task_queues`.
    """
    if not _is_bundle(name):
        with opened(name, must_hold=True) as source:
            dump = read_task_queues(source)
        dump.oldest = _modified(name)
        return dump
    document: dict[str, Any] = {}
    files = files_of(name)
    for file in files:
        member = _MEMBERS.get(re.split(r"[-_. ]", PurePosixPath(file.name).name.lower(), maxsplit=1)[0])
        if member is None:
            raise TaskQueueDumpError(
                source=name, where=file.name, problem="it cannot be identified",
                cure="name it task_queues, jobs, history, groups, share_corrections or time, with .csv, .tsv or .json",
            )  # fmt: skip
        if member in document:
            raise TaskQueueDumpError(
                source=name, where=file.name, problem=f"it is a second file of {member}", cure="remove one"
            )
        with opened(file) as source:
            document[member] = _time(source) if member == "time" else _member(member, parse_table(source))
    dump = read_document(name, document)
    dump.oldest = min((file.modified for file in files if file.modified is not None), default=None)
    dump.unread = left_out(Path(name)) if Path(name).is_dir() else []
    return dump


def _modified(name: str) -> float | None:
    """Return when the file *name* was written (seconds since 1970); None if it is no regular file."""
    with suppress(OSError):
        if name != STANDARD_INPUT and Path(name).is_file():
            return Path(name).stat().st_mtime
    return None


def _time(source: Source) -> Any:
    text = source.read_all().strip()
    try:
        return json.loads(text)
    except ValueError:
        raise TaskQueueDumpError(
            source=source.name, where="line 1", problem=f"{text[:60]!r} is not a time",
            cure="write seconds since 1970, as date +%s does",
        ) from None  # fmt: skip


def _member(member: str, table: Table) -> Any:
    return table.document if table.csv is None else _from_csv(member, table)


def _is_bundle(name: str) -> bool:
    path = Path(name)
    if name == STANDARD_INPUT or not name or "\0" in name:
        return False
    try:
        return path.is_dir() or (path.is_file() and zipfile.is_zipfile(path)) or is_tar(path)
    except OSError:
        return False


def _from_csv(member: str, table: Table) -> Any:
    if member == "task_queues":
        return [_known_cells(row, COLUMNS) for row in _rows(table, COLUMNS)]
    if member == "jobs":
        return [_known_cells(row, ("JobId", "TQId", "UserPriority", "RealPriority")) for row in _rows(table, _JOBS)]
    if member != "history":
        raise TaskQueueDumpError(source=table.source, where="line 1", problem="it is CSV", cure="give it as JSON")
    history: dict[str, dict[str, dict[str, str]]] = {}
    for where, row in records_of(table, set(_HISTORY)):
        cells = {name.lower(): value for name, value in row.items()}
        group, span, entity, average = (cells.get(name, "") for name in _HISTORY)
        use = history.setdefault(group, {}).setdefault(span, {})
        if entity in use:
            problem = f"duplicate use of {entity or 'nobody'} in {span} s"
            raise TaskQueueDumpError(source=table.source, where=where, problem=problem, cure="remove one")
        use[entity] = average
    return history


def _rows(table: Table, columns: Iterable[str]) -> list[dict[str, str]]:
    return [row for _, row in records_of(table, {column.lower() for column in columns})]


def _known_cells(row: dict[str, str], columns: Iterable[str]) -> dict[str, str]:
    """Return the nonempty cells of known columns, by the spelling in *columns*."""
    spellings = {column.lower(): column for column in columns}
    return {spellings[name.lower()]: value for name, value in row.items() if name.lower() in spellings and value}
