"""Tables of jobs: the queue, the runs that fairq starts, and the jobs that have left the queue."""

from __future__ import annotations

from fairq.state.schema.guards import guard

STATEMENTS = (
    # The ads that jobs share.
    "CREATE TABLE job_ad (id INTEGER PRIMARY KEY, digest BLOB NOT NULL, ad TEXT NOT NULL)",
    # Digests come in no order. Into an index of its own, many are put at the end, sorted once; into that of a
    # constraint, each by itself.
    "CREATE UNIQUE INDEX job_ad_digest ON job_ad (digest)",
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
        reason TEXT, hold_code INTEGER, hold_subcode INTEGER,
        PRIMARY KEY (cluster, schedd, first_proc)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX job_status ON job (status, submitter)",
    "CREATE INDEX job_submitter ON job (submitter)",
    "CREATE INDEX job_owner ON job (owner)",
    "CREATE INDEX job_ad_use ON job (ad_id)",
    """
    CREATE TRIGGER idle_columns_insert_new AFTER INSERT ON job
        WHEN EXISTS (SELECT 1 FROM idle_columns)
        BEGIN INSERT OR IGNORE INTO idle_changed VALUES (NEW.schedd, NEW.cluster); END
    """,
    """
    CREATE TRIGGER idle_columns_delete_old AFTER DELETE ON job
        WHEN EXISTS (SELECT 1 FROM idle_columns)
        BEGIN INSERT OR IGNORE INTO idle_changed VALUES (OLD.schedd, OLD.cluster); END
    """,
    """
    CREATE TRIGGER idle_columns_update_old AFTER UPDATE ON job
        WHEN EXISTS (SELECT 1 FROM idle_columns)
        BEGIN INSERT OR IGNORE INTO idle_changed VALUES (OLD.schedd, OLD.cluster); END
    """,
    """
    CREATE TRIGGER idle_columns_update_new AFTER UPDATE OF cluster, schedd ON job
    WHEN EXISTS (SELECT 1 FROM idle_columns)
    BEGIN INSERT OR IGNORE INTO idle_changed VALUES (NEW.schedd, NEW.cluster); END
    """,
    # Most ranges have none of these texts.
    'CREATE INDEX guard_job ON job ("cluster", "schedd", "first_proc", "last_proc", "priority", "queue_date", '
    '"status_date", "hold_code", "hold_subcode", CASE WHEN "own" IS NULL AND "template" IS NULL AND "reason" IS NULL '
    "THEN 0 ELSE fairq_crc32(CAST(coalesce(\"own\", x'00') || '|' || coalesce(\"template\", x'00') || '|' || "
    "coalesce(\"reason\", x'00') AS BLOB)) END)",
    # A copy of all ranges of idle jobs, by submitter; it is there as a whole or not at all.
    "CREATE TABLE idle_columns (schedd TEXT, submitter TEXT, content BLOB NOT NULL, PRIMARY KEY (schedd, submitter))",
    guard("idle_columns", "schedd submitter", "content"),
    # The clusters of which the copy is not valid any more.
    """
    CREATE TABLE idle_changed (schedd TEXT, cluster INTEGER, PRIMARY KEY (schedd, cluster)) WITHOUT ROWID
    """,
    guard("idle_changed", "schedd cluster"),
    # What the jobs of one kind have in common; the copy has its numbers.
    "CREATE TABLE job_kind (id INTEGER PRIMARY KEY, content TEXT NOT NULL)",
    guard("job_kind", "id", "content"),
    # A run that a launcher starts, from the intent to long after its end. Times are seconds since 1970,
    # boottime is CLOCK_BOOTTIME at the intent; charged_from of NULL is the intent. JSON: the runs that must
    # have ended before, cores, the order to end it, its end.
    """
    CREATE TABLE launch (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        launcher TEXT NOT NULL,
        schedd TEXT NOT NULL,
        cluster INTEGER NOT NULL,
        proc INTEGER NOT NULL,
        slot TEXT NOT NULL,
        phase TEXT NOT NULL,
        intended INTEGER NOT NULL,
        boot TEXT NOT NULL,
        boottime REAL NOT NULL,
        after TEXT NOT NULL,
        pid INTEGER,
        pid_start INTEGER,
        cores TEXT NOT NULL,
        ordered TEXT,
        ended TEXT,
        end_time INTEGER,
        output TEXT,
        error TEXT
    , engine_id TEXT, reason TEXT, charged_from INTEGER)
    """,
    "CREATE INDEX launch_job ON launch (cluster, proc)",
    "CREATE INDEX launch_live ON launch (id) WHERE phase <> 'ended'",
    guard(
        "launch",
        "id cluster proc intended boottime pid pid_start end_time charged_from",
        "name launcher schedd slot phase boot after cores ordered? ended? output? error? engine_id? reason?",
    ),
    # Of procs that are alike one event; the path of the log may hold the placeholder of the proc's number.
    """
    CREATE TABLE job_event (
        id INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        schedd TEXT NOT NULL,
        cluster INTEGER NOT NULL,
        first_proc INTEGER NOT NULL,
        last_proc INTEGER NOT NULL,
        number INTEGER NOT NULL,
        body TEXT NOT NULL,
        log TEXT,
        written INTEGER NOT NULL
    )
    """,
    "CREATE INDEX job_event_job ON job_event (cluster, first_proc)",
    "CREATE INDEX job_event_waiting ON job_event (id) WHERE NOT written",
    guard("job_event", "id time cluster first_proc last_proc number written", "schedd body log?"),
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
    guard(
        "ended_job",
        "id first_proc last_proc status queue_date priority runs first_start start_time wall_seconds slot_seconds "
        "exit_code signal user_seconds system_seconds measured_seconds memory request_cpus request_memory",
        "schedd? own? template? slot? reason? hold_reason?",
    ),
)
