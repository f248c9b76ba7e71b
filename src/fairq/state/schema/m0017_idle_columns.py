"""Schema 17: the idle jobs kept by column besides, so that a cycle reads what changed, and not every range."""

from __future__ import annotations

STATEMENTS = (
    # A copy of all ranges of idle jobs, by submitter; it is there as a whole or not at all.
    "CREATE TABLE idle_columns (schedd TEXT, submitter TEXT, content BLOB NOT NULL, PRIMARY KEY (schedd, submitter))",
    # The clusters of which the copy is not valid any more.
    """
    CREATE TABLE idle_changed (schedd TEXT, cluster INTEGER, PRIMARY KEY (schedd, cluster)) WITHOUT ROWID
    """,
    # What the jobs of one kind have in common; the copy has its numbers.
    "CREATE TABLE job_kind (id INTEGER PRIMARY KEY, content TEXT NOT NULL)",
    *(
        f"""
        CREATE TRIGGER idle_columns_{event.lower()}_{row.lower()} AFTER {event} ON job
        WHEN EXISTS (SELECT 1 FROM idle_columns)
        BEGIN INSERT OR IGNORE INTO idle_changed VALUES ({row}.schedd, {row}.cluster); END
        """
        for event, row in (("INSERT", "NEW"), ("DELETE", "OLD"), ("UPDATE", "OLD"), ("UPDATE", "NEW"))
    ),
    'CREATE INDEX guard_idle_changed ON idle_changed ("schedd", "cluster")',
    'CREATE INDEX guard_idle_columns ON idle_columns ("schedd", "submitter", fairq_crc32(CAST("content" AS BLOB)))',
    'CREATE INDEX guard_job_kind ON job_kind ("id", fairq_crc32(CAST("content" AS BLOB)))',
)
