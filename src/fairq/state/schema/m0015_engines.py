"""Schema 15: runs of engines such as Slurm: their id there, why they wait, and since when they are charged."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE launch ADD COLUMN engine_id TEXT",
    "ALTER TABLE launch ADD COLUMN reason TEXT",
    # Seconds since 1970; NULL: from the intent.
    "ALTER TABLE launch ADD COLUMN charged_from INTEGER",
    "DROP INDEX guard_launch",
    'CREATE INDEX guard_launch ON launch ("id", "cluster", "proc", "intended", "boottime", "pid", '
    '"pid_start", "end_time", "charged_from", fairq_crc32(CAST("name" || \'|\' || "launcher" || \'|\' || "schedd" '
    "|| '|' || \"slot\" || '|' || \"phase\" || '|' || \"boot\" || '|' || \"after\" || '|' || \"cores\" || '|' || "
    "coalesce(\"ordered\", x'00') || '|' || coalesce(\"ended\", x'00') || '|' || coalesce(\"output\", x'00') || '|' || "
    "coalesce(\"error\", x'00') || '|' || coalesce(\"engine_id\", x'00') || '|' || coalesce(\"reason\", x'00') "
    "AS BLOB)))",
)
