"""Tables of what jobs wait for before they are idle; see `fairq.common.waits`."""

from __future__ import annotations

from fairq.state.schema.guards import guard

STATEMENTS = (
    """
    CREATE TABLE job_wait (
        cluster INTEGER NOT NULL,
        first_proc INTEGER NOT NULL,
        last_proc INTEGER NOT NULL CHECK (last_proc >= first_proc),
        open INTEGER NOT NULL,
        begin INTEGER,
        deadline INTEGER,
        waived INTEGER NOT NULL,
        PRIMARY KEY (cluster, first_proc)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX job_wait_begin ON job_wait (begin) WHERE begin IS NOT NULL",
    "CREATE INDEX job_wait_deadline ON job_wait (deadline) WHERE deadline IS NOT NULL",
    guard("job_wait", "cluster first_proc last_proc open begin deadline waived"),
    """
    CREATE TABLE job_after (
        id INTEGER PRIMARY KEY,
        cluster INTEGER NOT NULL,
        first_proc INTEGER NOT NULL,
        how TEXT NOT NULL,
        other_cluster INTEGER NOT NULL,
        other_first INTEGER NOT NULL,
        other_last INTEGER NOT NULL,
        left INTEGER NOT NULL,
        failed INTEGER NOT NULL
    )
    """,
    "CREATE INDEX job_after_wait ON job_after (cluster, first_proc)",
    "CREATE INDEX job_after_other ON job_after (other_cluster, other_first)",
    guard("job_after", "id other_last left failed", "how"),
    """
    CREATE TABLE job_cap (
        cluster INTEGER PRIMARY KEY,
        running INTEGER,
        idle INTEGER,
        queued INTEGER
    )
    """,
    guard("job_cap", "cluster running idle queued"),
)

CATEGORIES = (
    "ALTER TABLE job_cap ADD COLUMN category TEXT",
    "ALTER TABLE job_cap ADD COLUMN clusters INTEGER",
    "CREATE INDEX job_cap_category ON job_cap (category) WHERE category IS NOT NULL",
    "DROP INDEX guard_job_cap",
    guard("job_cap", "cluster running idle queued clusters", "category?"),
)
"""The categories of nodes of DAGs."""
