"""Indexes that guard the content of tables against damage, and triggers that guard it against change."""

from __future__ import annotations


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
