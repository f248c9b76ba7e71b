"""What is known of task queues by column, and which shared ads belong to them; see `fairq.state.queue_needs`.

It replaces a copy of what the idle jobs need.
"""

from __future__ import annotations

from fairq.state.schema.guards import guard

_FIELDS = "owner owner_group cpu_time grid_ces platforms job_types tags sites banned_sites min_ram max_ram"

STATEMENTS = (
    *(f"DROP TRIGGER kept_queues_number_{event}" for event in ("insert", "delete", "update")),
    *(f"DROP TRIGGER IF EXISTS kept_queues_job_{event}" for event in ("insert", "delete", "update")),
    "DROP TABLE kept_queues",
    "DROP TABLE kept_queues_change",
    # JSON: a text, a number or a list of names that task queues need.
    "CREATE TABLE need_value (id INTEGER PRIMARY KEY, value TEXT NOT NULL UNIQUE)",
    # Each field is a number of need_value; NULL: nothing is needed.
    f"""
    CREATE TABLE queue_need (
        number INTEGER PRIMARY KEY REFERENCES task_queue (number) ON DELETE CASCADE,
        part INTEGER NOT NULL,
        {", ".join(f"{name} INTEGER" for name in _FIELDS.split())}
    )
    """,
    guard("queue_need", f"part {_FIELDS}"),
    # Of jobs with this owner that have nothing beside the ad but priorities: a queue with what they need. JSON: the
    # priorities in the ad. It goes with the ad, whose number may be that of another ad later, and with the queue.
    """
    CREATE TABLE job_need (
        ad_id INTEGER NOT NULL REFERENCES job_ad (id) ON DELETE CASCADE,
        owner TEXT NOT NULL,
        queue INTEGER NOT NULL REFERENCES task_queue (number) ON DELETE CASCADE,
        priorities TEXT,
        PRIMARY KEY (ad_id, owner)
    ) WITHOUT ROWID
    """,
    guard("job_need", "queue", "priorities?"),
)
