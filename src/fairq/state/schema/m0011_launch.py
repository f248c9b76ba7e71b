"""Schema 11: runs that fairq starts itself, the events of jobs, why a job is held, and who made a claim."""

from __future__ import annotations

STATEMENTS = (
    # A run that a launcher starts, from the intent to long after its end. Times are seconds since 1970, boottime is
    # CLOCK_BOOTTIME at the intent. JSON: the runs that must have ended before, cores, the order to end it, its end.
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
    )
    """,
    "CREATE INDEX launch_job ON launch (cluster, proc)",
    "CREATE INDEX launch_live ON launch (id) WHERE phase <> 'ended'",
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
    # Whether any slot has a launcher is asked by every cycle and every submit.
    "CREATE INDEX slot_launcher ON slot (id) WHERE instr(ad, '\"Launch\":')",
    "ALTER TABLE job ADD COLUMN hold_code INTEGER",
    "ALTER TABLE job ADD COLUMN hold_subcode INTEGER",
    # 1: a cycle of fairq made it; 0: it was imported, or is older than this column.
    "ALTER TABLE claim ADD COLUMN matched INTEGER NOT NULL DEFAULT 0",
    "DROP INDEX guard_job",
    'CREATE INDEX guard_job ON job ("cluster", "schedd", "first_proc", "last_proc", "priority", '
    '"queue_date", "status_date", "hold_code", "hold_subcode", fairq_crc32(CAST('
    "coalesce(\"own\", x'00') || '|' || coalesce(\"template\", x'00') || '|' || coalesce(\"reason\", x'00') AS BLOB)))",
    "DROP INDEX guard_claim",
    'CREATE INDEX guard_claim ON claim ("slot_id", "submitter", "schedd", "cluster", "proc", "start_time", '
    '"slot_weight", "current_rank", "concurrency_limits", "negotiating_group", "autoregroup", '
    '"advertised", "charged", "matched")',
    'CREATE INDEX guard_launch ON launch ("id", "cluster", "proc", "intended", "boottime", "pid", '
    '"pid_start", "end_time", fairq_crc32(CAST("name" || \'|\' || "launcher" || \'|\' || "schedd" || \'|\' || '
    "\"slot\" || '|' || \"phase\" || '|' || \"boot\" || '|' || \"after\" || '|' || \"cores\" || '|' || "
    "coalesce(\"ordered\", x'00') || '|' || coalesce(\"ended\", x'00') || '|' || coalesce(\"output\", x'00') || '|' || "
    "coalesce(\"error\", x'00') AS BLOB)))",
    'CREATE INDEX guard_job_event ON job_event ("id", "time", "cluster", "first_proc", "last_proc", '
    '"number", "written", fairq_crc32(CAST("schedd" || \'|\' || "body" || \'|\' || '
    "coalesce(\"log\", x'00') AS BLOB)))",
)
