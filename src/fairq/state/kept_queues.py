"""What the idle jobs need of a task queue: a copy, with the queues' numbers, and which jobs changed since.

The database notes each job that changes. It drops the copy as soon as the number of a queue in it changes. A copy that
is there and its changes are therefore always valid. Without a copy, the queues are formed from all idle jobs.

A trigger on jobs makes each insertion dearer by half, even if it does nothing. The triggers that note changes are
therefore made with the first copy, not by a migration: other states do without.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fairq.state.connection import State

MOST_CHANGES = 20_000
"""When so many changes are noted, no more are: forming all queues anew is not slower."""

_OLD, _NEW = "(OLD.cluster, OLD.schedd, OLD.first_proc)", "(NEW.cluster, NEW.schedd, NEW.first_proc)"

_FORMS = "cluster, schedd, first_proc, last_proc, ad_id, own, template, owner, status, priority"
"""The columns of a job that decide in which queue it is."""

_TRIGGERS = tuple(
    f"""
    CREATE TRIGGER IF NOT EXISTS kept_queues_job_{event.split()[0].lower()} AFTER {event} ON job
    WHEN (SELECT max(id) FROM kept_queues_change) < {MOST_CHANGES}
    BEGIN INSERT INTO kept_queues_change (cluster, schedd, first_proc) VALUES {rows}; END
    """
    for event, rows in (
        # An inserted job may replace an idle one, of which SQLite then tells no trigger.
        ("INSERT", _NEW),
        ("DELETE", _OLD),
        (f"UPDATE OF {_FORMS}", f"{_OLD}, {_NEW}"),
    )
)

JobKey = tuple[int, str, int]
"""The cluster, the schedd and the first proc of a range of jobs."""


class KeptQueues(NamedTuple):
    """The copy.

    Attributes:
        highest: the highest number of a queue when the copy was made; the numbers above are not in it.
        content: as `keep` was given it.
        changed: the ranges of jobs that changed since, with repetitions.
    """

    highest: int
    content: bytes
    changed: list[JobKey]


def load(state: State, policy: str) -> KeptQueues | None:
    """Return the copy that was made under *policy*; None if there is none, or too much changed since."""
    find = state.connection.execute
    (noted,) = find("SELECT max(id) FROM kept_queues_change").fetchone()
    if noted is None or noted >= MOST_CHANGES or not _notes_changes(state):
        return None
    row = find("SELECT highest, content FROM kept_queues WHERE policy = ?", (policy,)).fetchone()
    changed = find("SELECT cluster, schedd, first_proc FROM kept_queues_change WHERE id > 0").fetchall()
    return None if row is None else KeptQueues(row[0], row[1], changed)


def exists(state: State) -> bool:
    """Return whether there is a copy."""
    return bool(state.connection.execute("SELECT EXISTS (SELECT 1 FROM kept_queues)").fetchone()[0])


def keep(state: State, policy: str, highest: int, content: bytes, again: Iterable[JobKey]) -> None:
    """Replace the copy by one of the current queues; jobs *again* count as changed from the start."""
    execute = state.connection.execute
    for trigger in _TRIGGERS:
        execute(trigger)
    drop(state)
    execute("INSERT INTO kept_queues VALUES (1, ?, ?, ?)", (policy, highest, content))
    execute("INSERT INTO kept_queues_change VALUES (0, -1, '', 0)")
    state.connection.executemany("INSERT INTO kept_queues_change (cluster, schedd, first_proc) VALUES (?, ?, ?)", again)


def drop(state: State) -> None:
    """Delete the copy: what changes so much that it is of no use need not be noted."""
    state.connection.execute("DELETE FROM kept_queues")
    state.connection.execute("DELETE FROM kept_queues_change")


def _notes_changes(state: State) -> bool:
    found = state.connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'kept_queues_job_%'"
    )
    return bool(found.fetchone()[0] == len(_TRIGGERS))
