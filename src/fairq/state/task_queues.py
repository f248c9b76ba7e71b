"""The numbers of task queues: a queue keeps its number as long as it is stored."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from fairq.common.records import QueueNumber
from fairq.state import rows
from fairq.state.connection import State

_QUEUES = rows.Records(QueueNumber, "task_queue", "identity")

FIELDS = (
    "owner", "owner_group", "cpu_time", "grid_ces", "platforms", "job_types", "tags", "sites", "banned_sites",
    "min_ram", "max_ram",
)  # fmt: skip
"""What a queue needs: the columns of a queue besides its number and part."""


def load_all(state: State, *, unread: bool = False) -> list[QueueNumber]:
    """Return every known queue, in order of number; only those whose needs are not stored by column if *unread*."""
    # Mostly none is left, which the numbers of queues tell.
    many = "(SELECT count(*) FROM task_queue) > (SELECT count(*) FROM queue_need)"
    where = f"WHERE {many} AND number NOT IN (SELECT number FROM queue_need) " if unread else ""
    return _QUEUES.select(state, f"{where}ORDER BY number")


def add(state: State, numbers: Sequence[int], parts: Sequence[int], fields: Mapping[str, Sequence[Hashable]]) -> None:
    """Store new queues, given by column: *fields* are those of their identities, without empty values."""
    texts = []
    for name, column in fields.items():
        # Many queues share a value: each is written once.
        written = {
            value: f",{rows.dumps(name)}:{rows.dumps(value)}" if value else "" for value in dict.fromkeys(column)
        }
        texts.append(map(written.__getitem__, column))
    identities = (f"{{{''.join(row)[1:]}}}" for row in zip(*texts, strict=True))
    rows.insert(
        state,
        "INSERT OR REPLACE INTO task_queue (number, identity, part)",
        zip(numbers, identities, parts, strict=True),
    )


def put(state: State, queues: Iterable[QueueNumber]) -> None:
    """Store queues under their numbers, replacing stored queues of these numbers."""
    _QUEUES.add(state, queues, "INSERT OR REPLACE")


def priorities(state: State) -> dict[int, tuple[float | None, int | None]]:
    """Return the stored priority of each known queue and when it was stored, by number."""
    cursor = state.connection.execute("SELECT number, priority, updated FROM task_queue")
    return {number: (priority, updated) for number, priority, updated in cursor}


def set_priorities(state: State, priorities: Iterable[tuple[int, float]], updated: int | None) -> None:
    """Store the priorities of known queues, by number."""
    state.connection.executemany(
        "UPDATE task_queue SET priority = ?, updated = ? WHERE number = ?",
        ((priority, updated, number) for number, priority in priorities),
    )


def forget(state: State, numbers: Iterable[int]) -> None:
    """Delete the queues of these numbers; the numbers are not reused while higher ones are stored."""
    if gone := [(number,) for number in numbers]:
        state.connection.executemany("DELETE FROM task_queue WHERE number = ?", gone)
        used = " UNION ".join(f"SELECT {name} FROM queue_need WHERE {name} IS NOT NULL" for name in FIELDS)
        state.connection.execute(f"DELETE FROM need_value WHERE id NOT IN ({used})")
