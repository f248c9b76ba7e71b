"""The storage that a queue reads from and writes to (docs/panda.md, Queues)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.brokerage.pool.columns import Pool
from fairq.engine.brokerage.pool.world import Relation, Storage

VP_SUFFIX = "_VP_DISK"
"""End of the names of endpoints with virtually placed input."""

DEFAULT = "default"
USER = "analysis"
"""The scope of user jobs, if a queue has relations in it."""


class Endpoints(Struct, frozen=True):
    """The endpoints of one queue, in order of preference; the defaults are None if it has none."""

    read: tuple[Storage, ...] = ()
    write: tuple[Storage, ...] = ()
    default_read: Storage | None = None
    default_write: Storage | None = None

    @property
    def is_virtual(self) -> bool:
        """Whether input is placed here only virtually (VP)."""
        return any(storage.rse.endswith(VP_SUFFIX) for storage in self.read)


def endpoints(relations: Iterable[Relation], storages: Mapping[str, Storage], scope: str = DEFAULT) -> Endpoints:
    """Return the endpoints of a queue in *scope*.

    Without relations of their own for reading (or writing), user jobs use those of the default scope.

    An endpoint is read if the relation has the role ``read_lan`` and the endpoint is not blacklisted for reading, and
    written to with the role ``write_lan``. Relations to unknown endpoints are ignored.
    """
    usable = [relation for relation in relations if relation.rse in storages]
    reading = [
        relation for relation in usable if "read_lan" in relation.roles and not storages[relation.rse].blacklisted_read
    ]
    writing = [relation for relation in usable if "write_lan" in relation.roles]
    readers = sorted(_in_scope(reading, scope), key=lambda relation: relation.order_read)
    writers = sorted(_in_scope(writing, scope), key=lambda relation: relation.order_write)
    return Endpoints(
        read=tuple(storages[relation.rse] for relation in readers),
        write=tuple(storages[relation.rse] for relation in writers),
        default_read=next((storages[relation.rse] for relation in readers if relation.default_read), None),
        default_write=next((storages[relation.rse] for relation in writers if relation.default_write), None),
    )


def endpoints_of(pool: Pool, scope: str = DEFAULT) -> tuple[Endpoints, ...]:
    """Return the storage of each unit in *scope*."""

    def make() -> tuple[Endpoints, ...]:
        relations, storages = pool.world.relations, pool.world.storages
        return tuple(endpoints(relations.get(name, ()), storages, scope) for name in pool.unit_names)

    return pool.kept(("endpoints", scope), make)


def units_reading(pool: Pool, scope: str = DEFAULT) -> dict[str, NDArray[np.intp]]:
    """Return for each endpoint the units that read from it in *scope*."""

    def make() -> dict[str, NDArray[np.intp]]:
        units_by_endpoint: dict[str, list[int]] = {}
        for number, storage in enumerate(endpoints_of(pool, scope)):
            for endpoint in storage.read:
                units_by_endpoint.setdefault(endpoint.rse, []).append(number)
        return {rse: np.array(numbers, dtype=np.intp) for rse, numbers in units_by_endpoint.items()}

    return pool.kept(("reading", scope), make)


def _in_scope(relations: list[Relation], scope: str) -> list[Relation]:
    in_scope = [relation for relation in relations if relation.scope == scope]
    return in_scope or [relation for relation in relations if relation.scope == DEFAULT]


_OLDER = {"read_lan": "pr", "write_lan": "pw"}


def relations_of(fields: Mapping[str, Any]) -> list[Relation]:
    """Return the relations in the CRIC queue *fields*; none if it names no storage.

    If one activity of user jobs is given, they get a scope of their own; the other activity is then as for all jobs.
    """
    storage_lists = fields.get("astorages")
    if not isinstance(storage_lists, Mapping):
        return []
    activities = {
        name: _names(storage_lists.get(name)) or _names(storage_lists.get(older)) for name, older in _OLDER.items()
    }
    users = {name: _names(storage_lists.get(f"{name}_analysis")) for name in _OLDER}
    relations = _scope(DEFAULT, activities)
    if any(users.values()):
        relations += _scope(USER, {name: users[name] or activities[name] for name in _OLDER})
    return relations


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str) and name] if isinstance(value, list) else []


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
