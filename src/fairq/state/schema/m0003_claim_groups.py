"""Schema 3: in which group's turn a claim was matched."""

from __future__ import annotations

STATEMENTS = (
    # NULL where nothing tells, as of claims made before.
    "ALTER TABLE claim ADD COLUMN negotiating_group TEXT",
    "ALTER TABLE claim ADD COLUMN autoregroup INTEGER",
)
