"""Schema 14: the requests that the pool of a host has fulfilled, so that one that comes again is not done twice."""

from __future__ import annotations

STATEMENTS = (
    # *id* is drawn by who asks, *attempt* by the process that fulfilled it.
    """
    CREATE TABLE request (
        id TEXT PRIMARY KEY,
        attempt TEXT NOT NULL,
        time INTEGER NOT NULL,
        user TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    'CREATE INDEX guard_request ON request ("id", "attempt", "time", "user")',
    "CREATE INDEX request_time ON request (time)",
)
