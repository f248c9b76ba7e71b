"""Schema 13: the jobs that have left the queue."""

from __future__ import annotations

_TEXTS = ("schedd", "own", "template", "slot", "reason", "hold_reason")
_NUMBERS = (
    "id", "first_proc", "last_proc", "status", "queue_date", "priority", "runs", "first_start", "start_time",
    "wall_seconds", "slot_seconds", "exit_code", "signal", "user_seconds", "system_seconds", "measured_seconds",
    "memory", "request_cpus", "request_memory",
)  # fmt: skip

STATEMENTS = (
    # A row is a range of procs that left together; one that ran has a row of its own. Times are seconds since 1970.
    """
    CREATE TABLE ended_job (
        id INTEGER PRIMARY KEY,
        cluster INTEGER NOT NULL,
        schedd TEXT NOT NULL,
        first_proc INTEGER NOT NULL,
        last_proc INTEGER NOT NULL,
        ad_id INTEGER NOT NULL REFERENCES job_ad (id),
        own TEXT,
        template TEXT,
        submitter TEXT NOT NULL,
        owner TEXT NOT NULL,
        status INTEGER NOT NULL,
        priority INTEGER NOT NULL,
        queue_date INTEGER NOT NULL,
        end_time INTEGER NOT NULL,
        runs INTEGER NOT NULL,
        first_start INTEGER,
        start_time INTEGER,
        wall_seconds INTEGER NOT NULL,
        slot_seconds REAL NOT NULL,
        slot TEXT,
        exit_code INTEGER,
        signal INTEGER,
        user_seconds REAL,
        system_seconds REAL,
        measured_seconds REAL,
        memory INTEGER,
        request_cpus REAL,
        request_memory REAL,
        reason TEXT,
        hold_reason TEXT
    )
    """,
    "CREATE INDEX ended_job_time ON ended_job (end_time)",
    "CREATE INDEX ended_job_submitter ON ended_job (submitter, end_time)",
    "CREATE INDEX ended_job_owner ON ended_job (owner, end_time)",
    "CREATE INDEX ended_job_cluster ON ended_job (cluster, first_proc)",
    "CREATE INDEX ended_job_ad ON ended_job (ad_id)",
    "CREATE INDEX guard_ended_job ON ended_job ("
    + ", ".join(f'"{name}"' for name in _NUMBERS)
    + ", fairq_crc32(CAST("
    + " || '|' || ".join(f"coalesce(\"{name}\", x'00')" for name in _TEXTS)
    + " AS BLOB)))",
)
