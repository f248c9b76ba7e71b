"""Tables of the accountant: submitters and groups, and the ledger of their usage."""

from __future__ import annotations

from fairq.state.schema.guards import guard, refusal

_SUMS = ("usage", "weighted", "entitled", "delivered", "wanting", "idle", "running", "priority", "known")

STATEMENTS = (
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
    guard(
        "submitter",
        "name is_group priority priority_factor resources_used weighted_resources_used "
        "hier_weighted_resources_used uncharged_time weighted_uncharged_time accumulated_usage "
        "weighted_accumulated_usage begin_usage_time last_usage_time ceiling floor ceiling_lease_expiration "
        "ceiling_prelease_value floor_lease_expiration floor_prelease_value factor_lease_expiration "
        "factor_prelease_value submitter_share submitter_limit",
    ),
    # A bucket is an hour or less, later a local day; its name a submitter, a group, or empty for the pool.
    # Slot-seconds and weighted ones charged; weighted ones entitled to, and charged, in so many seconds of
    # demand; seconds of idle and of running jobs; effective priority times seconds; and for how many seconds the
    # last ones are known.
    f"""
    CREATE TABLE usage (
        start INTEGER NOT NULL,
        name TEXT NOT NULL,
        {", ".join(f"{name} REAL NOT NULL" for name in _SUMS)},
        PRIMARY KEY (start, name)
    ) WITHOUT ROWID
    """,
    guard("usage", f"start name {' '.join(_SUMS)}"),
    # What changed a record's usage and is no charge: an edit, an import, the deletion of the record, and what
    # was charged before there was a ledger.
    """
    CREATE TABLE usage_edit (
        id INTEGER PRIMARY KEY,
        time INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        user TEXT NOT NULL,
        usage REAL NOT NULL,
        weighted REAL NOT NULL
    )
    """,
    "CREATE INDEX usage_edit_time ON usage_edit (time)",
    guard("usage_edit", "id name usage weighted", "kind user"),
    refusal("usage_edit", "UPDATE"),
    refusal("usage_edit", "DELETE"),
)
