"""Schema 9: the slots' ads kept by column besides, so that a large pool is read in a third of the time."""

from __future__ import annotations

STATEMENTS = (
    # A copy of the names and ads of all slots, in stretches of pool order; it is there as a whole or not at all.
    "CREATE TABLE slot_columns (first INTEGER PRIMARY KEY, content TEXT NOT NULL)",
    *(
        f"""
        CREATE TRIGGER slot_columns_{event.split()[0].lower()} AFTER {event} ON slot
        WHEN EXISTS (SELECT 1 FROM slot_columns)
        BEGIN DELETE FROM slot_columns; END
        """
        for event in ("INSERT", "DELETE", "UPDATE OF id, name, ad")
    ),
    "CREATE INDEX slot_draining ON slot (id) WHERE draining",
)
