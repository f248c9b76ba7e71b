"""The slots of the pool, in the order in which they were advertised."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from fairq.columns.ads import AdTable
from fairq.columns.slots import SlotTable
from fairq.common.records import Ad, Claim, SlotRecord
from fairq.state import ad_texts, claims, dynamic_slots, pilot_slots, rows, slot_ads
from fairq.state.connection import State

_SELECT = "SELECT id, name, address, draining, ad FROM slot"

_MANY = 2000
"""So many slots with texts of their own are worth storing all ads by column."""


def load_all(state: State) -> list[SlotRecord]:
    """Return every slot with its ad, in pool order."""
    stored = load_table(state)
    each = zip(stored.ids, stored.names, stored.ads, load_addresses(state), stored.draining, strict=True)
    return [SlotRecord(*values) for values in each]


def load(state: State, name: str) -> list[SlotRecord]:
    """Return the slots of this name in pool order: more than one if they differ in address only."""
    return _records(state, state.connection.execute(f"{_SELECT} WHERE name = ? ORDER BY id", (name,)).fetchall())


def load_first(state: State, limit: int, after: int = -1) -> list[SlotRecord]:
    """Return the first *limit* slots in pool order, of those with higher numbers than *after*."""
    cursor = state.connection.execute(f"{_SELECT} WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
    return _records(state, cursor.fetchall())


def of_ids(state: State, numbers: Iterable[int]) -> list[SlotRecord]:
    """Return the slots of these numbers."""
    find = state.connection.execute
    return _records(state, [row for number in numbers for row in find(f"{_SELECT} WHERE id = ?", (number,))])


def in_use(state: State) -> set[int]:
    """Return the numbers of the slots that have a claim or dynamic slots."""
    query = "SELECT slot_id FROM claim UNION SELECT parent_id FROM dynamic_slot"
    return {number for (number,) in state.connection.execute(query)}


def longest_name(state: State) -> int:
    """Return the number of characters of the longest name; 0 without slots."""
    return int(state.value("SELECT coalesce(max(length(name)), 0) FROM slot"))


def rewrite_ads(state: State, numbers: Iterable[int], change: Callable[[Ad], Ad]) -> None:
    """Store what *change* makes of the ads of the slots of these numbers."""
    changed = [(rows.dumps(change(slot.ad)), slot.id) for slot in of_ids(state, numbers)]
    state.connection.executemany("UPDATE slot SET ad = ? WHERE id = ?", changed)


def load_ads(state: State) -> list[Ad]:
    """Return the ads of all slots in pool order, faster than whole records."""
    return list(load_table(state).ads)


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
    execute = state.connection.execute
    # One text for each column: a row of SQLite's costs several times as much as a value in a text.
    query = "SELECT json_group_array(id), json_group_array(name), json_group_array(draining) FROM slot NOT INDEXED"
    ids, names, draining = map(rows.loads_array, execute(query).fetchone())
    texts = dict(execute("SELECT id, ad FROM slot NOT INDEXED WHERE ad <> ''"))
    row_of = {number: row for row, number in enumerate(ids)}
    ads = AdTable()
    for part in slot_ads.parts(state, {number: row for number, row in row_of.items() if number not in texts}):
        ads.put_columns(*part)
    ads.put([row_of[number] for number in texts], rows.loads_all(texts.values()))
    ads, of_apart = ads.split({row_of[number] for number in apart if number in row_of})
    return StoredSlots(ids, names, list(map(bool, draining)), ads, of_apart)


def load_ids(state: State) -> list[int]:
    """Return the numbers of all slots, in pool order."""
    return state.column("SELECT id FROM slot ORDER BY id")


def load_names(state: State) -> list[str]:
    """Return the names of all slots, in pool order."""
    return state.column("SELECT name FROM slot ORDER BY id")


def names(state: State) -> dict[int, str]:
    """Return the names of all slots by number, in pool order."""
    return dict(state.connection.execute("SELECT id, name FROM slot ORDER BY id"))


def names_of(state: State, numbers: Iterable[int]) -> dict[int, str]:
    """Return the names of the slots of these numbers."""
    find = state.connection.execute
    selected = (find("SELECT id, name FROM slot WHERE id = ?", (number,)).fetchone() for number in set(numbers))
    return dict(row for row in selected if row is not None)


def load_addresses(state: State) -> list[str]:
    """Return the addresses of all slots, in pool order; empty where none is known."""
    return state.column("SELECT address FROM slot ORDER BY id")


def count(state: State) -> int:
    """Return how many slots the pool has."""
    return int(state.value("SELECT count(*) FROM slot"))


def add(state: State, slots: Iterable[SlotRecord]) -> list[int]:
    """Append slots to the pool and return their new numbers; the records' own numbers do not count.

    A slot of the pool with the same name and address keeps its number and its claim, and gets the new ad.
    """
    slots = list(slots)
    known = state.connection.execute("SELECT id, name, address FROM slot")
    numbers = {(name, address): number for number, name, address in known}
    new = state.value("SELECT coalesce(max(id), 0) + 1 FROM slot")
    placed: list[int] = []
    for slot in slots:
        placed.append(numbers.setdefault((slot.name, slot.address), new))
        new += placed[-1] == new
    texts = ad_texts.of_ads([slot.ad for slot in slots])
    each = zip(placed, slots, texts, strict=True)
    state.connection.executemany(
        "INSERT INTO slot VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET ad = excluded.ad, draining = excluded.draining",
        ((number, slot.name, slot.address, ad, slot.draining) for number, slot, ad in each),
    )
    return placed


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
    state.connection.execute("DELETE FROM slot_columns")
    slots = SlotTable.of(slots)
    ids = range(1, len(slots) + 1)
    without_text = zip(ids, slots.names, slots.addresses, repeat(""), slots.draining)
    rows.insert(state, "INSERT INTO slot (id, name, address, ad, draining)", without_text)
    _put_columns(state, ids, slots)
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
    texts = ad_texts.of_ads([slot.ad for slot in slots])
    new = ((slot.id, slot.name, slot.address, ad, slot.draining) for slot, ad in zip(slots, texts, strict=True))
    rows.insert(state, "INSERT INTO slot (id, name, address, ad, draining)", new)


def gather(state: State) -> None:
    """Store the ads of all slots by column if many slots have a text of their own."""
    with_text = state.value("SELECT count(*) FROM slot WHERE ad <> ''")
    if with_text < _MANY:
        return
    slots = load_all(state)
    state.connection.execute("DELETE FROM slot_columns")
    state.connection.execute("UPDATE slot SET ad = ''")
    _put_columns(state, [slot.id for slot in slots], SlotTable.of(slots))


def _put_columns(state: State, ids: Sequence[int], slots: SlotTable) -> None:
    first = 0
    for ads in slots.ads:
        slot_ads.put(state, ids[first : first + len(ads)], ads)
        first += len(ads)


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
    slot_ads.forget_unused(state)
    return lost


def draining_ids(state: State) -> frozenset[int]:
    """Return the numbers of the slots that are being drained."""
    return frozenset(state.column("SELECT id FROM slot WHERE draining"))


def draining_names(state: State) -> list[str]:
    """Return the names of the slots that are being drained, in pool order."""
    return state.column("SELECT name FROM slot WHERE draining ORDER BY id")


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
    return sorted({name for ad in _newest_ads(state, 20) for name in ad})


def partitions(state: State) -> list[str]:
    """Return the partitions of Slurm that the newest slots are in, in order."""
    ads = _newest_ads(state, 1000)
    return sorted({name for ad in ads for name in str(ad.get("SlurmPartitions", "")).split(",") if name})


def _newest_ads(state: State, limit: int) -> list[Ad]:
    newest = state.connection.execute("SELECT id, ad FROM slot ORDER BY id DESC LIMIT ?", (limit,))
    return slot_ads.ads(state, newest.fetchall())


def _records(state: State, stored: Sequence[tuple[Any, ...]]) -> list[SlotRecord]:
    ads = slot_ads.ads(state, [(row[0], row[4]) for row in stored])
    return [
        SlotRecord(number, name, ad, address, bool(draining))
        for (number, name, address, draining, _), ad in zip(stored, ads, strict=True)
    ]


def has_launcher(state: State) -> bool:
    """Return whether the ad of any slot names a launcher; each part is answered by an index of its own."""
    of_text = """SELECT 1 FROM slot WHERE ad GLOB '*Launch":*' AND instr(ad, '"Launch":')"""
    by_column = """SELECT 1 FROM slot_columns WHERE content GLOB '*"Launch"*'"""
    return bool(state.value(f"SELECT EXISTS ({of_text}) OR EXISTS ({by_column})"))


def any_offline(state: State) -> bool:
    """Return whether the ad of any slot says whether its machine is off."""
    texts = "SELECT ad AS text FROM slot UNION ALL SELECT content FROM slot_columns"
    query = f"""SELECT EXISTS (SELECT 1 FROM ({texts}) WHERE text LIKE '%"offline"%')"""
    return bool(state.value(query))
