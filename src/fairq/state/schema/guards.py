"""Indexes that guard the content of tables against damage, and triggers that guard it against change.

SQLite updates the guard of a table with each write, and ``PRAGMA integrity_check`` compares every record with it. So a
record that was changed without an SQL statement is found, whichever column it is. Short columns are in it unchanged, of
long texts their CRC-32.
"""

from __future__ import annotations

import sqlite3
import zlib


def guard(table: str, columns: str, texts: str = "", name: str = "") -> str:
    """Return the statement that creates the guard of a table: a second copy of *columns*, one checksum of *texts*.

    Both are names with spaces between. NULL differs from an empty text where the name of a text ends in a question
    mark. Columns that another index copies are left out. The index is called *name*, by default after the table.
    """
    parts = [f'"{column}"' for column in columns.split()]
    if texts:
        joined = " || '|' || ".join(map(_value, texts.split()))
        parts.append(f"fairq_crc32(CAST({joined} AS BLOB))")
    return f"CREATE INDEX {name or f'guard_{table}'} ON {table} ({', '.join(parts)})"


def _value(text: str) -> str:
    return f"coalesce(\"{text[:-1]}\", x'00')" if text.endswith("?") else f'"{text}"'


def refusal(table: str, act: str) -> str:
    """Return the statement that creates the trigger by which *table* refuses an *act*, UPDATE or DELETE."""
    return (
        f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'the {table} table is append-only'); END"
    )


def register(connection: sqlite3.Connection) -> None:
    """Register on *connection* the function of the guard indexes; without it, no write is possible."""
    # The library's own function: one written in Python would cost three times as much for every record.
    connection.create_function("fairq_crc32", 1, zlib.crc32, deterministic=True)
