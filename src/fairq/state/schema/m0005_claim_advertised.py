"""Schema 5: what an imported slot's ad tells of its claim that has no column, and whether it is charged."""

from __future__ import annotations

STATEMENTS = (
    # Attributes and values as JSON.
    "ALTER TABLE claim ADD COLUMN advertised TEXT",
    "ALTER TABLE claim ADD COLUMN charged INTEGER NOT NULL DEFAULT 1",
)
