"""What the task queues need, by column, and to which queue the jobs with a shared ad belong.

An ad never changes, so that holds as long as the ad and the queue are stored, under the policy that it was found under.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fairq.columns.idle_jobs import Numbers
from fairq.state import meta, rows
from fairq.state.connection import State
from fairq.state.idle_jobs import numbers_in
from fairq.state.task_queues import FIELDS

_POLICY = "needs_policy"
"""The key in the state for the policy under which the ads' queues were found."""

_decode = msgspec.json.Decoder(list[int | str | tuple[str, ...]]).decode

Values = tuple[Numbers, list[Any]]
"""The places of the queues' values in a list of these; 0 or nothing where a queue does not need anything."""

AdNeed = tuple[int, str, int, str | None]
"""The number of an ad, an owner, the number of the queue, and the priorities in the ad as JSON."""


class StoredNeeds(NamedTuple):
    """Queues in order of number; *fields* are as `FIELDS`, and None stands for values that are empty."""

    number: Numbers
    part: Numbers
    fields: list[Values]


def load(state: State) -> StoredNeeds:
    """Return all queues whose needs are stored by column."""
    find = state.connection.execute
    counts = ", ".join(f"count({name})" for name in FIELDS)
    size, *used = find(f"SELECT count(*), {counts} FROM queue_need").fetchone()
    names = ["number", "part", *(name for name, count in zip(FIELDS, used, strict=True) if count)]
    each = ", ".join(f"group_concat(coalesce({name}, 0))" for name in names)
    texts = find(f"SELECT {each} FROM (SELECT * FROM queue_need ORDER BY number)").fetchone()
    columns = {name: numbers_in(text, size) for name, text in zip(names, texts, strict=True)}
    count, *texts = find(
        "SELECT count(*), group_concat(id), group_concat(value) FROM (SELECT id, value FROM need_value ORDER BY id)"
    ).fetchone()
    ids = [0, *numbers_in(texts[0], count).tolist()]
    values = dict(zip(ids, [None, *_decode(f"[{texts[1] or ''}]")], strict=True))
    fields: list[Values] = []
    for name in FIELDS:
        needed = columns.get(name, np.zeros(size, np.int64))
        is_used = np.bincount(needed, minlength=1) > 0
        used = np.flatnonzero(is_used).tolist()
        fields.append(((np.cumsum(is_used) - 1)[needed], list(map(values.__getitem__, used))))
    return StoredNeeds(columns["number"], columns["part"], fields)


def add(state: State, numbers: Sequence[int], parts: Sequence[int], fields: Iterable[Values]) -> None:
    """Store what stored queues of these *numbers* need; nothing is needed where a value is empty."""
    columns = []
    for places, values in fields:
        texts = [rows.dumps(value) if value else None for value in values]
        ids = _value_ids(state, [text for text in texts if text is not None])
        columns.append([ids[texts[place]] for place in places.tolist()])
    into = f"INSERT INTO queue_need (number, part, {', '.join(FIELDS)})"
    rows.insert(state, into, zip(numbers, parts, *columns, strict=True))


def _value_ids(state: State, texts: Sequence[str]) -> dict[str | None, int | None]:
    rows.insert(state, "INSERT OR IGNORE INTO need_value (value)", ((text,) for text in texts))
    cursor = state.connection.execute(
        "SELECT need_value.value, need_value.id "
        "FROM json_each(?) AS wanted CROSS JOIN need_value ON need_value.value = wanted.value",
        (rows.dumps(texts),),
    )
    return {None: None, **dict(cursor)}


def policy(state: State) -> str | None:
    """Return the policy under which the ads' queues were found."""
    return meta.get(state, _POLICY)


def keep(state: State, policy: str, needs: Iterable[AdNeed]) -> None:
    """Store to which queue ads belong under a *policy*, and forget what was found under another one."""
    if meta.get(state, _POLICY) != policy:
        state.connection.execute("DELETE FROM job_need")
        meta.set(state, _POLICY, policy)
    state.connection.executemany("INSERT OR REPLACE INTO job_need VALUES (?, ?, ?, ?)", needs)
