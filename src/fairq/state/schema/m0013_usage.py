"""Schema 13: the ledger of usage: what was charged when, to whom, and what else changed the sums."""

from __future__ import annotations

_SUMS = ("usage", "weighted", "entitled", "delivered", "wanting", "idle", "running", "priority", "known")

STATEMENTS = (
    # A bucket is an hour or less, later a local day; its name a submitter, a group, or empty for the pool. Slot-seconds
    # and weighted ones charged; weighted ones entitled to, and charged, in so many seconds of demand; seconds of idle
    # and of running jobs; effective priority times seconds; and for how many seconds the last ones are known.
    f"""
    CREATE TABLE usage (
        start INTEGER NOT NULL,
        name TEXT NOT NULL,
        {", ".join(f"{name} REAL NOT NULL" for name in _SUMS)},
        PRIMARY KEY (start, name)
    ) WITHOUT ROWID
    """,
    f'CREATE INDEX guard_usage ON usage ("start", "name", {", ".join(f"{chr(34)}{name}{chr(34)}" for name in _SUMS)})',
    # What changed a record's usage and is no charge: an edit, an import, the deletion of the record, and what was
    # charged before there was a ledger.
    """
    CREATE TABLE usage_edit (
        id INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        user TEXT NOT NULL,
        usage REAL NOT NULL,
        weighted REAL NOT NULL
    )
    """,
    "CREATE INDEX usage_edit_time ON usage_edit (time)",
    'CREATE INDEX guard_usage_edit ON usage_edit ("id", "name", "usage", "weighted", '
    'fairq_crc32(CAST("kind" || \'|\' || "user" AS BLOB)))',
    """
    INSERT INTO usage_edit (time, name, kind, user, usage, weighted)
    SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'last_update'), 0), name, 'earlier', '',
        accumulated_usage, weighted_accumulated_usage
    FROM submitter WHERE accumulated_usage <> 0 OR weighted_accumulated_usage <> 0 ORDER BY name
    """,
    *(
        f"CREATE TRIGGER usage_edit_no_{act.lower()} BEFORE {act} ON usage_edit "
        "BEGIN SELECT RAISE(ABORT, 'the usage_edit table is append-only'); END"
        for act in ("UPDATE", "DELETE")
    ),
)
