"""The storage of a queue in CRIC's record of the queue (``astorages``; PanDA's configurator).

CRIC lists endpoints by activity, the preferred one first: ``read_lan`` and ``write_lan`` (older queues: ``pr`` and
``pw``), with the ending ``_analysis`` for user jobs. The first of a list is the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairq.engine.brokerage.pool.model import Relation
from fairq.engine.brokerage.storage.endpoints import DEFAULT, USER

_OLDER = {"read_lan": "pr", "write_lan": "pw"}


def relations_of(fields: Mapping[str, Any]) -> list[Relation]:
    """Return the relations in the CRIC queue *fields*; none if it names no storage.

    User jobs have a scope of their own if one of their activities is given; the other activity is then as for all jobs.
    """
    told = fields.get("astorages")
    if not isinstance(told, Mapping):
        return []
    activities = {name: _names(told.get(name)) or _names(told.get(older)) for name, older in _OLDER.items()}
    users = {name: _names(told.get(f"{name}_analysis")) for name in _OLDER}
    relations = _scope(DEFAULT, activities)
    if any(users.values()):
        relations += _scope(USER, {name: users[name] or activities[name] for name in _OLDER})
    return relations


def _names(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str) and one] if isinstance(value, list) else []


def _scope(scope: str, activities: Mapping[str, list[str]]) -> list[Relation]:
    read, write = activities["read_lan"], activities["write_lan"]
    return [
        Relation(
            rse=rse,
            roles=frozenset(role for role, names in activities.items() if rse in names),
            default_read=rse in read[:1],
            default_write=rse in write[:1],
            scope=scope,
            order_read=read.index(rse) + 1 if rse in read else 0,
            order_write=write.index(rse) + 1 if rse in write else 0,
        )
        for rse in dict.fromkeys([*read, *write])
    ]
