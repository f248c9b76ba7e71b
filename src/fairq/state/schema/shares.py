"""Tables of DIRAC's scheme: task queues, groups, reports of use and delays."""

from __future__ import annotations

from fairq.state.schema.guards import guard

STATEMENTS = (
    # identity is JSON, the requirements that its jobs share; part tells apart queues of one identity that are full.
    """
    CREATE TABLE task_queue (
        number INTEGER PRIMARY KEY,
        identity TEXT NOT NULL,
        part INTEGER NOT NULL,
        priority REAL,
        updated INTEGER,
        UNIQUE (identity, part)
    )
    """,
    guard("task_queue", "number priority updated"),
    """
    CREATE TRIGGER kept_queues_number_insert AFTER INSERT ON task_queue
        WHEN NEW.number <= (SELECT highest FROM kept_queues)
        BEGIN DELETE FROM kept_queues; DELETE FROM kept_queues_change; END
    """,
    """
    CREATE TRIGGER kept_queues_number_delete AFTER DELETE ON task_queue
        WHEN OLD.number <= (SELECT highest FROM kept_queues)
        BEGIN DELETE FROM kept_queues; DELETE FROM kept_queues_change; END
    """,
    """
    CREATE TRIGGER kept_queues_number_update AFTER UPDATE OF number, identity, part ON task_queue
        WHEN min(OLD.number, NEW.number) <= (SELECT highest FROM kept_queues)
        BEGIN DELETE FROM kept_queues; DELETE FROM kept_queues_change; END
    """,
    # properties is JSON: what DIRAC's registry says of the group.
    "CREATE TABLE share_group (name TEXT PRIMARY KEY, properties TEXT NOT NULL) WITHOUT ROWID",
    guard("share_group", "name", "properties?"),
    # owner_group is empty for use by group; average_jobs is NULL where the report failed.
    """
    CREATE TABLE usage_report (
        owner_group TEXT NOT NULL,
        time_span INTEGER NOT NULL,
        entity TEXT NOT NULL,
        average_jobs REAL,
        time INTEGER NOT NULL,
        PRIMARY KEY (owner_group, time_span, entity)
    ) WITHOUT ROWID
    """,
    guard("usage_report", "owner_group time_span entity average_jobs time"),
    # A token bucket: how many tokens it held at that time (seconds since 1970).
    """
    CREATE TABLE matching_delay (
        site TEXT NOT NULL,
        attribute TEXT NOT NULL,
        value TEXT NOT NULL,
        tokens REAL NOT NULL,
        time REAL NOT NULL,
        PRIMARY KEY (site, attribute, value)
    ) WITHOUT ROWID
    """,
    guard("matching_delay", "site attribute value tokens time"),
    # The task queues as they were formed: one record or none. policy: the rules under which the queues were
    # formed; highest: number of a queue.
    """
    CREATE TABLE kept_queues (
        id INTEGER PRIMARY KEY,
        policy TEXT NOT NULL,
        highest INTEGER NOT NULL,
        content BLOB NOT NULL
    )
    """,
    'CREATE INDEX guard_kept_queues ON kept_queues ("highest", fairq_crc32(CAST("policy" AS BLOB)), '
    'fairq_crc32("content"))',
    # The jobs that changed since. The first record, with the id 0, is no job: with it, changes are noted. While
    # the table is empty, none are.
    """
    CREATE TABLE kept_queues_change (
        id INTEGER PRIMARY KEY,
        cluster INTEGER NOT NULL,
        schedd TEXT NOT NULL,
        first_proc INTEGER NOT NULL
    )
    """,
    "CREATE INDEX guard_kept_queues_change ON kept_queues_change (cluster, schedd, first_proc)",
)
