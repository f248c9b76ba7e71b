"""Schema 1: the accountant's records, the pool, the queue, the cycles and the history."""

from __future__ import annotations

_APPEND_ONLY = ("run", "cycle", "match", "history")

_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # Submitters and accounting groups, '<none>' included. A factor of NULL is not resolved yet.
    """
    CREATE TABLE submitter (
        name TEXT PRIMARY KEY,
        is_group INTEGER NOT NULL,
        priority REAL NOT NULL,
        priority_factor REAL,
        resources_used INTEGER NOT NULL,
        weighted_resources_used REAL NOT NULL,
        hier_weighted_resources_used REAL NOT NULL,
        uncharged_time REAL NOT NULL,
        weighted_uncharged_time REAL NOT NULL,
        accumulated_usage REAL NOT NULL,
        weighted_accumulated_usage REAL NOT NULL,
        begin_usage_time INTEGER NOT NULL,
        last_usage_time INTEGER NOT NULL,
        ceiling INTEGER NOT NULL,
        floor INTEGER NOT NULL,
        ceiling_lease_expiration INTEGER,
        ceiling_prelease_value REAL,
        floor_lease_expiration INTEGER,
        floor_prelease_value REAL,
        factor_lease_expiration INTEGER,
        factor_prelease_value REAL,
        submitter_share REAL,
        submitter_limit REAL
    ) WITHOUT ROWID
    """,
    # The id is the order of the pool.
    """
    CREATE TABLE slot (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        address TEXT NOT NULL,
        ad TEXT NOT NULL,
        draining INTEGER NOT NULL,
        UNIQUE (name, address)
    )
    """,
    # A cluster of NULL: the job is not in fairq's queue, only in an imported slot's ad.
    """
    CREATE TABLE claim (
        slot_id INTEGER PRIMARY KEY REFERENCES slot (id),
        submitter TEXT NOT NULL,
        schedd TEXT,
        cluster INTEGER,
        proc INTEGER,
        start_time INTEGER NOT NULL,
        slot_weight REAL NOT NULL,
        current_rank REAL NOT NULL,
        concurrency_limits TEXT
    )
    """,
    "CREATE UNIQUE INDEX claim_job ON claim (cluster, schedd, proc) WHERE cluster IS NOT NULL",
    "CREATE TABLE job_ad (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, ad TEXT NOT NULL)",
    # A row is a range of procs that are alike. The cluster leads the key, since people name jobs by it.
    """
    CREATE TABLE job (
        cluster INTEGER NOT NULL,
        schedd TEXT NOT NULL,
        first_proc INTEGER NOT NULL,
        last_proc INTEGER NOT NULL CHECK (last_proc >= first_proc),
        ad_id INTEGER NOT NULL REFERENCES job_ad (id),
        own TEXT,
        template TEXT,
        submitter TEXT NOT NULL,
        owner TEXT NOT NULL,
        status INTEGER NOT NULL,
        priority INTEGER NOT NULL,
        queue_date INTEGER NOT NULL,
        status_date INTEGER NOT NULL,
        reason TEXT,
        PRIMARY KEY (cluster, schedd, first_proc)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX job_status ON job (status, submitter)",
    "CREATE INDEX job_submitter ON job (submitter)",
    "CREATE INDEX job_owner ON job (owner)",
    "CREATE INDEX job_ad_use ON job (ad_id)",
    """
    CREATE TABLE run (
        id INTEGER PRIMARY KEY,
        schedd TEXT NOT NULL,
        cluster INTEGER NOT NULL,
        proc INTEGER NOT NULL,
        submitter TEXT NOT NULL,
        slot TEXT NOT NULL,
        slot_weight REAL NOT NULL,
        start_time INTEGER NOT NULL,
        end_time INTEGER NOT NULL,
        how TEXT NOT NULL,
        exit_code INTEGER
    )
    """,
    "CREATE INDEX run_job ON run (cluster, proc)",
    # The decision is the cycle's JSON document without the matches.
    """
    CREATE TABLE cycle (
        number INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        rules TEXT NOT NULL,
        decision TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE match (
        cycle INTEGER NOT NULL REFERENCES cycle (number),
        sequence INTEGER NOT NULL,
        schedd TEXT NOT NULL,
        cluster INTEGER NOT NULL,
        proc INTEGER NOT NULL,
        submitter TEXT NOT NULL,
        slot TEXT NOT NULL,
        reason TEXT NOT NULL,
        preempted TEXT,
        PRIMARY KEY (cycle, sequence)
    ) WITHOUT ROWID
    """,
    # What stood there before and after is JSON.
    """
    CREATE TABLE history (
        id INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        user TEXT NOT NULL,
        command TEXT NOT NULL,
        subject TEXT NOT NULL,
        before TEXT NOT NULL,
        after TEXT NOT NULL
    )
    """,
    "CREATE INDEX history_subject ON history (subject)",
)


def _refusal(table: str, act: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, 'the {table} table is append-only'); END"
    )


STATEMENTS = (
    *_TABLES,
    *(_refusal(table, act) for table in _APPEND_ONLY for act in ("UPDATE", "DELETE")),
)
