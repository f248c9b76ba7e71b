"""The storage that a queue reads from and writes to (docs/panda.md, Queues)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.pool.columns import Columns
from fairq.engine.brokerage.pool.model import Relation, Storage

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
        return any(storage.rse.endswith("_VP_DISK") for storage in self.read)


def endpoints(relations: Iterable[Relation], storages: Mapping[str, Storage], scope: str = DEFAULT) -> Endpoints:
    """Return the endpoints that *relations* give a queue in *scope*; user jobs fall back to the default scope,
    for reading and for writing each where there is none of their own.

    An endpoint is read if the relation has the role ``read_lan`` and the endpoint is not blacklisted for reading, and
    written to with the role ``write_lan``. Relations to unknown endpoints are ignored.
    """
    known = [relation for relation in relations if relation.rse in storages]
    reading = [r for r in known if "read_lan" in r.roles and not storages[r.rse].blacklisted_read]
    writing = [r for r in known if "write_lan" in r.roles]
    readers = sorted(_in_scope(reading, scope), key=lambda relation: relation.order_read)
    writers = sorted(_in_scope(writing, scope), key=lambda relation: relation.order_write)
    return Endpoints(
        read=tuple(storages[r.rse] for r in readers),
        write=tuple(storages[r.rse] for r in writers),
        default_read=next((storages[r.rse] for r in readers if r.default_read), None),
        default_write=next((storages[r.rse] for r in writers if r.default_write), None),
    )


def endpoints_of(columns: Columns, scope: str = DEFAULT) -> tuple[Endpoints, ...]:
    """Return the storage of each unit in *scope*."""

    def make() -> tuple[Endpoints, ...]:
        relations, storages = columns.world.relations, columns.world.storages
        return tuple(endpoints(relations.get(name, ()), storages, scope) for name in columns.unit_names)

    return columns.kept(("endpoints", scope), make)


def units_reading(columns: Columns, scope: str = DEFAULT) -> dict[str, NDArray[np.intp]]:
    """Return for each endpoint the units that read from it in *scope*."""

    def make() -> dict[str, NDArray[np.intp]]:
        found: dict[str, list[int]] = {}
        for number, storage in enumerate(endpoints_of(columns, scope)):
            for endpoint in storage.read:
                found.setdefault(endpoint.rse, []).append(number)
        return {rse: np.array(numbers, dtype=np.intp) for rse, numbers in found.items()}

    return columns.kept(("reading", scope), make)


def lacks_space(storage: Storage, least: float, rules: Rules) -> bool:
    """Return whether *storage* lacks *least* GB; the rules define which space counts, and whether equality passes."""
    space = storage.space(rules.space)
    return space <= least if rules.space_must_exceed else space < least


def space_details(storage: Storage, rules: Rules) -> dict[str, float]:
    """Return the space that counts, by its name."""
    return {f"space_{rules.space}": storage.space(rules.space)}


def _in_scope(relations: list[Relation], scope: str) -> list[Relation]:
    own = [relation for relation in relations if relation.scope == scope]
    return own or [relation for relation in relations if relation.scope == DEFAULT]
