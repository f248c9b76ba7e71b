"""Schema 22: the attributes of an input dataset, which say what jobs read of it beside the master."""

from __future__ import annotations

STATEMENTS = (
    """ALTER TABLE broker_inputs ADD COLUMN "attributes" TEXT NOT NULL DEFAULT ''""",
    "DROP INDEX guard_broker_inputs",
    'CREATE INDEX guard_broker_inputs ON broker_inputs ("task", "dataset", "position", "distributed", "created", '
    '"modified", "attributes", fairq_crc32(CAST("type" || \'|\' || "site" || \'|\' || "files" AS BLOB)))',
)
