"""The steps that lead from the baseline to today's schema, each as its statements. Never edit one that was released."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

from fairq.state.schema.guards import guard

_WAITS = (
    """
    CREATE TABLE job_wait (
        cluster INTEGER NOT NULL,
        first_proc INTEGER NOT NULL,
        last_proc INTEGER NOT NULL CHECK (last_proc >= first_proc),
        open INTEGER NOT NULL,
        begin INTEGER,
        deadline INTEGER,
        waived INTEGER NOT NULL,
        PRIMARY KEY (cluster, first_proc)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX job_wait_begin ON job_wait (begin) WHERE begin IS NOT NULL",
    "CREATE INDEX job_wait_deadline ON job_wait (deadline) WHERE deadline IS NOT NULL",
    guard("job_wait", "cluster first_proc last_proc open begin deadline waived"),
    """
    CREATE TABLE job_after (
        id INTEGER PRIMARY KEY,
        cluster INTEGER NOT NULL,
        first_proc INTEGER NOT NULL,
        how TEXT NOT NULL,
        other_cluster INTEGER NOT NULL,
        other_first INTEGER NOT NULL,
        other_last INTEGER NOT NULL,
        left INTEGER NOT NULL,
        failed INTEGER NOT NULL
    )
    """,
    "CREATE INDEX job_after_wait ON job_after (cluster, first_proc)",
    "CREATE INDEX job_after_other ON job_after (other_cluster, other_first)",
    guard("job_after", "id other_last left failed", "how"),
    """
    CREATE TABLE job_cap (
        cluster INTEGER PRIMARY KEY,
        running INTEGER,
        idle INTEGER,
        queued INTEGER
    )
    """,
    guard("job_cap", "cluster running idle queued"),
)

_CATEGORIES = (
    "ALTER TABLE job_cap ADD COLUMN category TEXT",
    "ALTER TABLE job_cap ADD COLUMN clusters INTEGER",
    "CREATE INDEX job_cap_category ON job_cap (category) WHERE category IS NOT NULL",
    "DROP INDEX guard_job_cap",
    guard("job_cap", "cluster running idle queued clusters", "category?"),
)
"""The categories of nodes of DAGs."""

_JOB_KINDS = (
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
"""What cycles found out of shared ads, in place of a copy of the idle jobs; see `fairq.state.job_kinds`."""

_FIELDS = "owner owner_group cpu_time grid_ces platforms job_types tags sites banned_sites min_ram max_ram"

_JOB_NEEDS = (
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
"""What is known of queues by column and which shared ads belong to them, in place of a copy of what jobs need; see
`fairq.state.queue_needs`."""

Step = tuple[str | Callable[[sqlite3.Connection], None], ...]
"""What brings a schema to the next one: statements, and functions that change what is stored."""


def _give_slots_whole_ads(connection: sqlite3.Connection) -> None:
    """Store each slot's ad once, by column or as a text, in place of what it does not share with others."""
    execute = connection.execute
    try:
        for first, content in execute("SELECT first, content FROM slot_columns").fetchall():
            ids, _, parts = json.loads(content)
            execute("UPDATE slot_columns SET content = ? WHERE first = ?", (_dumps([ids, parts]), first))
            connection.executemany("UPDATE slot SET ad = '' WHERE id = ?", ((number,) for number in ids))
        shapes = {number: json.loads(content) for number, content in execute("SELECT id, content FROM slot_shape")}
        for number, text in execute("SELECT id, ad FROM slot WHERE ad GLOB '[[]*'").fetchall():
            shape, *own = json.loads(text)
            names, common = shapes[shape]
            ad = {**common, **dict(zip(names, own, strict=True))}
            execute("UPDATE slot SET ad = ? WHERE id = ?", (_dumps(ad), number))
    except (ValueError, KeyError, TypeError) as error:
        damage = sqlite3.DatabaseError("the ads of slots cannot be read")
        damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damage from error


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


_SLOT_ADS: Step = (
    *(f"DROP TRIGGER slot_columns_{event}" for event in ("insert", "delete", "update")),
    _give_slots_whole_ads,
    "DROP TABLE slot_shape",
    "CREATE INDEX slot_columns_launcher ON slot_columns (first) WHERE content GLOB '*\"Launch\"*'",
)
"""The ads of slots in one form, by column; see `fairq.state.slot_ads`."""

MIGRATIONS: tuple[Step, ...] = (_WAITS, _CATEGORIES, _JOB_KINDS, _JOB_NEEDS, _SLOT_ADS)
