"""Schema 18: the task queues kept as they were formed, and the jobs that changed since."""

from __future__ import annotations

STATEMENTS = (
    # One record or none. policy: the rules under which the queues were formed; highest: number of a queue.
    """
    CREATE TABLE kept_queues (
        id INTEGER PRIMARY KEY,
        policy TEXT NOT NULL,
        highest INTEGER NOT NULL,
        content BLOB NOT NULL
    )
    """,
    # The first record, with the id 0, is no job: with it, changes are noted. While the table is empty, none are.
    """
    CREATE TABLE kept_queues_change (
        id INTEGER PRIMARY KEY,
        cluster INTEGER NOT NULL,
        schedd TEXT NOT NULL,
        first_proc INTEGER NOT NULL
    )
    """,
    *(
        f"""
        CREATE TRIGGER kept_queues_number_{event.split()[0].lower()} AFTER {event} ON task_queue
        WHEN {number} <= (SELECT highest FROM kept_queues)
        BEGIN DELETE FROM kept_queues; DELETE FROM kept_queues_change; END
        """
        for event, number in (
            ("INSERT", "NEW.number"),
            ("DELETE", "OLD.number"),
            ("UPDATE OF number, identity, part", "min(OLD.number, NEW.number)"),
        )
    ),
    'CREATE INDEX guard_kept_queues ON kept_queues ("highest", fairq_crc32(CAST("policy" AS BLOB)), '
    'fairq_crc32("content"))',
    "CREATE INDEX guard_kept_queues_change ON kept_queues_change (cluster, schedd, first_proc)",
)
