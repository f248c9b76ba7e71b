"""What cycles found out of shared ads, in place of a copy of the idle jobs; see `fairq.state.job_kinds`."""

from __future__ import annotations

from fairq.state.schema.guards import guard

STATEMENTS = (
    *(f"DROP TRIGGER idle_columns_{event}" for event in ("insert_new", "delete_old", "update_old", "update_new")),
    "DROP TABLE idle_columns",
    "DROP TABLE idle_changed",
    "DELETE FROM job_kind",
    # It goes with its ad, whose number may be that of another ad later.
    """
    CREATE TABLE job_ad_kind (
        ad_id INTEGER PRIMARY KEY REFERENCES job_ad (id) ON DELETE CASCADE,
        kind INTEGER NOT NULL REFERENCES job_kind (id)
    )
    """,
    guard("job_ad_kind", "kind"),
)
