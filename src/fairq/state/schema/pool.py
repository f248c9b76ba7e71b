"""Tables of the pool: slots, what is carved out of them, and who holds them."""

from __future__ import annotations

from fairq.state.schema.guards import guard

_TERMS = (
    "submitter, start_time, slot_weight, current_rank, concurrency_limits, negotiating_group, autoregroup, advertised, "
    "charged, matched"
)

STATEMENTS = (
    # The id is the order of the pool. An ad that is empty is in slot_columns, see `fairq.state.slot_ads`.
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
    """
    CREATE TRIGGER slot_columns_insert AFTER INSERT ON slot
        WHEN EXISTS (SELECT 1 FROM slot_columns)
        BEGIN DELETE FROM slot_columns; END
    """,
    """
    CREATE TRIGGER slot_columns_delete AFTER DELETE ON slot
        WHEN EXISTS (SELECT 1 FROM slot_columns)
        BEGIN DELETE FROM slot_columns; END
    """,
    """
    CREATE TRIGGER slot_columns_update AFTER UPDATE OF id, name, ad ON slot
        WHEN EXISTS (SELECT 1 FROM slot_columns)
        BEGIN DELETE FROM slot_columns; END
    """,
    "CREATE INDEX slot_draining ON slot (id) WHERE draining",
    guard("slot", "id draining", "ad?"),
    # GLOB goes from one L to the next at a quarter of the time that instr takes for all characters; before a
    # quote it would stop several times an attribute. The index may hold names that only end like this one.
    "CREATE INDEX slot_launcher ON slot (id) WHERE ad GLOB '*Launch\":*'",
    # Of earlier schemas.
    "CREATE TABLE slot_shape (id INTEGER PRIMARY KEY, content TEXT NOT NULL)",
    guard("slot_shape", "id", "content"),
    # JSON: the numbers of slots that follow each other, and their ads by column.
    "CREATE TABLE slot_columns (first INTEGER PRIMARY KEY, content TEXT NOT NULL)",
    guard("slot_columns", "first", "content?"),
    # The slots that fairq carved out of partitionable ones. The slot's own ad says only what differs from its
    # parent's; carved is JSON, amounts by resource.
    """
    CREATE TABLE dynamic_slot (
        slot_id INTEGER PRIMARY KEY REFERENCES slot (id),
        parent_id INTEGER NOT NULL REFERENCES slot (id),
        carved TEXT NOT NULL
    )
    """,
    "CREATE INDEX dynamic_slot_parent ON dynamic_slot (parent_id)",
    guard("dynamic_slot", "slot_id carved"),
    """
    CREATE TABLE pilot_slot (
        slot_id INTEGER PRIMARY KEY REFERENCES slot (id),
        site TEXT NOT NULL,
        grid_ce TEXT,
        pilot TEXT
    )
    """,
    "CREATE INDEX pilot_slot_site ON pilot_slot (site)",
    guard("pilot_slot", "slot_id grid_ce pilot"),
    # What a claim is besides slot and job. Claims that are equal in all of it share a row; *used* is how many.
    # *advertised* is JSON. *matched*: a cycle of fairq made the claim; otherwise it was imported.
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
    , used INTEGER NOT NULL DEFAULT 0)
    """,
    f"CREATE INDEX guard_claim_terms ON claim_terms (id, {_TERMS}, used)",
    # *terms* is a number of claim_terms. A reference would look at all claims whenever terms are deleted. A
    # cluster of NULL: the job is not in fairq's queue, only in an imported slot's ad.
    """
    CREATE TABLE claim (
        slot_id INTEGER PRIMARY KEY REFERENCES slot (id),
        terms INTEGER NOT NULL,
        schedd TEXT,
        cluster INTEGER,
        proc INTEGER
    )
    """,
    # A job has one claim at most. Claims of jobs that are not in the queue have no cluster, and differ in that.
    "CREATE UNIQUE INDEX guard_claim ON claim (cluster, proc, schedd)",
    f"CREATE VIEW whole_claim AS SELECT slot_id, schedd, cluster, proc, {_TERMS} "
    "FROM claim JOIN claim_terms ON claim_terms.id = terms",
)
