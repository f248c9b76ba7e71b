"""Schema 21: cycles and brokerage runs write fewer indexes, so that many matches and decisions are stored sooner."""

from __future__ import annotations

_TERMS = (
    "submitter, start_time, slot_weight, current_rank, concurrency_limits, negotiating_group, autoregroup, advertised, "
    "charged, matched"
)

STATEMENTS = (
    # How many claims have these terms. Nobody looks for the claims of given terms: to count them needs no index.
    "ALTER TABLE claim_terms ADD COLUMN used INTEGER NOT NULL DEFAULT 0",
    "UPDATE claim_terms SET used = (SELECT count(*) FROM claim WHERE terms = claim_terms.id)",
    "DELETE FROM claim_terms WHERE used = 0",
    "DROP INDEX guard_claim_terms",
    f"CREATE INDEX guard_claim_terms ON claim_terms (id, {_TERMS}, used)",
    "DROP VIEW whole_claim",
    "DROP INDEX claim_job",
    "DROP INDEX guard_claim",
    "ALTER TABLE claim RENAME TO claim_before",
    # *terms* is a number of claim_terms. A reference would look at all claims whenever terms are deleted.
    """
    CREATE TABLE claim (
        slot_id INTEGER PRIMARY KEY REFERENCES slot (id),
        terms INTEGER NOT NULL,
        schedd TEXT,
        cluster INTEGER,
        proc INTEGER
    )
    """,
    "INSERT INTO claim SELECT slot_id, terms, schedd, cluster, proc FROM claim_before ORDER BY slot_id",
    "DROP TABLE claim_before",
    # A job has one claim at most. Claims of jobs that are not in the queue have no cluster, and differ in that.
    "CREATE UNIQUE INDEX guard_claim ON claim (cluster, proc, schedd)",
    f"CREATE VIEW whole_claim AS SELECT slot_id, schedd, cluster, proc, {_TERMS} "
    "FROM claim JOIN claim_terms ON claim_terms.id = terms",
    # The former trigger of that name noted the cluster of each changed range twice.
    "DROP TRIGGER idle_columns_update_new",
    """
    CREATE TRIGGER idle_columns_update_new AFTER UPDATE OF cluster, schedd ON job
    WHEN EXISTS (SELECT 1 FROM idle_columns)
    BEGIN INSERT OR IGNORE INTO idle_changed VALUES (NEW.schedd, NEW.cluster); END
    """,
    # What a brokerage run changes of a task has a guard of its own, so that the run need not write the other.
    "DROP INDEX guard_broker_tasks",
    'CREATE INDEX guard_broker_tasks ON broker_tasks ("jediTaskID", "taskPriority", "currentPriority", "coreCount", '
    '"maxCoreCount", "mergeCoreCount", "ramCount", "baseRamCount", "mergeRamCount", "cpuTime", "cpuEfficiency", '
    '"baseWalltime", "walltime", "outDiskCount", "workDiskCount", "ioIntensity", "diskIO", "eventService", "cloning", '
    '"modificationTime", "taskClass", "isMerging", "scout", "chunkRamCount", "readyEvents", fairq_crc32(CAST('
    "\"vo\" || '|' || \"prodSourceLabel\" || '|' || coalesce(\"gshare\", x'00') || '|' || "
    "coalesce(\"workingGroup\", x'00') || '|' || coalesce(\"userName\", x'00') || '|' || \"processingType\" || '|' || "
    "coalesce(\"resource_type\", x'00') || '|' || coalesce(\"cloud\", x'00') || '|' || "
    "coalesce(\"nucleus\", x'00') || '|' || coalesce(\"site\", x'00') || '|' || \"ramUnit\" || '|' || "
    "coalesce(\"cpuTimeUnit\", x'00') || '|' || coalesce(\"walltimeUnit\", x'00') || '|' || "
    "coalesce(\"outDiskUnit\", x'00') || '|' || coalesce(\"workDiskUnit\", x'00') || '|' || "
    "coalesce(\"architecture\", x'00') || '|' || coalesce(\"transHome\", x'00') || '|' || "
    "coalesce(\"transUses\", x'00') || '|' || coalesce(\"container_name\", x'00') || '|' || "
    '"splitRule" || \'|\' || "parameters" AS BLOB)))',
    'CREATE INDEX guard_broker_tasks_decision ON broker_tasks ("jediTaskID", "retryTime", "frozenTime", "cycle", '
    'fairq_crc32(CAST("status" || \'|\' || "assigned" || \'|\' || "reason" AS BLOB)))',
)
