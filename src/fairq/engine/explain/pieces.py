"""Slots as they would be without their dynamic slots, and what a job asks for against such whole slots."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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
    if len(set(pool.names)) == len(pool.names):
        return pool.names
    rows: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(pool.names):
        rows[name].append(row)
    found = list(pool.names)
    for alike in rows.values():
        for row in alike if len(alike) > 1 else ():
            found[row] += _address(pool, row)
    return found


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
    """Return the slots of this name, or of this name and address."""
    name, bracket, address = label.partition("<")
    found = list(_rows_named(pool.names, label))
    if found or not bracket:
        return found
    return [row for row in _rows_named(pool.names, name) if _address(pool, row) == bracket + address]


def _rows_named(names: Sequence[str], name: str) -> Iterator[int]:
    """Yield the rows of a name; to search for it takes a tenth of the time of a look at each."""
    row = -1
    with suppress(ValueError):
        while True:
            row = names.index(name, row + 1)
            yield row


def _address(pool: PoolSlots, row: int) -> str:
    address = _text(pool, row, "MyAddress") or _text(pool, row, "StartdIpAddr") or ""
    return address if address.startswith("<") else f"<{address}>"


def pieces_of(pool: PoolSlots) -> dict[int, list[int]]:
    """The dynamic slots of each partitionable slot that has any, both as places in the pool.

    For dynamic slots of fairq, the state has the parent. For others, it is a slot of the same machine, by address if
    known: the slot with the number that they give, otherwise by name, as in HTCondor: slot1_3@host is a part of
    slot1@host.
    """
    dynamic = _true_of(pool, "DynamicSlot")
    if not dynamic:
        return {}
    parents: dict[tuple[str, str | int], list[int]] = defaultdict(list)
    for row in _true_of(pool, "PartitionableSlot"):
        parents["name", pool.names[row]].append(row)
        number = pool.ads.value(row, "SlotID")
        if isinstance(number, int):
            parents["number", number].append(row)
    found: dict[int, list[int]] = {}
    for row in dynamic:
        carved = pool.carved.get(row)
        parent = _parent(pool, row, parents) if carved is None else carved.parent
        if parent is not None:
            found.setdefault(parent, []).append(row)
    return found


def _parent(pool: PoolSlots, row: int, parents: Mapping[tuple[str, str | int], Sequence[int]]) -> int | None:
    named = _PART_NAME.fullmatch(pool.names[row])
    by_name = [] if named is None else parents.get(("name", named[1] + (named[2] or "")), ())
    near = [other for other in by_name if _on_one_machine(pool, row, other)]
    for attribute in _NUMBERS if not near else ():
        number = pool.ads.value(row, attribute)
        if isinstance(number, int):
            near = [other for other in parents.get(("number", number), ()) if _on_one_machine(pool, row, other, True)]
        if near:
            break
    return near[0] if near else None


def _on_one_machine(pool: PoolSlots, one: int, other: int, sure: bool = False) -> bool:
    """Whether two slots have the same address, else the same machine; where neither is told: not *sure*."""
    for attribute in _OF_MACHINE:
        first, second = _text(pool, one, attribute), _text(pool, other, attribute)
        if first and second:
            return first.lower() == second.lower()
    return not sure


def _text(pool: PoolSlots, row: int, attribute: str) -> str | None:
    value = pool.ads.value(row, attribute)
    return value if isinstance(value, str) else None


def given_back(parent: Ad, piece: Ad) -> Ad:
    """The rest of a partitionable slot after *piece* is given back, which its lists of dynamic slots name no more."""
    amounts = {name.lower(): value for name, value in piece.items()}
    listed = next((value for name, value in parent.items() if name.lower() == "machineresources"), "")
    resources = {*map(str.lower, _RESOURCES), *str(listed).lower().split()}
    more = dict(parent)
    for name, value in parent.items():
        amount = amounts.get(name.lower()) if name.lower() in resources else None
        if isinstance(value, int | float) and isinstance(amount, int | float):
            more[name] = plain(value + amount)
        elif name.lower() == "numdynamicslots" and type(value) is int and value > 0:
            more[name] = value - 1
    return _without_child(more, amounts.get("name"))


def _without_child(parent: Ad, child: object) -> Ad:
    """Take *child* out of the lists that a startd makes of its dynamic slots: ChildName, ChildCpus and others."""
    lists = {name: value for name, value in parent.items() if name.lower().startswith("child") and type(value) is list}
    names = next((value for name, value in lists.items() if name.lower() == "childname"), [])
    if child not in names:
        # The lists are out of date.
        return {name: value for name, value in parent.items() if name not in lists}
    place = names.index(child)
    shorter = {name: value[:place] + value[place + 1 :] for name, value in lists.items() if len(value) == len(names)}
    return {**parent, **shorter}


def undivided(pool: PoolSlots, ads: Sequence[Ad]) -> PoolSlots | None:
    """The pool with the slots' ads *ads*, as if all parts had been given back; None if there are none."""
    found = pieces_of(pool)
    if not found:
        return None
    gone = {row for rows in found.values() for row in rows}
    left = [row for row in range(len(pool.names)) if row not in gone]
    places = {row: place for place, row in enumerate(left)}
    whole: dict[int, Ad] = {}
    for parent, rows in found.items():
        if parent in places:
            ad = ads[parent]
            for row in rows:
                ad = given_back(ad, ads[row])
            whole[places[parent]] = ad
    columns = pool.ads.edited(np.array(left, np.intp), whole)
    return PoolSlots([pool.names[row] for row in left], left, columns)


def _true_of(pool: PoolSlots, attribute: str) -> list[int]:
    if attribute.lower() not in pool.ads.names():
        return []
    rows: list[int] = np.flatnonzero(evaluate_in_columns(attribute, pool.ads, {}).is_true()).tolist()
    return rows


_DYNAMIC = parse("DynamicSlot")


class TooLarge(Struct, frozen=True):
    """A job asks for more of a resource than any whole slot has; *machine* is the most that one machine has."""

    resource: str
    asked: float
    largest: float
    machine: float


def too_large(job: Mapping[str, Any], slots: AdColumns) -> list[TooLarge]:
    """Return of which resources the *job* (names in lower case) asks for more than any slot has when nobody uses it."""
    if not len(slots):
        return []
    whole = ~evaluate_in_columns(_DYNAMIC, slots, {}).is_true()
    found = []
    for name in _RESOURCES:
        asked = job.get(f"request{name.lower()}")
        if isinstance(asked, bool) or not isinstance(asked, int | float) or asked <= 0:
            continue
        own = evaluate_in_columns(name, slots, {}).as_rank(0.0)
        total = evaluate_in_columns(f"TotalSlot{name}", slots, {}).as_rank(0.0)
        size = np.where(whole, np.maximum(own, total), 0.0)
        largest = float(size.max())
        if asked > largest:
            found.append(TooLarge(name, float(asked), largest, _of_machine(name, slots, size)))
    return found


def _of_machine(name: str, slots: AdColumns, size: NDArray[np.float64]) -> float:
    """Return the most that one machine has: what its slots tell of it, or what they have together."""
    told = evaluate_in_columns(f"Total{name}", slots, {}).as_rank(0.0).max()
    machines = evaluate_in_columns("Machine", slots, {}).text_codes()
    known = machines >= 0
    together = np.bincount(machines[known], weights=size[known]).max() if known.any() else 0.0
    return float(max(told, together))
