"""Schema 2: the dynamic slots that fairq carved out of partitionable ones."""

from __future__ import annotations

STATEMENTS = (
    # The slot's own ad says only what differs from its parent's; carved is JSON, amounts by resource.
    """
    CREATE TABLE dynamic_slot (
        slot_id INTEGER PRIMARY KEY REFERENCES slot (id),
        parent_id INTEGER NOT NULL REFERENCES slot (id),
        carved TEXT NOT NULL
    )
    """,
    "CREATE INDEX dynamic_slot_parent ON dynamic_slot (parent_id)",
)
