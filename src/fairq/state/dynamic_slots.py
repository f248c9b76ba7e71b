"""The dynamic slots of fairq; each exists as long as the claim on it."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.common.records import DynamicSlot
from fairq.state import rows
from fairq.state.connection import State

_DYNAMIC = rows.Records(DynamicSlot, "dynamic_slot", "carved")


def load_all(state: State) -> list[DynamicSlot]:
    """Return every dynamic slot, in pool order."""
    return _DYNAMIC.select(state, "ORDER BY slot_id")


def ids(state: State) -> set[int]:
    """Return the numbers of all dynamic slots."""
    return set(state.column("SELECT slot_id FROM dynamic_slot"))


def parent_ids(state: State) -> set[int]:
    """Return the numbers of the partitionable slots that have dynamic ones."""
    return set(state.column("SELECT DISTINCT parent_id FROM dynamic_slot"))


def families(state: State, slot_ids: Iterable[int]) -> list[DynamicSlot]:
    """Return the dynamic slots of the families (a partitionable slot and its dynamic ones) of these, in pool order."""
    if not state.value("SELECT EXISTS (SELECT 1 FROM dynamic_slot)"):
        return []
    find = state.connection.execute
    parents = set(slot_ids)
    for number in [*parents]:
        parents.update(parent for (parent,) in find("SELECT parent_id FROM dynamic_slot WHERE slot_id = ?", (number,)))
    query = f"SELECT {_DYNAMIC.columns} FROM dynamic_slot WHERE parent_id = ?"
    return _DYNAMIC.read(sorted(row for number in parents for row in find(query, (number,))))


def children(state: State, parent_ids: Iterable[int]) -> list[int]:
    """Return the numbers of the dynamic slots of these partitionable ones."""
    numbers: list[int] = []
    for number in parent_ids:
        carved = state.connection.execute("SELECT slot_id FROM dynamic_slot WHERE parent_id = ?", (number,))
        numbers += (child for (child,) in carved)
    return numbers


def add(state: State, dynamic: Iterable[DynamicSlot]) -> None:
    """Mark slots of the pool as dynamic."""
    _DYNAMIC.add(state, dynamic)


def dissolve(state: State, slot_ids: Iterable[int]) -> None:
    """Merge the dynamic ones of these slots back into their parents.

    Their claims must have been released.
    """
    rows.dissolve_slots(state, "dynamic_slot", slot_ids)


def forget_all(state: State) -> None:
    """Forget which slots are dynamic, before the pool is replaced."""
    state.connection.execute("DELETE FROM dynamic_slot")
