"""Schema 16: what claims of one cycle, and matches in a row, have in common is stored once."""

from __future__ import annotations

_TERMS = (
    "submitter, start_time, slot_weight, current_rank, concurrency_limits, negotiating_group, autoregroup, advertised, "
    "charged, matched"
)

STATEMENTS = (
    "DROP INDEX claim_job",
    "DROP INDEX guard_claim",
    "ALTER TABLE claim RENAME TO claim_before",
    # What a claim is besides slot and job. Claims that are equal in all of it share a row.
    """
    CREATE TABLE claim_terms (
        id INTEGER PRIMARY KEY,
        submitter TEXT NOT NULL,
        start_time INTEGER NOT NULL,
        slot_weight REAL NOT NULL,
        current_rank REAL NOT NULL,
        concurrency_limits TEXT,
        negotiating_group TEXT,
        autoregroup INTEGER,
        advertised TEXT,
        charged INTEGER NOT NULL,
        matched INTEGER NOT NULL
    )
    """,
    # A cluster of NULL: the job is not in fairq's queue, only in an imported slot's ad.
    """
    CREATE TABLE claim (
        slot_id INTEGER PRIMARY KEY REFERENCES slot (id),
        terms INTEGER NOT NULL REFERENCES claim_terms (id),
        schedd TEXT,
        cluster INTEGER,
        proc INTEGER
    )
    """,
    f"INSERT INTO claim_terms SELECT min(slot_id), {_TERMS} FROM claim_before GROUP BY {_TERMS}",
    f"INSERT INTO claim SELECT slot_id, min(slot_id) OVER (PARTITION BY {_TERMS}), schedd, cluster, proc "
    "FROM claim_before ORDER BY slot_id",
    "DROP TABLE claim_before",
    "CREATE UNIQUE INDEX claim_job ON claim (cluster, schedd, proc) WHERE cluster IS NOT NULL",
    # It leads with the terms, so that those that no claim has any more are found.
    "CREATE INDEX guard_claim ON claim (terms, slot_id, schedd, cluster, proc)",
    f"CREATE INDEX guard_claim_terms ON claim_terms (id, {_TERMS})",
    f"CREATE VIEW whole_claim AS SELECT slot_id, schedd, cluster, proc, {_TERMS} "
    "FROM claim JOIN claim_terms ON claim_terms.id = terms",
    "DROP INDEX guard_match",
    "ALTER TABLE match RENAME TO match_before",
    # All matches of a cycle. JSON of *runs*: matches in a row that differ only in job and slot, each run as schedd,
    # submitter, reason, who was preempted, jobs as (cluster, first proc, number of procs), and the slots.
    """
    CREATE TABLE match (
        cycle INTEGER PRIMARY KEY REFERENCES cycle (number),
        made INTEGER NOT NULL,
        preempting INTEGER NOT NULL,
        runs TEXT NOT NULL
    )
    """,
    "INSERT INTO match SELECT cycle, count(*), count(preempted), json_group_array(json_array("
    "schedd, submitter, reason, preempted, json_array(json_array(cluster, proc, 1)), json_array(slot))) "
    "FROM (SELECT * FROM match_before ORDER BY cycle, sequence) GROUP BY cycle",
    "DROP TABLE match_before",
    *(
        f"CREATE TRIGGER match_no_{act.lower()} BEFORE {act} ON match "
        "BEGIN SELECT RAISE(ABORT, 'the match table is append-only'); END"
        for act in ("UPDATE", "DELETE")
    ),
    'CREATE INDEX guard_match ON match ("cycle", "made", "preempting", fairq_crc32(CAST("runs" AS BLOB)))',
)
