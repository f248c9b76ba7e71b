"""Schema 12: the reason of each change, and what it takes to undo it."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE history ADD COLUMN reason TEXT",
    "DROP INDEX guard_history",
    'CREATE INDEX guard_history ON history ("id", "time", fairq_crc32(CAST('
    "coalesce(\"user\", x'00') || '|' || coalesce(\"command\", x'00') || '|' || coalesce(\"before\", x'00') || '|' || "
    "coalesce(\"after\", x'00') || '|' || coalesce(\"reason\", x'00') AS BLOB)))",
    # One command's change: entries *first* to *last* of the history. JSON: what stood there before. *undone* is the
    # entry that undid it.
    """
    CREATE TABLE undo (
        first INTEGER PRIMARY KEY,
        last INTEGER NOT NULL,
        time INTEGER NOT NULL,
        user TEXT NOT NULL,
        kind TEXT NOT NULL,
        data TEXT NOT NULL,
        undone INTEGER
    )
    """,
    'CREATE INDEX guard_undo ON undo ("first", "last", "time", "undone", '
    'fairq_crc32(CAST("user" || \'|\' || "kind" || \'|\' || "data" AS BLOB)))',
)
