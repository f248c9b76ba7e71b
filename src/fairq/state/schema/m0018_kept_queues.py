"""Schema 18: the task queues kept as they were formed, and the jobs that changed since."""

from __future__ import annotations

MOST_CHANGES = 20_000
"""When so many changes are noted, no more are: forming all queues anew is not slower."""

_CHANGED = """
    CREATE TRIGGER kept_queues_job_{name} AFTER {event} ON job
    WHEN {when} (SELECT max(id) FROM kept_queues_change) < {most}
    BEGIN INSERT INTO kept_queues_change (cluster, schedd, first_proc) VALUES {rows}; END
    """

_OLD, _NEW = "(OLD.cluster, OLD.schedd, OLD.first_proc)", "(NEW.cluster, NEW.schedd, NEW.first_proc)"

_FORMS = "cluster, schedd, first_proc, last_proc, ad_id, own, template, owner, status, priority"
"""The columns of a job that decide in which queue it is."""


def _changed(name: str, event: str, *rows: str, when: str = "") -> str:
    return _CHANGED.format(name=name, event=event, rows=", ".join(rows), when=when, most=MOST_CHANGES)


STATEMENTS = (
    # One record or none. policy: the rules under which the queues were formed; highest: number of a queue.
    """
    CREATE TABLE kept_queues (
        id INTEGER PRIMARY KEY,
        policy TEXT NOT NULL,
        highest INTEGER NOT NULL,
        content BLOB NOT NULL
    )
    """,
    # The first record, with the id 0, is no job: with it, changes are noted. An empty table notes none.
    """
    CREATE TABLE kept_queues_change (
        id INTEGER PRIMARY KEY,
        cluster INTEGER NOT NULL,
        schedd TEXT NOT NULL,
        first_proc INTEGER NOT NULL
    )
    """,
    # An inserted job may replace an idle one, of which SQLite then tells no trigger.
    _changed("insert", "INSERT", _NEW),
    _changed("delete", "DELETE", _OLD, when="OLD.status = 1 AND"),
    _changed("update", f"UPDATE OF {_FORMS}", _OLD, _NEW),
    *(
        f"""
        CREATE TRIGGER kept_queues_number_{event.split()[0].lower()} AFTER {event} ON task_queue
        WHEN {row}.number <= (SELECT highest FROM kept_queues)
        BEGIN DELETE FROM kept_queues; DELETE FROM kept_queues_change; END
        """
        for event, row in (("INSERT", "NEW"), ("DELETE", "OLD"), ("UPDATE OF number, identity, part", "OLD"))
    ),
    'CREATE INDEX guard_kept_queues ON kept_queues ("highest", fairq_crc32(CAST("policy" AS BLOB)), '
    'fairq_crc32("content"))',
    "CREATE INDEX guard_kept_queues_change ON kept_queues_change (cluster, schedd, first_proc)",
)
