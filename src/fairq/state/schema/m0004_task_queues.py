"""Schema 4: DIRAC's scheme: the numbers of task queues, groups, reports of use, pilots' slots and delays."""

from __future__ import annotations

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
    # properties is JSON: what DIRAC's registry says of the group.
    "CREATE TABLE share_group (name TEXT PRIMARY KEY, properties TEXT NOT NULL) WITHOUT ROWID",
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
    """
    CREATE TABLE pilot_slot (
        slot_id INTEGER PRIMARY KEY REFERENCES slot (id),
        site TEXT NOT NULL,
        grid_ce TEXT,
        pilot TEXT
    )
    """,
    "CREATE INDEX pilot_slot_site ON pilot_slot (site)",
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
    "CREATE INDEX run_end ON run (end_time)",
)
