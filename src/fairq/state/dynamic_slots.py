"""The slots that fairq carved out of partitionable ones; each lives as long as the claim on it."""

from __future__ import annotations

from collections.abc import Iterable

from fairq.records import DynamicSlot
from fairq.state import rows
from fairq.state.connection import State


def load_all(state: State) -> list[DynamicSlot]:
    """Return every dynamic slot, in pool order."""
    found = state.connection.execute("SELECT slot_id, parent_id, carved FROM dynamic_slot ORDER BY slot_id").fetchall()
    carved = rows.loads_all(text for _, _, text in found)
    return [DynamicSlot(slot, parent, amounts) for (slot, parent, _), amounts in zip(found, carved, strict=True)]


def children(state: State, parent_ids: Iterable[int]) -> list[int]:
    """Return the numbers of the dynamic slots of these partitionable ones."""
    found: list[int] = []
    for number in parent_ids:
        carved = state.connection.execute("SELECT slot_id FROM dynamic_slot WHERE parent_id = ?", (number,))
        found += (child for (child,) in carved)
    return found


def add(state: State, dynamic: Iterable[DynamicSlot]) -> None:
    """Say of slots of the pool that they are dynamic."""
    state.connection.executemany(
        "INSERT INTO dynamic_slot (slot_id, parent_id, carved) VALUES (?, ?, ?)",
        ((one.slot_id, one.parent_id, rows.dumps(one.carved)) for one in dynamic),
    )


def dissolve(state: State, slot_ids: Iterable[int]) -> None:
    """Give back to their parents what those of these slots have that are dynamic; they are no more.

    Their claims must have been released.
    """
    rows.dissolve_slots(state, "dynamic_slot", slot_ids)


def forget_all(state: State) -> None:
    """Forget which slots are dynamic, before the pool is replaced."""
    state.connection.execute("DELETE FROM dynamic_slot")
