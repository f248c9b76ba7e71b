"""Schema 20: what the ads of many slots have in common is stored once, which makes a large pool a quarter as large."""

from __future__ import annotations

STATEMENTS = (
    # JSON: the attributes whose values are in the ads of slots, and an ad with null in place of these values.
    "CREATE TABLE slot_shape (id INTEGER PRIMARY KEY, content TEXT NOT NULL)",
    'CREATE INDEX guard_slot_shape ON slot_shape ("id", fairq_crc32(CAST("content" AS BLOB)))',
)
