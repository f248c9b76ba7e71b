"""The slots of the pool, in the order in which they were advertised."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from fairq.columns.ads import AdTable
from fairq.columns.slots import SlotTable
from fairq.common.records import Ad, Claim, SlotRecord
from fairq.state import ad_texts, claims, dynamic_slots, pilot_slots, rows, slot_columns, slot_shapes
from fairq.state.connection import State

_SELECT = "SELECT id, name, address, draining, ad FROM slot"


def load_all(state: State) -> list[SlotRecord]:
    """Return every slot with its ad, in pool order."""
    return _records(state, state.connection.execute(f"{_SELECT} ORDER BY id").fetchall())


def load(state: State, name: str) -> list[SlotRecord]:
    """Return the slots of this name in pool order: more than one if they differ in address only."""
    return _records(state, state.connection.execute(f"{_SELECT} WHERE name = ? ORDER BY id", (name,)).fetchall())


def load_first(state: State, limit: int, after: int = -1) -> list[SlotRecord]:
    """Return the first *limit* slots in pool order, of those with higher numbers than *after*."""
    found = state.connection.execute(f"{_SELECT} WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
    return _records(state, found.fetchall())


def of_ids(state: State, numbers: Iterable[int]) -> list[SlotRecord]:
    """Return the slots of these numbers."""
    find = state.connection.execute
    return _records(state, [row for number in numbers for row in find(f"{_SELECT} WHERE id = ?", (number,))])


def longest_name(state: State) -> int:
    """Return the number of characters of the longest name; 0 without slots."""
    return int(state.connection.execute("SELECT coalesce(max(length(name)), 0) FROM slot").fetchone()[0])


def rewrite_ads(state: State, numbers: Iterable[int], change: Callable[[Ad], Ad]) -> None:
    """Store what *change* makes of the ads of the slots of these numbers."""
    wanted = [(number,) for number in numbers]
    find = state.connection.execute
    texts = [find("SELECT ad FROM slot WHERE id = ?", number).fetchone()[0] for number in wanted]
    new = (rows.dumps(change(ad)) for ad in slot_shapes.ads(state, texts))
    state.connection.executemany(
        "UPDATE slot SET ad = ? WHERE id = ?", ((ad, number) for ad, (number,) in zip(new, wanted, strict=True))
    )


def load_ads(state: State) -> list[Ad]:
    """Return the ads of all slots in pool order, faster than whole records."""
    return slot_shapes.ads(state, (ad for (ad,) in state.connection.execute("SELECT ad FROM slot ORDER BY id")))


class StoredSlots(NamedTuple):
    """All slots in pool order: numbers, names, which are being drained, ads; and some ads *apart*, by row."""

    ids: list[int]
    names: list[str]
    draining: list[bool]
    ads: AdTable
    apart: dict[int, Ad]


def load_table(state: State, apart: Collection[int] = ()) -> StoredSlots:
    """Return all slots with their ads as a table, which is faster than a dict of each.

    The ads of the slots numbered *apart* are left out of it and returned by row: who has changed them puts them in.
    """
    found = StoredSlots([], [], [], AdTable(), {})
    for stretch in stretches(state):
        _take_in(found, stretch, apart)
    drained = draining_ids(state)
    found.draining.extend([number in drained for number in found.ids] if drained else [False] * len(found.ids))
    return found


def stretches(state: State) -> Iterator[slot_columns.Stretch]:
    """Yield all slots in pool order, with their ads as tables: those of the copy by column, or of the ads."""
    copied = False
    for stretch in slot_columns.load(state):
        copied = True
        yield stretch
    if not copied:
        yield from slot_columns.of_slots(state)


def load_ids(state: State) -> list[int]:
    """Return the numbers of all slots, in pool order."""
    return [number for (number,) in state.connection.execute("SELECT id FROM slot ORDER BY id")]


def load_names(state: State) -> list[str]:
    """Return the names of all slots, in pool order."""
    return [name for (name,) in state.connection.execute("SELECT name FROM slot ORDER BY id")]


def names_of(state: State, numbers: Iterable[int]) -> dict[int, str]:
    """Return the names of the slots of these numbers."""
    find = state.connection.execute
    found = (find("SELECT id, name FROM slot WHERE id = ?", (number,)).fetchone() for number in set(numbers))
    return dict(one for one in found if one is not None)


def load_addresses(state: State) -> list[str]:
    """Return the addresses of all slots, in pool order; empty where none is known."""
    return [address for (address,) in state.connection.execute("SELECT address FROM slot ORDER BY id")]


def count(state: State) -> int:
    """Return how many slots the pool has."""
    return int(state.connection.execute("SELECT count(*) FROM slot").fetchone()[0])


def add(state: State, slots: Iterable[SlotRecord]) -> list[int]:
    """Append slots to the pool and return their new numbers; the records' own numbers do not count.

    A slot of the pool with the same name and address keeps its number and its claim, and gets the new ad.
    """
    return _insert(state, _columns(slots), first=_next_id(state))


def replace_all(state: State, slots: Iterable[SlotRecord]) -> list[Claim]:
    """Put *slots*, all different and numbered from 1 as they come, in the place of the whole pool.

    A claim goes on if a slot of the same name and address is among them; which slots are dynamic or
    pilots' is forgotten. The claims of slots that are
    gone are deleted and returned: their jobs, if in the queue, are still marked as running.
    """
    places = {
        number: (name, address)
        for number, name, address in state.connection.execute("SELECT id, name, address FROM slot")
    }
    former = claims.load_all(state)
    claims.delete_all(state)
    dynamic_slots.forget_all(state)
    pilot_slots.forget_all(state)
    state.connection.execute("DELETE FROM slot")
    slot_shapes.forget_all(state)
    slots = SlotTable.of(slots)
    with slot_columns.dropped(state):
        _put_table(state, slots)
    ids = range(1, len(slots) + 1)
    numbers = dict(zip(zip(slots.names, slots.addresses, strict=True), ids, strict=True)) if former else {}
    lost = [claim for claim in former if places[claim.slot_id] not in numbers]
    going_on = [claim for claim in former if places[claim.slot_id] in numbers]
    for claim in going_on:
        claim.slot_id = numbers[places[claim.slot_id]]
    claims.store(state, going_on)
    return lost


def put(state: State, slots: Iterable[SlotRecord]) -> None:
    """Store slots under the numbers they have, in a pool that has no slot of these numbers."""
    slots = list(slots)
    _put(state, [slot.id for slot in slots], _columns(slots))


def remove(state: State, numbers: Iterable[int]) -> list[Claim]:
    """Remove the slots of these numbers, and what was carved out of them.

    Returns their claims, which are deleted with them.
    """
    numbers = list(numbers)
    carved = dynamic_slots.children(state, numbers)
    lost = claims.release(state, [*numbers, *carved])
    dynamic_slots.dissolve(state, [*carved, *numbers])
    pilot_slots.dissolve(state, numbers)
    state.connection.executemany("DELETE FROM slot WHERE id = ?", [(number,) for number in numbers])
    return lost


def draining_ids(state: State) -> frozenset[int]:
    """Return the numbers of the slots that are being drained."""
    return frozenset(number for (number,) in state.connection.execute("SELECT id FROM slot WHERE draining"))


def draining_names(state: State) -> list[str]:
    """Return the names of the slots that are being drained, in pool order."""
    return [name for (name,) in state.connection.execute("SELECT name FROM slot WHERE draining ORDER BY id")]


def set_draining(state: State, names: Iterable[str], draining: bool) -> int:
    """Begin or end the draining of the slots of these names; return how many slots there are of them."""
    changed = state.connection.executemany(
        "UPDATE slot SET draining = ? WHERE name = ?", [(draining, name) for name in names]
    )
    return changed.rowcount


def names_starting(state: State, prefix: str, limit: int = 50) -> list[str]:
    """Return the names that start with *prefix*, in order, by one indexed query."""
    return rows.names_starting(state, "slot", prefix, limit)


def attribute_names(state: State) -> list[str]:
    """Return the names of attributes that the newest ads have, in order."""
    newest = state.connection.execute("SELECT ad FROM slot ORDER BY id DESC LIMIT 20")
    return sorted({name for ad in slot_shapes.ads(state, (ad for (ad,) in newest)) for name in ad})


def partitions(state: State) -> list[str]:
    """Return the partitions of Slurm that the newest slots are in, in order."""
    newest = state.connection.execute("SELECT ad FROM slot ORDER BY id DESC LIMIT 1000")
    ads = slot_shapes.ads(state, (ad for (ad,) in newest))
    return sorted({name for ad in ads for name in str(ad.get("SlurmPartitions", "")).split(",") if name})


def _next_id(state: State) -> int:
    return int(state.connection.execute("SELECT coalesce(max(id), 0) + 1 FROM slot").fetchone()[0])


class _Columns(NamedTuple):
    """Slots by column, their ads as texts."""

    names: Sequence[str]
    addresses: Sequence[str]
    ads: Sequence[str]
    draining: Sequence[bool]


def _columns(slots: Iterable[SlotRecord]) -> _Columns:
    slots = list(slots)
    return _Columns(
        [slot.name for slot in slots],
        [slot.address for slot in slots],
        ad_texts.of_ads([slot.ad for slot in slots]),
        [slot.draining for slot in slots],
    )


def _put(state: State, ids: Sequence[int], new: _Columns) -> None:
    state.connection.executemany(
        "INSERT INTO slot (id, name, address, ad, draining) VALUES (?, ?, ?, ?, ?)",
        zip(ids, new.names, new.addresses, new.ads, new.draining, strict=True),
    )


def _put_table(state: State, slots: SlotTable) -> None:
    """Store slots that are all different in an empty pool, and, of a large pool, the copy of them by column."""
    copied = len(slots) >= slot_columns.WORTHWHILE
    first = 0
    # By stretches: all texts together may be as large as the state.
    for ads in slots.ads:
        end = first + len(ads)
        here = slice(first, end)
        texts: list[Iterable[str]] = []
        copy: list[str] = []
        for part in ad_texts.of_table(ads):
            # Both from one part at a time: its values are in the processor's cache.
            texts.append(list(slot_shapes.texts(state, part)))
            if copied:
                copy.append(slot_columns.text(part))
        ids, names = range(first + 1, end + 1), slots.names[here]
        new = zip(
            ids, names, slots.addresses[here], ad_texts.in_order(ads.parts, texts), slots.draining[here], strict=True
        )
        rows.insert(state, "INSERT INTO slot (id, name, address, ad, draining)", new)
        if copied:
            slot_columns.put(state, ids, names, copy)
        first = end


def _insert(state: State, new: _Columns, first: int) -> list[int]:
    numbers: dict[tuple[str, str], int] = {
        (name, address): number
        for number, name, address in state.connection.execute("SELECT id, name, address FROM slot")
    }
    placed: list[int] = []
    for place in zip(new.names, new.addresses, strict=True):
        number = numbers.setdefault(place, first)
        first += number == first
        placed.append(number)
    state.connection.executemany(
        "INSERT INTO slot VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET ad = excluded.ad, draining = excluded.draining",
        zip(placed, new.names, new.addresses, new.ads, new.draining, strict=True),
    )
    return placed


def _take_in(found: StoredSlots, stretch: slot_columns.Stretch, apart: Collection[int]) -> None:
    parts, ads = slot_columns.split(stretch, apart, first=len(found.ids))
    found.ids.extend(stretch.ids)
    found.names.extend(stretch.names)
    found.apart.update(ads)
    for part in parts:
        found.ads.put_columns(*part)


def _records(state: State, found: Sequence[tuple[Any, ...]]) -> list[SlotRecord]:
    ads = slot_shapes.ads(state, (row[4] for row in found))
    return [
        SlotRecord(number, name, ad, address, bool(draining))
        for (number, name, address, draining, _), ad in zip(found, ads, strict=True)
    ]


def has_launcher(state: State) -> bool:
    """Tell whether the ad of any slot names a launcher; answered by an index of its own."""
    condition = "ad GLOB '*Launch\":*' AND instr(ad, ?)"
    found = state.connection.execute(f"SELECT EXISTS (SELECT 1 FROM slot WHERE {condition})", (slot_shapes.LAUNCH,))
    return bool(found.fetchone()[0])
