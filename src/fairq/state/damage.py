"""Find the record that caused an error: a value in the state that fairq did not write."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from fairq.columns.broker.column import NESTED
from fairq.columns.broker.kinds import STORED

JSON_COLUMNS = {
    "slot": ("id", "ad"),
    "dynamic_slot": ("slot_id", "carved"),
    "claim_terms": ("id", "advertised"),
    "job_ad": ("id", "ad"),
    "job_kind": ("id", "content"),
    "job": ("cluster", "own", "template"),
    "cycle": ("number", "decision"),
    "match": ("cycle", "runs"),
    "history": ("id", "before", "after"),
    "undo": ("first", "data"),
    "task_queue": ("number", "identity"),
    "need_value": ("id", "value"),
    "job_need": ("ad_id", "priorities"),
    "share_group": ("name", "properties"),
    "broker_cycle": ("number", "document"),
    "slot_columns": ("first", "content"),
    "launch": ("id", "after", "cores", "ordered", "ended"),
    "job_event": ("id", "body"),
    "ended_job": ("id", "own", "template"),
    **{
        kind.table: (kind.keys[0].name, *nested)
        for kind in STORED
        if (nested := [column.name for column in kind.columns if column.type in NESTED])
    },
}
"""The columns that hold JSON, by table, after the column that names a record."""

_TEXT = b"TEXT"

_NUMBERS = (b"last_update", b"decayed_until", b"next_cluster", b"next_task_queue")
"""The values in meta that are whole numbers."""


def first_damage(path: Path) -> str | None:
    """Return the first record of the state file *path*, in words, with a text that is not UTF-8, not JSON or no number.

    None if there is none, or if the file cannot be read at all. The whole file is read.
    """
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            connection.text_factory = bytes
            return next(_damages(connection), None)
    except UnicodeDecodeError:
        return "the name of a table or of a column is not UTF-8 text"
    except sqlite3.Error:
        return None


def _damages(connection: sqlite3.Connection) -> Iterator[str]:
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    for (name,) in tables:
        table = name.decode()
        columns = connection.execute(f'PRAGMA table_info("{table}")').fetchall()
        kinds = {column.decode(): kind for _, column, kind, *_ in columns if kind in (_TEXT, b"INTEGER", b"REAL")}
        keys = [column.decode() for _, column, *_, key in columns if key] or ["rowid"]
        if kinds:
            yield from _damages_of(connection, table, keys, kinds)


def _damages_of(
    connection: sqlite3.Connection, table: str, keys: list[str], kinds: Mapping[str, bytes]
) -> Iterator[str]:
    documents = JSON_COLUMNS.get(table, ())[1:]
    wanted = ", ".join(f'"{column}"' for column in (*keys, *kinds))
    for row in connection.execute(f'SELECT {wanted} FROM "{table}"'):
        for (column, kind), value in zip(kinds.items(), row[len(keys) :], strict=True):
            if not isinstance(value, bytes):
                continue
            problem = _problem(value, is_json=column in documents)
            is_number = (table, column) == ("meta", "value") and row[0] in _NUMBERS
            if kind != _TEXT or (is_number and not value.isdigit()):
                problem = "not a number"
            if problem:
                key = ", ".join(_shown(value) for value in row[: len(keys)])
                yield f"{column} of {table} {key} is {problem}"


def _problem(value: bytes, *, is_json: bool) -> str | None:
    try:
        text = value.decode()
        if is_json:
            json.loads(text or "null")
    except UnicodeDecodeError:
        return "not UTF-8 text"
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    return None


def _shown(key: object) -> str:
    return key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else str(key)
