"""Partitionable slots with all their dynamic slots returned, and requests too large for any of them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from fairq.common.records import Ad
from fairq.engine.classad import AdColumns, evaluate_in_columns, parse
from fairq.engine.explain.comparisons import plain
from fairq.engine.negotiation.pool import PoolSlots

_PART_NAME = re.compile(r"(.*[^_])_\d+(@.*)?", re.DOTALL)
_RESOURCES = ("Cpus", "Memory", "Disk", "GPUs")
_OF_MACHINE = ("MyAddress", "StartdIpAddr", "Machine")
"""Attributes that a partitionable slot and its dynamic slots share, the most reliable first."""

_NUMBERS = ("ParentSlotId", "SlotID")
"""Attributes of a dynamic slot with the SlotID of its parent."""


def labels(pool: PoolSlots) -> Sequence[str]:
    """Return the slots' names, with the address for names of several slots: slot1@host<10.0.0.1:9618>."""
    counts = Counter(pool.names)
    if len(counts) == len(pool.names):
        return pool.names
    return [name if counts[name] == 1 else name + _address(pool, row) for row, name in enumerate(pool.names)]


def slots_of(pool: PoolSlots, rows: Sequence[int], ads: AdColumns) -> PoolSlots:
    """Return the slots of *rows* in this order, with *ads*; of a row given twice, the first one is reserved."""
    indices = {row: index for index, row in reversed(list(enumerate(rows)))}
    return PoolSlots(
        [pool.names[row] for row in rows],
        [pool.keys[row] for row in rows],
        ads,
        frozenset(indices[row] for row in pool.draining if row in indices),
        {
            indices[row]: replace(part, parent=indices[part.parent])
            for row, part in pool.carved.items()
            if row in indices and part.parent in indices
        },
        [replace(slots, rows=[indices[row] for row in slots.rows if row in indices]) for slots in pool.reserved],
    )


def rows_called(pool: PoolSlots, label: str) -> list[int]:
    """Return the rows of the slots with this name, or this name and address."""
    name, bracket, address = label.partition("<")
    rows = [row for row, other in enumerate(pool.names) if other == label]
    if rows or not bracket:
        return rows
    return [row for row, other in enumerate(pool.names) if other == name and _address(pool, row) == bracket + address]


def _address(pool: PoolSlots, row: int) -> str:
    address = _text(pool, row, "MyAddress") or _text(pool, row, "StartdIpAddr") or ""
    return address if address.startswith("<") else f"<{address}>"


def pieces_of(pool: PoolSlots) -> dict[int, list[int]]:
    """Return the dynamic slots of each partitionable slot that has any, both as rows of the pool.

    The state stores the parent of fairq's own dynamic slots. For others, it is a slot of the same machine, by address
    if known: the slot with the number that they state, otherwise by name, as in HTCondor: slot1_3@host is a part of
    slot1@host.
    """
    dynamic = _rows_where_true(pool, "DynamicSlot")
    if not dynamic:
        return {}
    parents: dict[tuple[str, str | int], list[int]] = defaultdict(list)
    for row in _rows_where_true(pool, "PartitionableSlot"):
        parents["name", pool.names[row]].append(row)
        number = pool.ads.value(row, "SlotID")
        if isinstance(number, int):
            parents["number", number].append(row)
    pieces: dict[int, list[int]] = {}
    for row in dynamic:
        carved = pool.carved.get(row)
        parent = _parent(pool, row, parents) if carved is None else carved.parent
        if parent is not None:
            pieces.setdefault(parent, []).append(row)
    return pieces


def _parent(pool: PoolSlots, row: int, parents: Mapping[tuple[str, str | int], Sequence[int]]) -> int | None:
    named = _PART_NAME.fullmatch(pool.names[row])
    by_name = [] if named is None else parents.get(("name", named[1] + (named[2] or "")), ())
    candidates = [parent for parent in by_name if _on_one_machine(pool, row, parent)]
    for attribute in _NUMBERS if not candidates else ():
        number = pool.ads.value(row, attribute)
        if isinstance(number, int):
            candidates = [
                parent for parent in parents.get(("number", number), ()) if _on_one_machine(pool, row, parent, True)
            ]
        if candidates:
            break
    return candidates[0] if candidates else None


def _on_one_machine(pool: PoolSlots, row: int, other_row: int, required: bool = False) -> bool:
    """Return whether both slots are on one machine, by address, else by name; if both lack these: not *required*."""
    for attribute in _OF_MACHINE:
        first, second = _text(pool, row, attribute), _text(pool, other_row, attribute)
        if first and second:
            return first.lower() == second.lower()
    return not required


def _text(pool: PoolSlots, row: int, attribute: str) -> str | None:
    value = pool.ads.value(row, attribute)
    return value if isinstance(value, str) else None


def given_back(parent: Ad, piece: Ad) -> Ad:
    """Return a partitionable slot after *piece* is returned to it and removed from its lists of dynamic slots."""
    amounts = {name.lower(): value for name, value in piece.items()}
    resource_names = next((value for name, value in parent.items() if name.lower() == "machineresources"), "")
    resources = {*map(str.lower, _RESOURCES), *str(resource_names).lower().split()}
    restored = dict(parent)
    for name, value in parent.items():
        amount = amounts.get(name.lower()) if name.lower() in resources else None
        if isinstance(value, int | float) and isinstance(amount, int | float):
            restored[name] = plain(value + amount)
        elif name.lower() == "numdynamicslots" and type(value) is int and value > 0:
            restored[name] = value - 1
    return _without_child(restored, amounts.get("name"))


def _without_child(parent: Ad, child: object) -> Ad:
    """Remove *child* from the lists that a startd keeps of its dynamic slots: ChildName, ChildCpus and others."""
    lists = {name: value for name, value in parent.items() if name.lower().startswith("child") and type(value) is list}
    names = next((value for name, value in lists.items() if name.lower() == "childname"), [])
    if child not in names:
        # The lists are out of date.
        return {name: value for name, value in parent.items() if name not in lists}
    index = names.index(child)
    shorter = {name: value[:index] + value[index + 1 :] for name, value in lists.items() if len(value) == len(names)}
    return {**parent, **shorter}


def undivided(pool: PoolSlots, ads: Sequence[Ad]) -> PoolSlots | None:
    """Return the pool with all dynamic slots returned to their parents; None if there are no dynamic slots."""
    pieces = pieces_of(pool)
    if not pieces:
        return None
    pieces_rows = {row for rows in pieces.values() for row in rows}
    remaining = [row for row in range(len(pool.names)) if row not in pieces_rows]
    indices = {row: index for index, row in enumerate(remaining)}
    restored: dict[int, Ad] = {}
    for parent, rows in pieces.items():
        if parent in indices:
            ad = ads[parent]
            for row in rows:
                ad = given_back(ad, ads[row])
            restored[indices[parent]] = ad
    columns = pool.ads.edited(np.array(remaining, np.intp), restored)
    return PoolSlots([pool.names[row] for row in remaining], remaining, columns)


def _rows_where_true(pool: PoolSlots, attribute: str) -> list[int]:
    if attribute.lower() not in pool.ads.names():
        return []
    rows: list[int] = np.flatnonzero(evaluate_in_columns(attribute, pool.ads, {}).is_true()).tolist()
    return rows


_DYNAMIC = parse("DynamicSlot")


class TooLarge(Struct, frozen=True):
    """A job requests more of a resource than any whole slot has; *machine* is the most that one machine has."""

    resource: str
    asked: float
    largest: float
    machine: float


def too_large(job: Mapping[str, Any], slots: AdColumns) -> list[TooLarge]:
    """Return the resources of which *job* (names in lower case) requests more than any unused slot has."""
    if not len(slots):
        return []
    is_whole = ~evaluate_in_columns(_DYNAMIC, slots, {}).is_true()
    excesses = []
    for name in _RESOURCES:
        requested = job.get(f"request{name.lower()}")
        if isinstance(requested, bool) or not isinstance(requested, int | float) or requested <= 0:
            continue
        amount = evaluate_in_columns(name, slots, {}).as_rank(0.0)
        total = evaluate_in_columns(f"TotalSlot{name}", slots, {}).as_rank(0.0)
        size = np.where(is_whole, np.maximum(amount, total), 0.0)
        largest = float(size.max())
        if requested > largest:
            excesses.append(TooLarge(name, float(requested), largest, _most_of_machine(name, slots, size)))
    return excesses


def _most_of_machine(name: str, slots: AdColumns, size: NDArray[np.float64]) -> float:
    """Return the most that one machine has: the total that its slots state, or the sum of its slots."""
    stated = evaluate_in_columns(f"Total{name}", slots, {}).as_rank(0.0).max()
    machines = evaluate_in_columns("Machine", slots, {}).text_codes()
    is_named = machines >= 0
    largest_sum = np.bincount(machines[is_named], weights=size[is_named]).max() if is_named.any() else 0.0
    return float(max(stated, largest_sum))
