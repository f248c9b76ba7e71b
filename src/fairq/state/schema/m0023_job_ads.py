"""Schema 23: many ads and ranges of jobs are stored in less time."""

from __future__ import annotations

_TEXTS = "coalesce(\"own\", x'00') || '|' || coalesce(\"template\", x'00') || '|' || coalesce(\"reason\", x'00')"

STATEMENTS = (
    # Digests come in no order. Into an index of its own, many are put at the end, sorted once; into that of a
    # constraint, each by itself. Jobs refer to ads: these are away for three statements, and checked at the commit.
    "PRAGMA defer_foreign_keys = ON",
    "CREATE TEMP TABLE job_ad_before AS SELECT id, digest, ad FROM main.job_ad",
    "DROP TABLE main.job_ad",
    "CREATE TABLE job_ad (id INTEGER PRIMARY KEY, digest BLOB NOT NULL, ad TEXT NOT NULL)",
    "INSERT INTO job_ad SELECT id, digest, ad FROM temp.job_ad_before ORDER BY id",
    "DROP TABLE temp.job_ad_before",
    "CREATE UNIQUE INDEX job_ad_digest ON job_ad (digest)",
    # Most ranges have none of these texts.
    "DROP INDEX guard_job",
    'CREATE INDEX guard_job ON job ("cluster", "schedd", "first_proc", "last_proc", "priority", "queue_date", '
    '"status_date", "hold_code", "hold_subcode", CASE WHEN "own" IS NULL AND "template" IS NULL AND "reason" IS NULL '
    f"THEN 0 ELSE fairq_crc32(CAST({_TEXTS} AS BLOB)) END)",
)
